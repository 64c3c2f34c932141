"""The key of a cache entry has everything of a tool that decides what is sent."""

from typing import Any

from toolfold.cache.response_cache import cache_key
from toolfold.catalog.entries import Source, Tool

SOURCE = Source("a", "A", "http_api", "https://a.test", "", None, {"default": 60}, "-", (), ())


def key_of(**call: Any) -> str:
    tool = Tool(
        "a__x", "a", "a", "X", "x", "x", (), "free", "read", "default", ("json",), {}, "", {}, {}, (), "0",
        {"function": "x", **call}, {},
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
