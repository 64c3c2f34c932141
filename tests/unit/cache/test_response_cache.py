"""Keys and entries of the cache, what it looks up where, and what equal calls computed."""

import tracemalloc
import zlib
from typing import Any

import pytest

from toolfold.budget import WorkBudget
from toolfold.cache.response_cache import Entry, Memo, MemoryStore, ResponseCache, decode, encode
from toolfold.catalog.entries import Source, Tool
from toolfold.errors import InvalidArguments
from toolfold.execution.pipeline import cache_key
from toolfold.results import output

SOURCE = Source("a", "A", "http_api", "https://a.test", "", None, {"default": 60}, "-", (), ())


def key_of(**call: Any) -> str:
    tool = Tool(
        "a__x", "a", "a", "X", "x", "x", (), "free", "read", "default", ("json",), {}, "", {}, {},
        {"function": "x", **call}, {}, (), "0",
    )  # fmt: skip
    return cache_key(SOURCE, tool, {"q": "1"}, "https://a.test")


def test_another_request_of_the_same_tool_is_another_entry() -> None:
    calls: list[dict[str, Any]] = [
        {},
        {"path": "/a"},
        {"path": "/b"},
        {"path": "/a", "method": "POST"},
        {"path": "/a", "parameters": {"q": {"in": "header"}}},
        {"path": "/a", "response": "text"},
    ]
    assert len({key_of(**call) for call in calls}) == len(calls)
    assert key_of(lists={"q": {"separator": ","}}, blank_allowed=["q"]) == key_of()


LIMIT = 1_000_000
ENTRY = Entry("csv", "timestamp,open\n2026-01-13,1.0\nzażółć", 1000.0, 2000.0)


def test_an_entry_is_of_its_key_and_usable_until_it_expires() -> None:
    blob = encode(ENTRY, "name")
    assert decode(blob, "name", LIMIT) == ENTRY
    assert decode(blob, "other", LIMIT) is None
    assert [ENTRY.is_usable(now) for now in (1000.0, 1999.9, 2000.0)] == [True, True, False]


def test_an_entry_from_the_future_is_a_miss() -> None:
    assert ENTRY.is_usable(990.0)  # clocks differ a little
    assert not ENTRY.is_usable(100.0)


def test_an_entry_with_one_flipped_bit_is_a_miss() -> None:
    blob = encode(ENTRY, "name")
    for place in range(len(blob)):
        for bit in range(8):
            damaged = blob[:place] + bytes([blob[place] ^ 1 << bit]) + blob[place + 1 :]
            assert decode(damaged, "name", LIMIT) in (None, ENTRY)  # some bits of zlib say nothing


@pytest.mark.parametrize("content", [b"no zlib", zlib.compress(b"no head"), zlib.compress(b'["name", 1]\nx')])
def test_malformed_content_is_a_miss(content: bytes) -> None:
    assert decode(content, "name", LIMIT) is None


def test_an_entry_that_decompresses_beyond_the_limit_is_a_miss() -> None:
    blob = encode(Entry("csv", "0" * 5_000_000, 1000.0, 2000.0), "name")
    assert len(blob) < 1_000_000
    assert decode(blob, "name", LIMIT) is None


def test_an_error_keeps_its_fields() -> None:
    said = InvalidArguments("No.", "Look.", problems=[{"parameter": "a"}])
    entry = decode(encode(Entry.from_error(said, 1000.0, 2000.0), "name"), "name", LIMIT)
    assert entry is not None
    assert type(entry.to_error()) is InvalidArguments
    assert entry.to_error().as_dict() == said.as_dict()


def test_of_two_entries_in_memory_the_newest_is_returned() -> None:
    cache = ResponseCache(MemoryStore(LIMIT), None, LIMIT, 0.0, Memo(0))
    cache.put("name", ENTRY)
    newer = ENTRY._replace(created_at=1200.0, repeats_key=True)
    cache.put("name-key", newer)
    assert cache.get_local(["name", "name-key"], 1500.0) == newer
    assert cache.get_local(["name", "name-other"], 1500.0) == ENTRY


def test_entries_of_made_up_keys_do_not_displace_common_ones() -> None:
    cache = ResponseCache(MemoryStore(2000), None, LIMIT, 0.0, Memo(0))
    cache.put("name", ENTRY)
    for number in range(1000):
        cache.put(f"name-{number}", ENTRY)
    assert cache.get_local(["name"], 1500.0) == ENTRY
    assert cache.get_local(["name-999"], 1500.0) == ENTRY
    assert cache.get_local(["name-0"], 1500.0) is None


def test_owners_are_compared_by_identity_and_keys_by_equality() -> None:
    memo, owner = Memo(100_000), [1]
    memo.put("kind", (owner,), ("a", 1), "value", 5)
    assert memo.get("kind", (owner,), ("a", 1)) == "value"
    for other in (("other", (owner,), ("a", 1)), ("kind", ([1],), ("a", 1)), ("kind", (owner,), ("a", 2))):
        assert memo.get(*other) is None


def test_an_owner_that_is_gone_is_not_taken_for_a_new_one() -> None:
    memo = Memo(10_000)
    for number in range(1000):
        owner = [number]
        assert memo.get("kind", (owner,)) is None
        memo.put("kind", (owner,), None, number, 0)
        assert memo.get("kind", (owner,)) == number


def test_values_used_last_stay_within_the_limit() -> None:
    memo, owner = Memo(100_000), object()
    for number in range(500):
        memo.put("kind", (owner,), number, number, 1000)
        assert memo.get("kind", (owner,), 0) == 0
        assert memo._stored.currsize <= 100_000
    assert memo.get("kind", (owner,), 1) is None
    memo.put("kind", (owner,), "large", "value", 30_000)
    assert memo.get("kind", (owner,), "large") is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("csv", "timestamp,open,name\n" + "".join(f"2026-01-{n:04},{n}.25,N{n}\n" for n in range(500))),
        ("json", '{"rows": [' + ",".join(f'{{"a": {n}, "b": "{n}", "c": [{n}]}}' for n in range(500)) + "]}"),
    ],
)  # fmt: skip
def test_documents_take_no_more_than_their_budget_says(kind: str, body: str) -> None:
    output.parse_answer(body, kind, {}, None, WorkBudget())  # imports, and compiles expressions
    budget = WorkBudget()
    left = budget.left
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    parsed = output.parse_answer(body, kind, {}, None, budget)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parsed.document
    assert after - before < left - budget.left + 600
