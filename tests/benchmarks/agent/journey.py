"""Answer one question with the three tools as a model would, and check the value at the end."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import bpe_openai

from tests.benchmarks.agent.questions import Question
from tests.benchmarks.agent.raw_data import RawData
from toolfold.meta_tools.dispatcher import MetaTools

MAX_VALUES = 120
"""Values of an answer in which a model still sees the ones that it looks for."""

_RELATIVE_TOLERANCE = 1e-3
_encode = bpe_openai.get_encoding("o200k_base").encode


@dataclass
class Journey:
    """How a question went.

    Attributes:
        solved: whether an answer contained the right values.
        calls: calls of the three tools.
        tokens: tokens of all calls and answers.
        steps: what happened, one line for each call.
        silently_wrong: guesses whose answer lacked the right values without a note.
    """

    question: Question
    solved: bool = False
    calls: int = 0
    tokens: int = 0
    steps: list[str] = field(default_factory=list)
    silently_wrong: int = 0


def answer(question: Question, tools: MetaTools, data: RawData) -> Journey:
    """Find the tool, try the guesses in their order, and stop at the first right answer."""
    journey = Journey(question)
    listed = _call(journey, tools, "TOOL_LIST", {"query": question.text})
    names = [tool["name"] for tool in listed.structured.get("tools", [])]
    tool = next((name for name in names if name in question.tools), None)
    if tool is None:
        journey.steps.append(f"not found among {', '.join(names[:5])}")
        return journey
    if tool != names[0]:
        _call(journey, tools, "TOOL_GET", {"tool_name": tool})
    wanted = question.expected(data)
    operands = question.operands(data) if question.operands else wanted
    for guess in question.guesses:
        arguments = {"tool_name": tool, "arguments": dict(guess.arguments)}
        result = _call(journey, tools, "TOOL_CALL", arguments | ({"select": guess.select} if guess.select else {}))
        found = list(_values(result.structured.get("result")))
        if not result.is_error and (_holds(found, wanted) or _holds(found, operands)):
            journey.solved = True
            return journey
        if not result.is_error and not _says_what_is_missing(result.text, result.structured):
            journey.silently_wrong += 1
            journey.steps.append(f"silently wrong: expected {wanted[:5]} in {result.text[:200]!r}")
    return journey


def _call(journey: Journey, tools: MetaTools, name: str, arguments: Mapping[str, Any]) -> Any:
    result = tools.call(name, arguments)
    journey.calls += 1
    journey.tokens += len(_encode(json.dumps(arguments))) + len(_encode(result.text))
    shown = f"{name} {json.dumps(arguments)}"
    if result.is_error:
        error = result.structured["error"]
        shown += f" → {error['code']}: {error['message']} {error['suggestion']}"
    journey.steps.append(shown)
    return result


def _says_what_is_missing(text: str, structured: Mapping[str, Any]) -> bool:
    return text.startswith("#") or bool({"preview", "notes", "late"} & set(structured))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _values(item)
    else:
        yield value


def _holds(found: list[Any], wanted: list[Any]) -> bool:
    """Return whether all wanted values are among the few that were found."""
    return len(found) <= MAX_VALUES and all(any(_same(one, other) for other in found) for one in wanted)


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float | int) and isinstance(found, float | int | str):
        try:
            return math.isclose(wanted, float(found), rel_tol=_RELATIVE_TOLERANCE)
        except ValueError:
            return False
    return str(wanted).lower() == str(found).lower()
