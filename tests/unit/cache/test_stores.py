"""What every store does, and what the one in a file does beside that."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolfold.cache.base import CacheStore
from toolfold.cache.memory import MemoryStore
from toolfold.cache.sqlite import SQLiteStore

LIMIT = 1_000_000


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CacheStore]:
    if request.param == "memory":
        yield MemoryStore(100_000)
    else:
        file = SQLiteStore(tmp_path / "answers.sqlite", 100_000, 0.3)
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
        assert 5 <= len(held) <= 10
        assert 99 in held

    def test_a_value_above_the_limit_is_not_stored_and_evicts_nothing(self, store: CacheStore) -> None:
        store.put("small", b"small", 1.0, 100.0)
        store.put("large", bytes(200_000), 1.0, 100.0)
        assert store.get("large") is None
        assert store.get("small") == b"small"

    def test_increment_counts_per_key(self, store: CacheStore) -> None:
        assert [store.increment("n", 100.0) for _ in range(3)] == [1, 2, 3]
        assert store.increment("m", 100.0) == 1

    def test_a_slot_is_acquired_once(self, store: CacheStore) -> None:
        assert store.acquire_slot("turn", 10.0, 11.0) == 0
        assert store.acquire_slot("turn", 10.5, 11.5) == 11.0
        assert store.acquire_slot("turn", 11.0, 12.0) == 0

    def test_increments_of_many_threads_are_all_counted(self, store: CacheStore) -> None:
        def work() -> None:
            for _ in range(20):
                store.increment("n", 100.0)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.increment("n", 100.0) == 81


class TestSQLiteStore:
    def test_two_processes_share_the_file(self, tmp_path: Path) -> None:
        one = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        two = SQLiteStore(tmp_path / "answers.sqlite", LIMIT, 0.3)
        one.put("a", b"value", 1.0, 2.0)
        assert two.get("a") == b"value"
        assert (one.increment("n", 1.0), two.increment("n", 1.0)) == (1, 2)
        one.put("a", b"older", 0.5, 2.0)
        assert two.get("a") == b"value"

    @pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
    def test_other_users_may_not_read_the_file(self, tmp_path: Path) -> None:
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
    def test_permissions_of_an_existing_file_are_restricted(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        path.touch(0o644)
        file = SQLiteStore(path, LIMIT, 0.3)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        file.close()

    @pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + bytes(5000)])
    def test_a_damaged_file_is_replaced(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "answers.sqlite"
        path.write_bytes(content)
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", b"value", 1.0, 2.0)
        assert file.get("a") == b"value"

    def test_a_file_of_another_layout_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE entries (something TEXT)")
            other.execute("PRAGMA user_version = 99")
        other.close()
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", b"value", 1.0, 2.0)
        assert file.get("a") == b"value"

    def test_a_file_damaged_while_in_use_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        file = SQLiteStore(path, LIMIT, 0.3)
        file.put("a", bytes(50_000), 1.0, 2.0)
        file.close()
        file = SQLiteStore(path, LIMIT, 0.3)
        with path.open("r+b") as raw:
            raw.write(b"\xff" * path.stat().st_size)
        file.put("b", b"value", 1.0, 2.0)
        assert file.get("b") == b"value"

    def test_a_busy_file_is_an_error_after_the_timeout(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.sqlite"
        file = SQLiteStore(path, LIMIT, 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            file.put("a", b"value", 1.0, 2.0)
        assert path.exists()
        other.close()
