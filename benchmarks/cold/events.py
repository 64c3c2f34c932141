"""The requests to the measured servers, as events of an API Gateway HTTP API, and the checks of their responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import ROOT
from benchmarks.peers import WrongResponse
from toolfold.catalog.store import bundled_path

Event = Mapping[str, Any]

LISTING = "tools/list"
SEARCH, GET = "TOOL_LIST(query)", "TOOL_GET"
FRESH, CACHED = "TOOL_CALL, fresh", "TOOL_CALL, cached"
METHODS = (LISTING, SEARCH, GET, FRESH, CACHED)

NAMES = ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
SYMBOL = "IBM"


def event(method: str, params: Mapping[str, Any]) -> Event:
    """Return a request of protocol 2025-11-25, with headers that all servers accept."""
    frame = json.loads((ROOT / "events/tool-call.json").read_text(encoding="utf-8"))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return {**frame, "headers": {**frame["headers"], "content-length": str(len(body))}, "body": body}


def tool(name: str, **arguments: Any) -> Event:
    """Return a call of a meta-tool."""
    return event("tools/call", {"name": name, "arguments": arguments})


@dataclass(frozen=True, slots=True)
class RequestSet:
    """The events of a method, to be sent in turn, each with a check of its response."""

    events: Sequence[tuple[Event, Callable[[Any], bool]]]

    def at(self, number: int) -> Event:
        return self.events[number % len(self.events)][0]

    def check(self, number: int, answer: Any) -> None:
        """Check that ``answer`` is right for the event with that number.

        Raises:
            WrongResponse: the start of the answer is in it.
        """
        sent, is_right = self.events[number % len(self.events)]
        if not _is_answer(answer) or not is_right(json.loads(answer["body"])["result"]):
            raise WrongResponse(f"{sent['body'][:200]} was answered with {json.dumps(answer)[:600]}")


def request_sets(about: int | None = None) -> dict[str, RequestSet]:
    """Return the requests of each method, for ``about`` tools of the catalog or all. Queries are titles of tools."""
    tools = json.loads(bundled_path().read_bytes())["tools"]
    some = dict(list(tools.items())[:: len(tools) // (about or len(tools))][:about])
    quote = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": SYMBOL}}
    return {
        LISTING: RequestSet([(event("tools/list", {}), _has_the_three)]),
        SEARCH: RequestSet([(tool("TOOL_LIST", query=one["title"]), _has_text(name)) for name, one in some.items()]),
        GET: RequestSet([(tool("TOOL_GET", tool_name=name), _has_text(name, '"parameters"')) for name in some]),
        FRESH: RequestSet([(tool("TOOL_CALL", **quote, fresh=True), _has_text(SYMBOL, "price"))]),
        CACHED: RequestSet([(tool("TOOL_CALL", **quote), _has_text(SYMBOL, "price"))]),
    }


def _is_answer(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("statusCode") == 200 and '"result"' in answer.get("body", "")


def _has_the_three(result: Any) -> bool:
    return [one["name"] for one in result["tools"]] == NAMES


def _has_text(*words: str) -> Callable[[Any], bool]:
    def is_right(result: Any) -> bool:
        text = result["content"][0]["text"]
        return not result.get("isError") and all(word in text for word in words)

    return is_right
