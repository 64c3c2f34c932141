"""What a model is tried with: calls as it may write them before it has read anything, and everyday questions.

``probes.yaml`` has the calls, and what an answer must hold, as SQL over the raw data; ``questions.yaml`` the questions
with the calls that a model writes for them at first, and the right answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.agent.client import PREMIUM_KEY
from benchmarks.agent.raw_data import RawData

Area = Literal["TOOL_LIST", "TOOL_GET", "TOOL_CALL", "select"]
Expected = Callable[[RawData], list[Any]]


@dataclass(frozen=True)
class Probe:
    """A call of a meta-tool.

    Attributes:
        area: what the probe is about.
        name: the tool that the client calls.
        arguments: of that call.
        expected: the values that an answer must hold, computed from the raw data; None: any answer that is not empty.
        of_all: the same of the whole series, where a tool returns a part of it by default.
        is_natural: whether the guess has one meaning, so that it counts for the share of guesses that are accepted.
    """

    area: Area
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expected: Expected | None = None
    of_all: Expected | None = None
    is_natural: bool = True

    def __str__(self) -> str:
        shown = self.arguments.get("select") if self.area == "select" else None
        return f"{self.name} {shown if shown is not None else dict(self.arguments)}"[:160]


def _values(raw: str, sql: str) -> Expected:
    return lambda data: data.values([raw], sql)


_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GIVEN = yaml.load(Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8"), _LOADER)
_EXPECTED: Mapping[str, Expected] = {name: _values(*query) for name, query in _GIVEN["expected"].items()}


def _calls(group: Mapping[str, Any]) -> Iterator[Probe]:
    for given in group["calls"]:
        times = given.pop("repeat", 1)
        arguments = {name: value * times for name, value in given.items()} if times > 1 else given
        if "tool" in group:
            arguments = {"tool_name": group["tool"], "arguments": arguments}
            arguments |= {"select": group["select"]} if "select" in group else {}
        name = group.get("name", group["area"])
        yield Probe(group["area"], name, arguments, _EXPECTED.get(group.get("expected", "")))


def _guesses(group: Mapping[str, Any]) -> Iterator[Probe]:
    for guess in group["guesses"]:
        text, *meaning = guess if isinstance(guess, list) else [guess]
        call = {"tool_name": group["tool"], "arguments": group["arguments"], "select": text}
        expected, of_all = _EXPECTED.get(group.get("expected", "")), None
        if meaning:
            sql = _GIVEN["meanings"][meaning[0]].format(*meaning[1:])
            sizes = (f"TIME_SERIES_DAILY symbol=IBM outputsize={size}" for size in ("compact", "full"))
            expected, of_all = (_values(raw, sql) for raw in sizes)
        yield Probe("select", "TOOL_CALL", call, expected, of_all, text not in _GIVEN["not_natural"])


PROBES = tuple(
    probe for group in _GIVEN["groups"] for probe in (_calls(group) if "calls" in group else _guesses(group))
)


Guess = tuple[Mapping[str, Any], str | None]
"""Arguments of a tool, and the ``select`` of TOOL_CALL."""


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: what a person says; it is also the query of TOOL_LIST.
        tools: the tools that can answer it; the first is used.
        guesses: calls in the order in which a model tries them, each after the one before has failed.
        raw: the requests whose rows ``expected`` and ``operands`` read.
        expected: SQL for the values that the answer must hold; empty: none.
        operands: SQL for values from which a model gets the expected ones with one operation; empty: none.
        key: the API key of the caller; the mock API serves ``free`` what a free key gets.
        outcome: ``values``; or ``nothing``: there is no such data, and the answer must state that.
    """

    text: str
    tools: tuple[str, ...]
    guesses: tuple[Guess, ...]
    raw: tuple[str, ...] = ()
    expected: str = ""
    operands: str = ""
    key: str = PREMIUM_KEY
    outcome: Literal["values", "nothing"] = "values"


def _question(given: dict[str, Any]) -> Question:
    shared = given.pop("arguments", {})
    guesses = tuple(tuple(one) if isinstance(one, list) else (shared, one) for one in given["guesses"])
    return Question(**{**given, "guesses": guesses, "raw": tuple(given.get("raw", ()))})


QUESTIONS = tuple(
    map(_question, yaml.load(Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8"), _LOADER))
)
