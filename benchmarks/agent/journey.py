"""Answer one question with the three tools as a model would, and check the value at the end."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.agent.client import Answer, Client
from benchmarks.agent.next_call import Proposal, proposed_call
from benchmarks.agent.question_set import Guess, Question
from benchmarks.agent.raw_data import RawData, holds, values_of
from tests.support.meta_tools import tokens

MAX_VALUES = 120
"""Values of an answer in which a model still sees the ones that it looks for."""

_MOST_CALLS = 8
_EXAMPLE = re.compile(r"\b(is an example|are examples)\b")


@dataclass
class Journey:
    """How a question went.

    Attributes:
        solved: whether an answer contained the right values.
        calls: calls of the three tools.
        tokens: tokens of all calls and answers.
        steps: what happened, one line for each call.
        silently_wrong: answers to guesses that lacked the right values without a note.
    """

    question: Question
    solved: bool = False
    calls: int = 0
    tokens: int = 0
    steps: list[str] = field(default_factory=list)
    silently_wrong: int = 0


def answer(question: Question, client: Client, data: RawData) -> Journey:
    """Find the tool, call it, and follow what the answers say, until one of them is right."""
    journey, client = Journey(question), replace(client, key=question.key)
    listed = _call(journey, client, "TOOL_LIST", {"query": question.text})
    entries = {entry["name"]: entry for entry in listed.structured.get("tools", [])}
    tool = next((name for name in entries if name in question.tools), None)
    if tool is None:
        journey.steps.append(f"not found among {', '.join(list(entries)[:5])}")
        return journey
    if "parameters" not in entries[tool]:
        _call(journey, client, "TOOL_GET", {"tool_name": tool})
    wanted = data.values(question.raw, question.expected)
    assert wanted or question.outcome == "nothing", f"the raw data have nothing for {question.text!r}"
    accepted = [wanted, data.values(question.raw, question.operands)] if question.operands else [wanted]
    guesses = iter(question.guesses)
    made: list[Proposal] = []
    call, is_guess = _of_guess(tool, next(guesses)), True
    while call is not None and journey.calls < _MOST_CALLS:
        made.append(call)
        result = _call(journey, client, *call)
        if question.outcome == "nothing":
            journey.solved = _says_that_there_is_none(client, call, result, wanted)
        elif not result.is_error and call[0] == "TOOL_CALL":
            _check_values(journey, result, accepted, is_guess)
        if journey.solved:
            return journey
        # A proposal with an example in place of a value is another question: the model makes its next guess.
        proposal = None if _EXAMPLE.search(result.advice) else proposed_call(*call, result)
        is_guess = proposal is None or proposal in made
        call = _of_guess(tool, next(guesses, None)) if is_guess else proposal
    return journey


def _of_guess(tool: str, guess: Guess | None) -> Proposal | None:
    if guess is None:
        return None
    arguments, select = guess
    return "TOOL_CALL", {"tool_name": tool, "arguments": dict(arguments)} | ({"select": select} if select else {})


def _call(journey: Journey, client: Client, name: str, arguments: dict[str, Any]) -> Answer:
    result = client.call(name, arguments)
    journey.calls += 1
    journey.tokens += tokens(json.dumps(arguments)) + tokens(result.text)
    shown = f"{name} {json.dumps(arguments)}"
    if result.is_error:
        shown += f" → {result.structured['error'].get('code')}: {result.advice}"
    elif result.advice:
        shown += f" → {result.advice}"
    journey.steps.append(shown)
    return result


def _check_values(journey: Journey, result: Answer, accepted: list[list[Any]], is_guess: bool) -> None:
    found = list(values_of(result.structured.get("result")))
    is_right = any(holds(found, values) for values in accepted)
    journey.solved = is_right and len(found) <= MAX_VALUES
    if is_guess and not is_right and not result.has_notes:
        journey.silently_wrong += 1
        journey.steps.append(f"silently wrong: expected {accepted[0][:5]} in {result.text[:200]!r}")


def _says_that_there_is_none(client: Client, call: Proposal, result: Answer, words: list[Any]) -> bool:
    """Return whether an answer says that there is no such data, has the words, and leads on where that is possible."""
    if not all(str(word) in result.text for word in words):
        return False
    if not result.is_error:
        return result.has_notes
    if result.structured["error"].get("code") == "NO_DATA":
        return True
    proposal = proposed_call(*call, result)
    return proposal is not None and not client.call(*proposal).is_error
