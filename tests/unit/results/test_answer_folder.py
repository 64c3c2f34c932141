"""Long answers in a folder: what is written there, and that nothing else in it is changed."""

import contextlib
import hashlib
import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.cpu_time import ends_within
from tests.support.hostile_files import FILES, NOTES
from tests.support.trees import snapshot
from toolfold.results import offload
from toolfold.results.offload import FOLDER, AnswerStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and FIFOs are of POSIX")

YESTERDAY_S = 25 * 3600
OWN_NAME = f"answer-{'0' * 64}.csv"


def save(folder: Path, text: str = "a,b\n1,2\n", suffix: str = "csv") -> Path:
    return Path(AnswerStore(str(folder)).save(text, suffix)["path"])


def age(path: Path, seconds: float = YESTERDAY_S) -> None:
    os.utime(path, (time.time() - seconds,) * 2, follow_symlinks=False)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# R11
def test_old_files_of_the_user_stay_whatever_their_names(tmp_path: Path) -> None:
    exam = tmp_path / "exam"
    (exam / "answer-sheets").mkdir(parents=True)
    mine = [
        exam / name for name in ("answer-key.docx", "answer-old.csv", f"answer-{'a' * 64}.csv", "answer-sheets/1.pdf")
    ]
    for path in mine:
        path.write_bytes(NOTES)
        path.chmod(0o644)
        age(path)
    before = snapshot(exam)
    saved = save(exam)
    assert saved.parent == exam / FOLDER
    assert snapshot(exam, (exam / FOLDER,)) == before


def is_plain(path: Path) -> bool:
    """Return whether ``path`` is a regular file of this user."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


# R11
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("name", ["answer-key.csv", OWN_NAME, OWN_NAME.upper(), OWN_NAME + "~", "notes"])
def test_old_files_in_the_folder_of_toolfold_are_deleted_only_if_it_wrote_them(
    tmp_path: Path, kind: str, name: str
) -> None:
    own = save(tmp_path, "first").parent
    path = own / name
    FILES[kind](path)
    for found in own.iterdir():
        age(found)
    is_own = name == OWN_NAME and is_plain(path)
    first = next(found for found in own.glob("answer-*") if found.name not in (name, f"{name}-wal"))
    new = own / f"answer-{hashlib.sha256(b'new').hexdigest()}.csv"
    before = snapshot(own, (first, new, *([path] if is_own else [])))
    assert save(tmp_path, "new") == new
    assert os.path.lexists(path) is not is_own
    assert snapshot(own, (first, new)) == before


# R12
def test_equal_answers_are_one_file_whose_time_is_that_of_the_last(tmp_path: Path) -> None:
    store = AnswerStore(str(tmp_path))
    saved = [store.save("x" * 10_000, "csv") for _ in range(3)]
    assert len({answer["path"] for answer in saved}) == 1
    path = Path(saved[0]["path"])
    assert {found.name for found in path.parent.iterdir()} == {path.name}
    age(path, 3600)
    store.save("x" * 10_000, "csv")
    assert time.time() - path.stat().st_mtime < 60


@pytest.mark.parametrize("place", ["answer", "folder"])
@pytest.mark.parametrize("kind", FILES)
def test_what_the_user_put_at_the_name_of_an_answer_or_of_the_folder_is_not_touched(
    tmp_path: Path, kind: str, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / FOLDER
    if place == "answer":
        path = save(tmp_path)
        path.unlink()
    FILES[kind](path)
    if is_plain(path) if place == "answer" else kind == "a folder":
        pytest.skip("what has this name and this kind is toolfold's")
    before = snapshot(tmp_path)
    store = AnswerStore(str(tmp_path))
    assert [store.save("a,b\n1,2\n", "csv") for _ in range(3)] == [{}] * 3
    assert snapshot(tmp_path) == before
    assert len(warnings(caplog)) == 1
    assert place == "answer" or "TOOLFOLD_OFFLOAD" in warnings(caplog)[0]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_in_which_others_can_write_is_not_used(tmp_path: Path, mode: int) -> None:
    own = save(tmp_path).parent
    os.chown(own, -1, 54321) if os.geteuid() == 0 else None
    own.chmod(mode)
    if os.geteuid() != 0 and mode == 0o770:
        pytest.skip("the user's own group counts as the user")
    before = snapshot(tmp_path)
    assert AnswerStore(str(tmp_path)).save("new", "csv") == {}
    assert snapshot(tmp_path) == before


def test_old_answers_are_deleted_by_age_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "MAX_FILES", 5)
    monkeypatch.setattr(offload, "MAX_TOTAL_BYTES", 100_000)
    expired, future = save(tmp_path, "expired"), save(tmp_path, "future")
    age(expired)
    age(future, -7200)
    saved = [save(tmp_path, f"{number}") for number in range(7)]
    for number, path in enumerate(saved):
        if path.exists():
            age(path, 1000 - number)
    kept = {path for path in [expired, future, *saved] if path.exists()}
    assert kept == set(saved[2:])
    large = save(tmp_path, "x" * 99_999)
    assert {path for path in saved if path.exists()} == set(saved[-1:])
    assert large.exists()
    assert AnswerStore(str(tmp_path)).save("x" * 100_001, "csv") == {}
    assert large.exists()


def test_the_folder_stays_within_its_limits_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "MAX_FILES", 10)
    monkeypatch.setattr(offload, "MAX_TOTAL_BYTES", 50_000)
    own = save(tmp_path).parent

    def work(start: int) -> list[tuple[int, int]]:
        seen = []
        for number in range(start, start + 20):
            save(tmp_path, f"{number} " + "x" * 9_000)
            sizes = []
            for path in own.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    sizes.append(path.stat().st_size)
            seen.append((len(sizes), sum(sizes)))
        return seen

    with ThreadPoolExecutor(4) as pool:
        seen = [one for found in pool.map(work, range(0, 4000, 1000)) for one in found]
    # The names of a complete file and of its temporary one exist together for a moment.
    assert max(count for count, _ in seen) <= 10 + 2
    assert max(size for _, size in seen) <= 50_000 + 9_010


PROGRAM = """
import sys
from toolfold.results.offload import AnswerStore
store = AnswerStore(sys.argv[1])
for number in range(int(sys.argv[3])):
    saved = store.save(f"{sys.argv[2]} {number % 20} " + "x" * 200_000, "csv")
    assert open(saved["path"]).read().startswith(f"{sys.argv[2]} {number % 20} ")
"""


def start(folder: Path, name: str, times: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), name, str(times)])


def test_processes_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    # Two of them save the same answers, and refresh them while others delete what has expired.
    writers = [start(tmp_path / "new", name, 25) for name in ("a", "a", "b")]
    assert [writer.wait(120) for writer in writers] == [0] * 3
    found = sorted(path.name for path in (tmp_path / "new" / FOLDER).iterdir())
    assert len(found) == 40
    assert {path.name for path in (tmp_path / "new").iterdir()} == {FOLDER}


@pytest.mark.slow
def test_a_process_killed_while_it_writes_leaves_no_partial_answer(tmp_path: Path) -> None:
    for attempt in range(5):
        writer = start(tmp_path, f"p{attempt}", 100_000)
        time.sleep(0.3 + 0.07 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)
        last = save(tmp_path, f"after {attempt}")
        for path in last.parent.glob("answer-*"):
            assert path.name[7:71] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert not list(last.parent.glob(".answer-*"))


def test_a_locked_folder_costs_the_path_within_the_timeout(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import fcntl

    own = save(tmp_path).parent
    folder = os.open(own, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        store = AnswerStore(str(tmp_path), timeout_s=0.1)
        with ends_within(0.3):
            assert [store.save("new", "csv") for _ in range(3)] == [{}] * 3
    finally:
        os.close(folder)
    assert store.save("new", "csv")["path"]
    assert warnings(caplog) == ["Long response could not be saved: TimeoutError"]


@pytest.mark.slow
def test_links_that_change_all_the_time_lead_to_no_other_folder(tmp_path: Path) -> None:
    mine, stop = tmp_path / "mine", threading.Event()
    mine.mkdir()
    (mine / f"answer-{'b' * 64}.csv").write_bytes(NOTES)
    (mine / "answer-key.docx").write_bytes(NOTES)
    for path in mine.iterdir():
        age(path)
    before = snapshot(mine)
    place = tmp_path / "place"
    own = save(place).parent

    def swap() -> None:
        number = 0
        while not stop.is_set():
            with contextlib.suppress(FileNotFoundError):
                own.rename(tmp_path / f"aside{number}")
            with contextlib.suppress(FileExistsError):
                own.symlink_to(mine)
                time.sleep(0.0005)
                own.unlink()
            time.sleep(0.001)
            number += 1

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        ends, number, saved = time.monotonic() + 2, 0, 0
        while time.monotonic() < ends:
            number += 1
            saved += bool(AnswerStore(str(place)).save(f"text {number}", "csv"))
    finally:
        stop.set()
        swapper.join()
    assert snapshot(mine) == before


def test_text_that_has_no_encoding_is_saved_with_escapes(tmp_path: Path) -> None:
    assert save(tmp_path, '["\ud800"]', "json").read_bytes() == b'["\\ud800"]'


def test_a_folder_whose_name_is_not_unicode_costs_the_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = AnswerStore(os.fsdecode(bytes(tmp_path) + b"/\xff"))
    assert store.save("a", "csv") == {}
    assert len(warnings(caplog)) == 1
