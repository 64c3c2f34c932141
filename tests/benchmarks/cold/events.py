"""What everyone is asked, as events of an API Gateway HTTP API, and whether the answer is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.cold.contenders import ROOT
from toolfold.catalog.store import bundled_path

Event = Mapping[str, Any]

LISTING = "tools/list"
SEARCH, WHOLE, GET = "TOOL_LIST(query)", "TOOL_LIST()", "TOOL_GET"
FRESH, HELD = "TOOL_CALL, fresh", "TOOL_CALL, held"
METHODS = (LISTING, SEARCH, WHOLE, GET, FRESH, HELD)

NAMES = ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
SYMBOL = "IBM"


class WrongAnswer(Exception):
    """A contender did not do what was asked: its times mean nothing."""


def event(method: str, params: Mapping[str, Any]) -> Event:
    """A request of protocol 2025-11-25, with headers that all contenders take."""
    frame = json.loads((ROOT / "events/tool-call.json").read_text(encoding="utf-8"))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return {**frame, "headers": {**frame["headers"], "content-length": str(len(body))}, "body": body}


def tool(name: str, **arguments: Any) -> Event:
    """A call of a meta-tool."""
    return event("tools/call", {"name": name, "arguments": arguments})


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The events of a method, to be sent in turn, each with what its answer must hold."""

    events: Sequence[tuple[Event, Callable[[Any], bool]]]

    def at(self, number: int) -> Event:
        return self.events[number % len(self.events)][0]

    def check(self, number: int, answer: Any) -> None:
        """Fail unless ``answer`` is right for the event with that number.

        Raises:
            WrongAnswer: the start of the answer is in it.
        """
        sent, is_right = self.events[number % len(self.events)]
        if not _is_answer(answer) or not is_right(json.loads(answer["body"])["result"]):
            raise WrongAnswer(f"{sent['body'][:200]} was answered with {json.dumps(answer)[:600]}")


def asked(about: int | None = None) -> dict[str, ListRequest]:
    """Method → what is sent, about so many of the catalog's tools, or all. The queries are their titles."""
    tools = json.loads(bundled_path().read_bytes())["tools"]
    some = dict(list(tools.items())[:: len(tools) // (about or len(tools))][:about])
    quote = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": SYMBOL}}
    return {
        LISTING: ListRequest([(event("tools/list", {}), _has_the_three)]),
        SEARCH: ListRequest([(tool("TOOL_LIST", query=one["title"]), _has_text(name)) for name, one in some.items()]),
        WHOLE: ListRequest([(tool("TOOL_LIST"), _has_text(*tools))]),
        GET: ListRequest([(tool("TOOL_GET", tool_name=name), _has_text(name, '"parameters"')) for name in some]),
        FRESH: ListRequest([(tool("TOOL_CALL", **quote, fresh=True), _has_text(SYMBOL, "price"))]),
        HELD: ListRequest([(tool("TOOL_CALL", **quote), _has_text(SYMBOL, "price"))]),
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
