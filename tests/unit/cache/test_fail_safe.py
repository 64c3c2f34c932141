"""A store that fails is a miss, and is not used for a while."""

from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.cache.response_cache import MemoryStore


def test_a_store_is_used_again_after_the_cooldown() -> None:
    now, memory = [0.0], MemoryStore(1000)
    memory.put("a", b"value", 1.0, 2.0)
    careful = FailSafeStore(lambda: memory, 30.0, lambda: now[0])
    assert careful.run(lambda store: store.get("a")) == b"value"

    def fails(store: CacheStore) -> None:
        raise TimeoutError

    assert careful.run(fails) is None
    assert careful.run(lambda store: store.get("a")) is None
    now[0] = 30.0
    assert careful.run(lambda store: store.get("a")) == b"value"


def test_a_lack_of_memory_is_a_miss_without_a_cooldown() -> None:
    """SQL over an answer of another call may have all memory of SQLite for a moment."""
    store = FailSafeStore(object, 30, lambda: 0)

    def fail(_store: object) -> None:
        raise MemoryError

    assert store.run(fail) is None
    assert store.run(lambda _store: "value") == "value"
