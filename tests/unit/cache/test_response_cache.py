"""The cache looks in memory first, then in the store that processes share."""

from dataclasses import replace

from toolfold.cache.response_cache import Entry, MemoryStore, ResponseCache

LIMIT = 1_000_000
ENTRY = Entry("csv", "timestamp,open\n2026-01-13,1.0", 1000.0, 2000.0)


def test_of_two_entries_in_memory_the_newest_is_returned() -> None:
    cache = ResponseCache(MemoryStore(LIMIT), None, LIMIT)
    cache.put("name", ENTRY)
    newer = replace(ENTRY, created_at=1200.0, repeats_key=True)
    cache.put("name-key", newer)
    assert cache.get_local(["name", "name-key"], 1500.0) == newer
    assert cache.get_local(["name", "name-other"], 1500.0) == ENTRY


def test_entries_of_made_up_keys_do_not_displace_common_ones() -> None:
    cache = ResponseCache(MemoryStore(2000), None, LIMIT)
    cache.put("name", ENTRY)
    for number in range(1000):
        cache.put(f"name-{number}", ENTRY)
    assert cache.get_local(["name"], 1500.0) == ENTRY
    assert cache.get_local(["name-999"], 1500.0) == ENTRY
    assert cache.get_local(["name-0"], 1500.0) is None
