"""Where answers are held: entries, memory, a file, and what happens when one of them is damaged or gone."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolfold.aws.clients import AwsClients
from toolfold.cache import base
from toolfold.cache.base import FailSafeStore, Memory
from toolfold.cache.entry import Entry, pack, unpack
from toolfold.cache.response_cache import Cache
from toolfold.cache.sqlite import SQLiteStore
from toolfold.errors import InvalidArguments, RateLimited, SettingsError
from toolfold.execution.single_flight import SingleFlight
from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.cache.base import CacheStore

LIMIT = 1_000_000
ENTRY = Entry("csv", "timestamp,open\n2026-01-13,1.0\nzażółć", 1000.0, 2000.0)


class TestEntry:
    def test_it_comes_back_as_it_was_until_it_is_stale(self) -> None:
        blob = pack(ENTRY, "name")
        assert unpack(blob, "name", 1000.0, LIMIT) == ENTRY
        assert unpack(blob, "name", 1999.9, LIMIT) == ENTRY
        assert unpack(blob, "name", 2000.0, LIMIT) is None

    def test_one_from_the_future_is_not_believed(self) -> None:
        blob = pack(ENTRY, "name")
        assert unpack(blob, "name", 990.0, LIMIT) == ENTRY  # clocks differ a little
        assert unpack(blob, "name", 100.0, LIMIT) is None

    @pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 200, pack(ENTRY, "name")[:-1], pack(ENTRY, "other")])
    def test_what_is_damaged_or_of_another_call_is_as_good_as_absent(self, damage: bytes) -> None:
        assert unpack(damage, "name", 1000.0, LIMIT) is None

    def test_one_flipped_bit_is_found(self) -> None:
        blob = pack(ENTRY, "name")
        for place in range(len(blob)):
            assert unpack(blob[:place] + bytes([blob[place] ^ 1]) + blob[place + 1 :], "name", 1000.0, LIMIT) is None

    @pytest.mark.parametrize("content", [b"no zlib", zlib.compress(b"no head"), zlib.compress(b'["csv", 1]\nx')])
    def test_what_has_the_right_hash_and_no_sense_is_as_good_as_absent(self, content: bytes) -> None:
        from toolfold.cache import entry

        assert unpack(entry._digest("name", content) + content, "name", 1000.0, LIMIT) is None

    def test_one_that_unpacks_to_more_than_is_allowed_is_not_unpacked(self) -> None:
        blob = pack(Entry("csv", "0" * 50_000_000, 1000.0, 2000.0), "name")
        assert len(blob) < 1_000_000
        assert unpack(blob, "name", 1000.0, LIMIT) is None

    def test_an_error_is_remembered_with_all_that_it_said(self) -> None:
        said = InvalidArguments("No.", "Look.", problems=[{"parameter": "a"}])
        entry = unpack(pack(Entry.of_error(said, 1000.0, 2000.0), "name"), "name", 1000.0, LIMIT)
        assert entry is not None
        assert type(entry.error()) is InvalidArguments
        assert entry.error().as_dict() == said.as_dict()


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CacheStore]:
    if request.param == "memory":
        yield Memory(100_000)
    else:
        file = SQLiteStore(tmp_path / "answers.sqlite", 100_000, 0.3)
        yield file
        file.close()


class TestPlaces:
    def test_what_is_put_is_there_and_the_newer_one_wins(self, place: CacheStore) -> None:
        assert place.get("a") is None
        place.put("a", b"one", 1.0, 100.0)
        place.put("a", b"two", 2.0, 100.0)
        assert place.get("a") == b"two"

    def test_it_never_holds_more_than_it_may(self, place: CacheStore) -> None:
        for number in range(100):
            place.put(f"entry {number}", bytes(10_000), 1.0, 100.0 + number)
        held = [number for number in range(100) if place.get(f"entry {number}") is not None]
        assert 5 <= len(held) <= 10
        assert 99 in held

    def test_a_value_too_large_for_it_is_not_held_and_pushes_nothing_out(self, place: CacheStore) -> None:
        place.put("small", b"small", 1.0, 100.0)
        place.put("large", bytes(200_000), 1.0, 100.0)
        assert place.get("large") is None
        assert place.get("small") == b"small"

    def test_it_counts(self, place: CacheStore) -> None:
        assert [place.add("n", 100.0) for _ in range(3)] == [1, 2, 3]
        assert place.add("m", 100.0) == 1

    def test_a_turn_is_taken_by_one(self, place: CacheStore) -> None:
        assert place.reserve("turn", 10.0, 11.0) == 0
        assert place.reserve("turn", 10.5, 11.5) == 11.0
        assert place.reserve("turn", 11.0, 12.0) == 0

    def test_many_threads_lose_nothing(self, place: CacheStore) -> None:
        def work() -> None:
            for _ in range(20):
                place.add("n", 100.0)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert place.add("n", 100.0) == 81


class TestFile:
    def test_two_processes_share_it(self, tmp_path: Path) -> None:
        one = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        two = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        one.put("a", b"value", 1.0, 2.0)
        assert two.get("a") == b"value"
        assert (one.add("n", 1.0), two.add("n", 1.0)) == (1, 2)
        one.put("a", b"older", 0.5, 2.0)
        assert two.get("a") == b"value"

    @pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
    def test_nobody_else_may_read_it(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            file = SQLiteStore(tmp_path / "new" / "answers.sqlite", LIMIT, 0.3)
            file.put("a", b"value", 1.0, 2.0)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
        assert set(modes.values()) == {0o600}
        assert len(modes) == 3  # the database, its log, and the index of that

    @pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
    def test_one_that_others_could_read_is_closed_to_them(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        path.touch(0o644)
        file = SQLiteStore(path, LIMIT, 0.3)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        file.close()

    @pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + bytes(5000)])
    def test_a_damaged_one_is_replaced(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "answers.sqlite"
        path.write_bytes(content)
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", b"value", 1.0, 2.0)
        assert file.get("a") == b"value"

    def test_one_of_another_layout_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE entries (something TEXT)")
            other.execute("PRAGMA user_version = 99")
        other.close()
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", b"value", 1.0, 2.0)
        assert file.get("a") == b"value"

    def test_one_that_is_damaged_while_in_use_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", bytes(50_000), 1.0, 2.0)
        file.close()
        file = SQLiteStore(path, LIMIT, 0.3)
        with path.open("r+b") as raw:
            raw.write(b"\xff" * path.stat().st_size)
        file.put("b", b"value", 1.0, 2.0)
        assert file.get("b") == b"value"

    def test_a_busy_one_is_an_error_that_is_over_soon(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        file = SQLiteStore(path, LIMIT, 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            file.put("a", b"value", 1.0, 2.0)
        assert path.exists()
        other.close()


class TestCareful:
    def test_a_place_that_fails_is_left_alone_for_a_while(self, caplog: pytest.LogCaptureFixture) -> None:
        now, opened = [0.0], []

        def broken() -> CacheStore:
            opened.append(now[0])
            raise OSError("/home/somebody/secret-folder")

        careful = FailSafeStore(broken, 30.0, lambda: now[0])
        for now[0] in (0.0, 1.0, 29.9, 30.0, 31.0):
            assert careful.ask(lambda place: place.get("a")) is None
        assert opened == [0.0, 30.0]
        assert [record.message for record in caplog.records] == [
            "the shared cache fails (OSError); it is left alone for a while"
        ] * 2

    def test_it_is_asked_again_when_it_works(self) -> None:
        now, memory = [0.0], Memory(1000)
        memory.put("a", b"value", 1.0, 2.0)
        careful = FailSafeStore(lambda: memory, 30.0, lambda: now[0])
        assert careful.ask(lambda place: place.get("a")) == b"value"

        def fails(place: CacheStore) -> None:
            raise TimeoutError

        assert careful.ask(fails) is None
        assert careful.ask(lambda place: place.get("a")) is None
        now[0] = 30.0
        assert careful.ask(lambda place: place.get("a")) == b"value"


class TestCache:
    def test_what_another_process_has_put_is_found_and_then_at_hand(self) -> None:
        shared = Memory(LIMIT)
        careful = FailSafeStore(lambda: shared, 30.0, lambda: 0.0)
        Cache(Memory(LIMIT), careful, LIMIT).put("name", ENTRY)
        cache = Cache(Memory(LIMIT), careful, LIMIT)
        assert cache.at_hand("name", 1500.0) is None
        assert cache.get("name", 1500.0) == (ENTRY, "shared")
        assert cache.get("name", 1500.0) == (ENTRY, "memory")

    def test_a_damaged_entry_is_replaced_by_the_next(self) -> None:
        shared = Memory(LIMIT)
        cache = Cache(Memory(0), FailSafeStore(lambda: shared, 30.0, lambda: 0.0), LIMIT)
        shared.put("name", b"damaged", 1.0, 2.0)
        assert cache.get("name", 1500.0) is None
        cache.put("name", ENTRY)
        assert cache.get("name", 1500.0) == (ENTRY, "shared")


class TestSingleFlight:
    def test_equal_work_under_way_is_done_once(self) -> None:
        flights: SingleFlight[int] = SingleFlight()
        started, may_end, runs, results = threading.Event(), threading.Event(), [], []

        def work() -> int:
            runs.append(1)
            started.set()
            assert may_end.wait(5)
            return 7

        def call() -> None:
            results.append(flights.run("name", "owner", work, 5.0))

        threads = [threading.Thread(target=call) for _ in range(5)]
        for thread in threads:
            thread.start()
        assert started.wait(5)
        with pytest.raises(TimeoutError):
            flights.run("name", "owner", work, 0.01)
        may_end.set()
        for thread in threads:
            thread.join()
        assert results == [7] * 5
        assert flights.run("name", "owner", lambda: 8, 5.0) == 8

    @pytest.mark.parametrize(
        ("error", "owner", "follower_gets"),
        [
            (InvalidArguments("no", "look"), "leader", "the error"),
            (InvalidArguments("no", "look"), "another", "its own"),
            (RateLimited("no", "wait"), "another", "its own"),
        ],
    )
    def test_a_failure_is_shared_with_calls_of_the_same_key(
        self, error: Exception, owner: str, follower_gets: str
    ) -> None:
        flights: SingleFlight[str] = SingleFlight()
        started, may_end = threading.Event(), threading.Event()

        def fails() -> str:
            started.set()
            assert may_end.wait(5)
            raise error

        def lead() -> None:
            with pytest.raises(type(error)):
                flights.run("name", "leader", fails, 5.0)

        got: list[str] = []

        def follow() -> None:
            try:
                got.append(flights.run("name", owner, lambda: "its own", 5.0))
            except type(error):
                got.append("the error")

        leader = threading.Thread(target=lead)
        leader.start()
        assert started.wait(5)
        follower = threading.Thread(target=follow)
        follower.start()
        follower.join(0.05)  # it waits
        assert not got
        may_end.set()
        follower.join()
        leader.join()
        assert got == [follower_gets]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("", None),
        ("memory", None),
        ("off", None),
        ("dynamodb://answers", FailSafeStore),
        ("/tmp/x.sqlite", FailSafeStore),
    ],
)
def test_the_setting_names_a_place_that_is_not_opened_before_it_is_asked(value: str, named: type | None) -> None:
    settings = Settings.from_environment({"TOOLFOLD_CACHE": value})
    found = base.create_shared_store(settings, lambda: 0.0, AwsClients())
    assert (found is None) if named is None else isinstance(found, named)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOLFOLD_CACHE", "redis://host"),
        ("TOOLFOLD_CACHE", "dynamodb://"),
        ("TOOLFOLD_CACHE", "dynamodb://table/more"),
        ("TOOLFOLD_CACHE_BUCKET", "bucket"),
        ("TOOLFOLD_RETRIES", "-1"),
        ("TOOLFOLD_REQUESTS_PER_DAY", "many"),
        ("TOOLFOLD_REQUESTS_PER_SECOND", "0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({name: value})
