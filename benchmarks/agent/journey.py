"""Answer questions and make probes with the three tools as a model would, and judge the answers by their values.

What an answer proposes is found by what a model reads in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from benchmarks.agent.cases import Guess, Probe, Question
from benchmarks.agent.client import Answer, Client
from benchmarks.agent.raw_data import RawData, holds, values_of
from tests.support.meta_tools import tokens

Proposal = tuple[str, dict[str, Any]]

_WITH = re.compile(r"(TOOL_(?:LIST|GET|CALL))(?: again)?(?: with | |\()(?=\{)")
_SELECT = re.compile(r"""\bselect(?:=|: ?| )(?:"([^"]+)"|'([^']+)')""")
_WRITE = re.compile(
    r"""\b(?:write|try|use|send|ask for)(?: select)?:? (?:"([^"]+)"|'([^']+)'|`([^`]+)`)""", re.IGNORECASE
)
_PLAIN = re.compile(
    r"""\b[Ww]rite (?:e\.g\. )?((?!e\.g)[^\s"'][^"']*?)(?: for [\w ]+)?\.(?:\s|$)|\bas in (\w+\([\w*]+\))"""
)
_MEANT = re.compile(r"[Dd]id you mean '?([\w.]+)'?")
_QUOTED = re.compile(r"'([^']*)'")
_MOST_EXAMPLES = 3
"""Quoted forms beyond this are a list of the syntax, from which a model must choose."""


def proposed_call(name: str, arguments: Mapping[str, Any], answer: Answer) -> Proposal | None:
    """Return the call that ``answer`` says to make next, or None.

    Args:
        name: the tool of the call that was answered.
        arguments: of that call.
        answer: an error, or an answer with notes.
    """
    error = answer.structured.get("error", {})
    details = error if answer.is_error else answer.structured.get("preview", {})
    if isinstance(details, Mapping) and isinstance(details.get("next_call"), Mapping):
        ((tool, given),) = details["next_call"].items()
        return str(tool), dict(given)
    return _whole_call(answer.advice) or _select(name, arguments, answer.advice) or _meant(name, arguments, answer)


def _whole_call(text: str) -> Proposal | None:
    for found in _WITH.finditer(text):
        try:
            given, _ = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        return found[1], given
    if "TOOL_LIST()" in text:
        return "TOOL_LIST", {}
    return None


def _select(name: str, arguments: Mapping[str, Any], text: str) -> Proposal | None:
    if name != "TOOL_CALL":
        return None
    is_specific = len(re.findall(r'"[^"]+"', text)) <= _MOST_EXAMPLES
    found = (_WRITE.search(text) or _SELECT.search(text)) if is_specific else None
    found = found or (_PLAIN.search(text) if arguments.get("select") else None)
    if found is None:
        return None
    return name, {**arguments, "select": next(group for group in found.groups() if group)}


def _meant(name: str, arguments: Mapping[str, Any], answer: Answer) -> Proposal | None:
    """Return the call with the wrong word replaced by the one that may be meant."""
    if not answer.is_error:
        return None
    error, text = answer.structured["error"], answer.advice
    problems = error.get("problems")
    inner = arguments.get("arguments")
    if isinstance(problems, list) and isinstance(inner, Mapping):
        corrected = dict(inner)
        for problem in problems:
            meant = _MEANT.search(problem["expected"])
            if meant is not None and problem["parameter"] in corrected:
                corrected[meant[1]] = corrected.pop(problem["parameter"])
        return (name, {**arguments, "arguments": corrected}) if corrected != inner else None
    meant = _MEANT.search(text)
    if meant is None:
        return None
    wrong = {found.lower() for found in _QUOTED.findall(text)}
    corrected = {}
    for key, value in arguments.items():
        corrected[meant[1] if key.lower() in wrong else key] = _corrected(key, value, wrong, meant[1])
    return (name, corrected) if corrected != arguments else None


def _corrected(key: str, value: Any, wrong: set[str], meant: str) -> Any:
    if not isinstance(value, str):
        return value
    if key != "select":
        return meant if value.lower() in wrong else value
    words = "|".join(map(re.escape, filter(None, wrong)))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", meant, value, flags=re.IGNORECASE) if words else value


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


Verdict = Literal["works", "leads", "lost", "wrong"]

_VALUES_FOR_ONE = 8
_VALUES_AT_LEAST = 32
"""A part of an answer that has more values than this for each one that was meant is not the part."""


@dataclass(frozen=True)
class Outcome:
    """How a probe went.

    Attributes:
        verdict: ``works``: answered rightly. ``leads``: an error, or an answer with a note, whose next call is
            answered rightly. ``lost``: it has no such call. ``wrong``: another answer than was meant, without a note.
        answer: of the probe.
        proposal: the next call that the answer proposes.
        followed: the answer of that.
    """

    probe: Probe
    verdict: Verdict
    answer: Answer
    proposal: Proposal | None = None
    followed: Answer | None = None


def judge(probes: Iterable[Probe], client: Client, data: RawData) -> list[Outcome]:
    """Make every probe and judge its answer."""
    return [_judge(probe, client, data) for probe in probes]


def _judge(probe: Probe, client: Client, data: RawData) -> Outcome:
    wanted = None if probe.expected is None else probe.expected(data)
    assert wanted is None or wanted, f"the raw data have nothing for {probe}"
    answer = client.call(probe.name, probe.arguments)
    of_all = probe.of_all(data) if probe.of_all is not None and answer.has_notes else wanted
    if _is_right(probe, answer, wanted) or _is_right(probe, answer, of_all):
        return Outcome(probe, "works", answer)
    if not answer.is_error and not answer.has_notes:
        return Outcome(probe, "wrong", answer)
    if _names_what_is_missing(answer):
        return Outcome(probe, "leads", answer)
    proposal = proposed_call(probe.name, probe.arguments, answer)
    if proposal is None or proposal == (probe.name, probe.arguments):
        return Outcome(probe, "lost", answer)
    followed = client.call(*proposal)
    # The model then calls a tool that it has found this way.
    is_detour = proposal[0] != "TOOL_CALL" or proposal[1].get("tool_name") == "SYMBOL_SEARCH"
    finds_none = is_detour and followed.is_error and followed.structured["error"].get("code") == "NO_DATA"
    leads = finds_none or _is_right(probe, followed, None if is_detour else wanted)
    return Outcome(probe, "leads" if leads else "lost", answer, proposal, followed)


def _names_what_is_missing(answer: Answer) -> bool:
    """Return whether an error says only which values the caller has not given: no other value can be right."""
    error = answer.structured["error"] if answer.is_error else {}
    problems = error.get("problems") or ()
    missing = all(problem.get("problem") in ("is missing", "is empty") for problem in problems)
    return bool(problems) and missing and "next_call" not in error and "schema" in error


def _is_right(probe: Probe, answer: Answer, wanted: list[object] | None) -> bool:
    if answer.is_error:
        return False
    if wanted is None:
        return bool(answer.text.strip())
    found = list(values_of(answer.structured.get("result")))
    if probe.area == "select" and len(found) > max(_VALUES_AT_LEAST, _VALUES_FOR_ONE * len(wanted)):
        return False
    return holds(found, wanted)
