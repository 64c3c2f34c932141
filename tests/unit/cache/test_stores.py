"""What every store does, what the one in a file does beside that, and what happens when one fails."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import NoCredentialsError

from tests.support.threads import run_concurrently
from toolfold.cache import response_cache
from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.sqlite import SQLiteStore
from toolfold.cache.stores import CacheStore, FailSafeStore, increment

LIMIT = 1_000_000


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CacheStore]:
    if request.param == "memory":
        yield MemoryStore(100_000)
    else:
        file = SQLiteStore(tmp_path / "answers.sqlite", 300_000, 0.3)
        yield file
        file.close()


class TestEveryStore:
    def test_the_newer_value_wins(self, store: CacheStore) -> None:
        assert store.get("a") is None
        store.put("a", b"one", 1.0, 100.0)
        store.put("a", b"two", 2.0, 100.0)
        assert store.get("a") == b"two"

    def test_the_limit_of_bytes_is_kept(self, store: CacheStore) -> None:
        for number in range(100):
            store.put(f"entry {number}", bytes(10_000), 1.0, 100.0 + number)
        held = [number for number in range(100) if store.get(f"entry {number}") is not None]
        assert 5 <= len(held) <= 20
        assert 99 in held

    def test_a_value_above_the_limit_is_not_stored_and_evicts_nothing(self, store: CacheStore) -> None:
        store.put("small", b"small", 1.0, 100.0)
        store.put("large", bytes(100_001), 1.0, 100.0)
        assert store.get("large") is None
        assert store.get("small") == b"small"

    def test_increment_counts_per_key(self, store: CacheStore) -> None:
        assert [increment(store, "n", 100.0) for _ in range(3)] == [1, 2, 3]
        assert increment(store, "m", 100.0) == 1

    def test_a_slot_is_acquired_once(self, store: CacheStore) -> None:
        assert store.acquire_slot("turn", 10.0, 11.0) == 0
        assert store.acquire_slot("turn", 10.5, 11.5) == 11.0
        assert store.acquire_slot("turn", 11.0, 12.0) == 0

    def test_a_record_is_of_one_caller_and_stays_while_values_are_evicted(self, store: CacheStore) -> None:
        assert [store.replace("r", None, value, 200.0) for value in (b"1", b"2")] == [True, False]
        for number in range(100):
            store.put(f"entry {number}", bytes(10_000), 1.0, 300.0)
        assert [store.replace("r", b"1", value) for value in (b"3", b"4")] == [True, False]
        assert store.get("r") == b"3"

    def test_a_counter_stops_at_its_limit(self, store: CacheStore) -> None:
        assert [store.count_within("caller", 2, 100.0) for _ in range(4)] == [0, 1, 2, 2]
        assert store.count_within("caller", 3, 100.0) == 2
        assert store.count_within("other", 3, 100.0) == 0
        store.change("earlier", lambda _: b'{"n": 5}', 100.0)
        assert [store.count_within("earlier", 3, 100.0) for _ in range(2)] == [0, 1]

    def test_of_many_threads_as_many_count_as_the_limit_allows(self, store: CacheStore) -> None:
        before: list[int] = []
        run_concurrently([lambda: before.append(store.count_within("caller", 10, 100.0))] * 16)
        assert sorted(before) == [*range(10), *[10] * 6]


def test_counters_in_memory_are_bounded_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "_MAX_RECORD_BYTES", 4_000)
    store = MemoryStore(1000)
    for number in range(600):
        store.count_within(f"caller {number % 60}/minute {number}", 9, 100.0)
    assert 0 < sum(map(len, store._records.values())) <= 4_000


class TestSQLiteStore:
    def test_two_processes_share_the_file(self, tmp_path: Path) -> None:
        one = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        two = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        one.put("a", b"value", 1.0, 2.0)
        assert two.get("a") == b"value"
        assert (increment(one, "n", 1.0), increment(two, "n", 1.0)) == (1, 2)
        one.put("a", b"older", 0.5, 2.0)
        assert two.get("a") == b"value"

    def test_counters_let_it_evict_no_more_values(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        for number in range(300):
            increment(store, f"counter {number}", 1_000.0)
        held = []
        for number in range(60):
            store.put(f"entry {number}", bytes(20_000), 1.0, 100.0 + number)
            held.append(store.count())
        store.close()
        assert min(held[30:]) > 20

    def test_a_busy_file_is_an_error_after_the_timeout(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        file = SQLiteStore(path, LIMIT, 0.05)
        file.put("a", b"value", 1.0, 2.0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            file.put("a", b"value", 1.0, 2.0)
        assert path.exists()
        other.close()


def test_a_store_is_used_again_after_the_cooldown() -> None:
    now, memory = [0.0], MemoryStore(1000)
    memory.put("a", b"value", 1.0, 2.0)
    careful = FailSafeStore(memory, 30.0, lambda: now[0])
    assert careful.run(lambda store: store.get("a")) == b"value"

    def fails(store: CacheStore) -> None:
        raise TimeoutError

    assert careful.run(fails) is None
    assert careful.run(lambda store: store.get("a")) is None
    now[0] = 30.0
    assert careful.run(lambda store: store.get("a")) == b"value"


def test_a_store_that_cannot_be_opened_is_a_miss_and_reported_with_its_reason() -> None:
    reasons: list[str] = []

    def refuse(_store: object) -> None:
        raise NoCredentialsError

    store = FailSafeStore(object(), 30.0, lambda: 0.0, on_failure=reasons.append)
    assert [store.run(refuse) for _ in range(2)] == [None, None]
    assert reasons == ["NoCredentialsError"]


def test_each_kind_of_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reasons: list[str] = []
    store = FailSafeStore(object(), 0.0, lambda: 0.0, on_failure=reasons.append)
    for error in (OSError, OSError, TimeoutError, OSError):

        def fail(_store: object, error: type[Exception] = error) -> None:
            raise error

        store.run(fail)
    assert reasons == ["OSError", "OSError", "TimeoutError", "OSError"]
    assert [text.split()[3] for text in caplog.messages] == ["(OSError);", "(TimeoutError);"]


def test_a_lack_of_memory_is_a_miss_without_a_cooldown() -> None:
    """SQL over an answer of another call may have all memory of SQLite for a moment."""
    store = FailSafeStore(object(), 30, lambda: 0)

    def fail(_store: object) -> None:
        raise MemoryError

    assert store.run(fail) is None
    assert store.run(lambda _store: "value") == "value"
