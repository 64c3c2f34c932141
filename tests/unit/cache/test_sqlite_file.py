"""Which files the SQLite cache uses, and that it changes no other."""

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.cpu_time import ends_within
from tests.support.hostile_files import FILES, NOTES, _database
from tests.support.threads import run_concurrently
from tests.support.trees import snapshot
from toolfold import private_folder
from toolfold.cache import sqlite as stores
from toolfold.cache.sqlite import APPLICATION_ID, SQLiteStore, check_cache_file
from toolfold.cache.stores import increment
from toolfold.errors import SettingsError
from toolfold.private_folder import PathRefused
from toolfold.settings import Settings

LIMIT = 4_000_000
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and FIFOs are of POSIX")


def use(path: Path) -> None:
    """Do all that a store does."""
    store = SQLiteStore(path, LIMIT, 0.3)
    try:
        store.put("a", b"value", 1.0, 2.0)
        increment(store, "n", 2.0)
        store.get("a")
    finally:
        store.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# R10
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_toolfold_did_not_make_is_refused_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes"
    FILES[kind](path)
    before = snapshot(tmp_path)
    with pytest.raises(PathRefused, match=r"notes .*(is|has|was|belongs)"):
        use(path)
    with pytest.raises(SettingsError, match="TOOLFOLD_CACHE cannot be used"):
        check_cache_file(Settings.from_environment({"TOOLFOLD_CACHE": str(path)}))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("path", ["/dev/full", "/", "/tmp/", "~nobody-has-this-name/x"])
def test_devices_and_folders_of_the_system_are_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        SQLiteStore(path, LIMIT, 0.3).get("a")


def test_a_folder_in_which_other_users_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    for mode in (0o777, 0o1777):
        (tmp_path / "open").chmod(mode)
        with pytest.raises(PathRefused, match="other users"):
            use(tmp_path / "open" / "cache.sqlite")
        assert names(tmp_path / "open") == set()
    use(tmp_path / "open" / "mine" / "cache.sqlite")  # under the sticky bit a folder of this user is safe
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PathRefused, match="other users"):
        use(tmp_path / "open" / "mine" / "cache.sqlite")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_link_or_folder_of_another_user_on_the_way_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "disk").mkdir(0o755)
    way = tmp_path / kind
    way.symlink_to(tmp_path / "disk") if kind == "link" else way.mkdir(0o755)
    os.chown(way, 65534, 65534, follow_symlinks=False)
    with pytest.raises(PathRefused, match="another user"):
        use(way / "cache.sqlite")
    assert names(tmp_path / "disk") == set()


def test_a_new_file_is_readable_by_its_owner_only_and_known_by_its_header(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SQLiteStore(tmp_path / "new" / "cache.sqlite", LIMIT, 0.3)
        store.put("a", b"value", 1.0, 2.0)
    finally:
        os.umask(before)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert found == {"cache.sqlite": 0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    store.close()
    header = (tmp_path / "new" / "cache.sqlite").read_bytes()[:100]
    assert header.startswith(b"SQLite format 3\0")
    assert header[68:72] == APPLICATION_ID.to_bytes(4, "big")


DAMAGES = {
    "pages": lambda content: content[:4096] + b"\xff" * (len(content) - 4096),
    "cut after a page": lambda content: content[:4096],
    "cut within the first page": lambda content: content[:1000],
    "tree of the first page": lambda content: content[:100] + b"\xff" * 3996 + content[4096:],
    "page size": lambda content: content[:16] + b"\0\7" + content[18:],
    "other tables": lambda content: content.replace(b"entries", b"eintrag"),
    "an earlier layout": lambda content: content[:60] + b"\0\0\0\1" + content[64:],
    "a later layout": lambda content: content[:60] + b"\0\0\0\x63" + content[64:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_toolfold_is_replaced_with_one_warning(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    use(path)
    (tmp_path / "cache.sqlite.txt").write_bytes(NOTES)
    before = snapshot(tmp_path, (path,))
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    store = SQLiteStore(path, LIMIT, 0.3)
    store.put("b", b"new", 1.0, 2.0)
    assert store.get("b") == b"new"
    store.close()
    assert [record.getMessage() for record in caplog.records] == ["Cache file damaged; replaced by an empty one"]
    assert snapshot(tmp_path, (path,)) == before
    assert names(tmp_path) == {"cache.sqlite", "cache.sqlite.txt"}


@pytest.mark.parametrize("length", [0, 50])
def test_a_file_whose_header_is_lost_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "cache.sqlite"
    use(path)
    os.truncate(path, length)
    before = snapshot(tmp_path)
    with pytest.raises(PathRefused, match="was not made by toolfold"):
        use(path)
    assert snapshot(tmp_path) == before


def test_a_users_file_that_replaces_the_cache_while_it_is_used_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    store = SQLiteStore(path, LIMIT, 0.3)
    store.put("a", b"value", 1.0, 2.0)
    path.unlink()
    path.write_bytes(NOTES)
    before = path.stat()
    for _ in range(3):
        with pytest.raises(PathRefused):
            store.put("b", b"value", 1.0, 2.0)
    store.close()
    assert path.read_bytes() == NOTES
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("deleted", ["the file", "all files", "the folder"])
def test_a_cache_that_the_user_deletes_while_it_is_used_is_made_again(tmp_path: Path, deleted: str) -> None:
    path = tmp_path / "new" / "cache.sqlite"
    stores = [SQLiteStore(path, LIMIT, 0.3) for _ in range(2)]
    stores[0].put("a", b"value", 1.0, 2.0)
    if deleted == "the folder":
        shutil.rmtree(path.parent)
    else:
        for file in path.parent.glob("cache.sqlite" + ("" if deleted == "the file" else "*")):
            file.unlink()
    assert stores[0].get("a") is None
    stores[0].put("b", b"value", 1.0, 2.0)
    assert stores[1].get("b") == b"value"
    assert [increment(stores[n % 2], "n", 2.0) for n in range(4)] == [1, 2, 3, 4]
    for store in stores:
        store.close()
    assert names(path.parent) >= {"cache.sqlite"}
    assert not list(path.parent.glob("*-journal"))


WRITER = """
import sys
from toolfold import private_folder
from toolfold.cache import sqlite as stores
from toolfold.cache.stores import increment
from toolfold.cache.sqlite import SQLiteStore
path, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = SQLiteStore(path, 20_000_000, 30)
for number in range(times):
    store.put(f"{name} {number}", name.encode() * 500, 1.0, 1e12)
    increment(store, "all", 1e12)
    assert store.get(f"{name} {number}") == name.encode() * 500
print(store.get("before") or b"")
"""


def start(path: Path, name: str, times: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(times)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("start_with", ["nothing", "a damaged file"])
def test_processes_that_make_and_use_a_file_at_once_lose_nothing(tmp_path: Path, start_with: str) -> None:
    path = tmp_path / "new" / "cache.sqlite"
    if start_with == "a damaged file":
        use(path)
        path.write_bytes(DAMAGES["pages"](path.read_bytes()))
    writers = [start(path, f"p{number}", 60) for number in range(3)]
    assert [writer.wait(120) for writer in writers] == [0] * 3
    store = SQLiteStore(path, LIMIT, 5)
    assert increment(store, "all", 1e12) == 181
    for process in range(3):
        for number in range(60):
            assert store.get(f"p{process} {number}") is not None
    store.close()
    assert names(path.parent) == {"cache.sqlite"}


UNREADABLE = {
    "empty": lambda path: os.truncate(path, 0),
    "cut within the header": lambda path: os.truncate(path, 50),
    "a text": lambda path: path.write_bytes(NOTES),
    "a later layout": lambda path: path.write_bytes(DAMAGES["a later layout"](path.read_bytes())),
    "a log without its file": lambda path: path.rename(path.with_name(f"{path.name}-wal")),
    "a journal of another file": lambda path: path.with_name(f"{path.name}-journal").write_bytes(NOTES),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_at_toolfolds_own_place_that_does_not_open_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "new" / "responses.sqlite"
    use(path)
    UNREADABLE[kind](path)
    check_cache_file(Settings.from_environment({"TOOLFOLD_CACHE": str(path)}))
    use(path)
    store = SQLiteStore(path, LIMIT, 0.3)
    assert store.get("a") == b"value"
    store.close()
    assert names(path.parent) == {path.name}


@pytest.mark.parametrize(
    "kind", [kind for kind in FILES if re.match("a (folder|FIFO|socket|link|file of|database)", kind)]
)
def test_what_is_not_a_file_of_the_user_alone_stays_also_at_toolfolds_own_place(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "new" / "responses.sqlite"
    use(path)
    path.unlink()
    FILES[kind](path)
    before = snapshot(tmp_path)
    with pytest.raises(PathRefused):
        use(path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("locked", ["the file", "the folder"])
def test_threads_do_not_wait_in_turn_for_a_process_that_keeps_a_lock(tmp_path: Path, locked: str) -> None:
    path = tmp_path / "responses.sqlite"
    store = SQLiteStore(path, LIMIT, 1.5)
    assert increment(store, "n", 2.0) == 1
    failures: list[Exception] = []

    def increment_once() -> None:
        try:
            increment(store, "n", 2.0)
        except Exception as error:  # noqa: BLE001 - checked below
            failures.append(error)

    with closing(sqlite3.connect(path, isolation_level=None)) as other, ExitStack() as kept:
        if locked == "the file":
            other.execute("BEGIN EXCLUSIVE")
        else:
            kept.enter_context(private_folder.lock_folder(str(tmp_path), 1))
        with ends_within(1.5):  # not 20 times 1.5 s
            run_concurrently([increment_once] * 20)
    assert len(failures) == 20
    assert increment(store, "n", 2.0) == 2
    store.close()


def test_a_process_ends_while_a_thread_of_it_uses_a_file(tmp_path: Path) -> None:
    assert run(END_OF_A_PROCESS, tmp_path / "cache.sqlite") == "end\n"


def test_a_process_that_opens_the_file_again_while_it_writes_keeps_its_locks(tmp_path: Path) -> None:
    path, stop = tmp_path / "cache.sqlite", threading.Event()
    one = SQLiteStore(path, 20_000_000, 30)

    def open_again() -> None:
        while not stop.is_set():
            use(path)

    opener = threading.Thread(target=open_again)
    opener.start()
    try:
        other = start(path, "p", 100)
        for _ in range(100):
            increment(one, "all", 1e12)
        assert other.wait(60) == 0
    finally:
        stop.set()
        opener.join()
    assert increment(one, "all", 1e12) == 201
    one.close()
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    file.close()


END_OF_A_PROCESS = """
import gc, sys, threading, time
from toolfold.cache import sqlite
gc.disable()
unused = [sqlite.SQLiteStore(sys.argv[1], 1_000_000, 1)]
unused.append(unused)
del unused
is_held = threading.Event()
def hold():
    with sqlite._LOCK:
        is_held.set()
        time.sleep(60)
threading.Thread(target=hold, daemon=True).start()
is_held.wait()
print("end")
"""


FIRST_STARTS = """
import os, sys
from toolfold.cache.sqlite import SQLiteStore
folder, processes, starts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for start in range(starts):
    waits, begin = os.pipe()
    for number in range(processes):
        if os.fork() == 0:
            os.close(begin)
            os.read(waits, 1)  # returns when the parent closes the other end: all begin together
            store = SQLiteStore(f"{folder}/{start}/cache.sqlite", 1_000_000, 30)
            store.put(str(number), b"value", 1.0, 1e12)
            os._exit(store.get(str(number)) != b"value")
    os.close(begin), os.close(waits)
    failed = [status for _, status in (os.wait() for _ in range(processes)) if status]
    assert not failed, f"{len(failed)} of {processes} processes failed at start {start}"
"""

KILLED = """
import os, signal, sys
from toolfold.cache.sqlite import SQLiteStore
path, step = sys.argv[1], 0

def use():
    store = SQLiteStore(path, 1_000_000, 5)
    store.put("key", b"value" * 5000, 1.0, 1e12)
    ok = store.get("key") == b"value" * 5000
    store.close()
    return ok

def forked(step):
    if (child := os.fork()) == 0:
        left = [step]
        def count(event, args):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(count)
        os._exit(not use())
    return os.waitpid(child, 0)[1]

status = signal.SIGKILL
while status == signal.SIGKILL:
    step += 1
    for kind in sys.argv[2:]:  # a first start, and one that finds a damaged file
        if kind == "damaged" and os.path.exists(path):
            os.truncate(path, 5000)
        elif os.path.exists(path):
            os.unlink(path)
        status = forked(step)
        assert status in (0, signal.SIGKILL), f"step {step}, {kind}: status {status}"
        assert forked(0) == 0, f"after a kill at step {step}, {kind}"
print(step)
"""


def run(program: str, *arguments: object) -> str:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.mark.slow
def test_two_thousand_first_starts_at_once_all_work(tmp_path: Path) -> None:
    run(FIRST_STARTS, tmp_path, 50, 40)


@pytest.mark.slow
def test_a_process_killed_at_any_step_leaves_a_cache_that_works(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cache.sqlite"
    assert int(run(KILLED, path, "damaged", "first")) > 10
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert names(path.parent) >= {"cache.sqlite"}


def test_a_link_made_after_the_file_was_looked_at_leads_to_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, database = tmp_path / "cache.sqlite", tmp_path / "diary.sqlite"
    use(path)
    _database(database)
    before, layout_of = database.read_bytes(), stores._layout

    def swapped(looked_at: str) -> int:
        layout = layout_of(looked_at)
        path.unlink()
        path.symlink_to(database)
        return layout

    monkeypatch.setattr(stores, "_layout", swapped)
    with pytest.raises(PathRefused):
        use(path)
    assert database.read_bytes() == before


@pytest.mark.slow
def test_links_that_change_all_the_time_lead_to_no_other_file(tmp_path: Path) -> None:
    path, victim, database = tmp_path / "cache.sqlite", tmp_path / "victim.txt", tmp_path / "diary.sqlite"
    victim.write_bytes(NOTES)
    _database(database)
    victims = (victim, database)
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in victims]
    stop = threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            link = tmp_path / f"link{number}"
            link.symlink_to(victims[number % 2])
            link.replace(path)
            time.sleep(0.0005)
            path.unlink(missing_ok=True)

    swapper = threading.Thread(target=swap)
    swapper.start()
    refused = 0
    try:
        ends = time.monotonic() + 2
        while time.monotonic() < ends:
            try:
                use(path)
            except (PathRefused, OSError, sqlite3.Error):
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert refused
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in victims] == before


@pytest.mark.parametrize("limit", [256_000, 1_000_000])
def test_the_limit_of_bytes_holds_for_all_files_at_every_moment(tmp_path: Path, limit: int) -> None:
    store = SQLiteStore(tmp_path / "cache.sqlite", limit, 0.3)
    other = SQLiteStore(tmp_path / "cache.sqlite", limit, 0.3)
    sizes = []
    for number in range(200):
        size = (50, 3_000, limit // 20, limit // 8)[number % 4]
        (store, other)[number % 2].put(f"{number}", os.urandom(size), float(number), 1e6 + number)
        increment(store, f"n{number}", 1e6)
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir() if path.suffix.startswith(".sqlite")))
    assert max(sizes) <= limit * 0.75
    assert store.get("196") is not None
    store.close()
    other.close()


def test_expired_values_and_counters_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    store = SQLiteStore(path, LIMIT, 0.3)
    for number in range(100):
        store.put(f"{number}", b"value", 1.0, 10.0)
        increment(store, f"n{number}", 10.0)
    for number in range(10):
        store.put(f"new {number}", b"value", 20.0, 100.0)
    store.close()
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM entries").fetchall() == [(10,)]
    file.close()


@pytest.mark.parametrize("value", ["'text'", "1e300", "NULL"])
def test_a_value_of_another_type_is_a_miss(tmp_path: Path, value: str) -> None:
    path = tmp_path / "cache.sqlite"
    use(path)
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE entries SET value = {value}")
    file.close()
    store = SQLiteStore(path, LIMIT, 0.3)
    assert store.get("a") is None
    store.close()
