"""Make every probe, follow what an error proposes, and judge both by the values that were meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from benchmarks.agent.client import Answer, Client
from benchmarks.agent.next_call import Proposal, proposed_call
from benchmarks.agent.probes import Probe
from benchmarks.agent.raw_data import RawData, holds, values_of

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
