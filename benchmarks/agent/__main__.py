"""Answer everyday questions with the three tools over the mock API, misuse the tools, and compare with the targets.

``--steps`` prints every call of what did not go well; ``--write`` writes docs/reference/measurements.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from benchmarks import harness
from benchmarks.agent.cases import PROBES, QUESTIONS, Area
from benchmarks.agent.client import over_mock_api
from benchmarks.agent.journey import Journey, Outcome, answer, judge
from scripts.measured_tables import markdown_table

PAGE = "docs/reference/measurements.md"

_PERCENT_LED: Mapping[Area, int] = {"TOOL_LIST": 95, "TOOL_GET": 95, "TOOL_CALL": 95, "select": 90}
_PERCENT_SOLVED, _MEAN_CALLS = 97, 2.2
_MAX_DATA = 1.3


class Row(NamedTuple):
    """A figure and its target, both as a reader sees them."""

    name: str
    shown: str
    wanted: str
    is_met: bool


def figures(journeys: list[Journey], outcomes: list[Outcome], tokens_read: Mapping[str, int]) -> tuple[Row, ...]:
    """Count what went how."""
    verdicts = Counter((one.probe.area, one.verdict) for one in outcomes)
    solved, count = sum(journey.solved for journey in journeys), len(journeys)
    mean_calls = statistics.mean(journey.calls for journey in journeys)
    tokens = statistics.median(journey.tokens for journey in journeys)
    silent = sum(journey.silently_wrong for journey in journeys)
    natural = [one for one in outcomes if one.probe.area == "select" and one.probe.is_natural]
    accepted = sum(one.verdict == "works" for one in natural)
    wrong = sum(one.verdict == "wrong" for one in outcomes)
    ratio = tokens_read["data"] / tokens_read["text"]
    return (
        _share(f"questions answered rightly, of {count}", solved, count, _PERCENT_SOLVED),
        Row("mean calls for a question", f"{mean_calls:.2f}", f"≤ {_MEAN_CALLS}", round(mean_calls, 2) <= _MEAN_CALLS),
        Row("median tokens for a question, calls and answers", f"{tokens:,.0f}", "", True),
        Row("tokens of all answers as data, to those as text", f"{ratio:.2f}", f"≤ {_MAX_DATA}", ratio <= _MAX_DATA),
        Row("answers to questions that are wrong without a note", f"{silent}", "0", silent == 0),
        Row(
            f"natural guesses of `select` accepted, of {len(natural)}",
            f"{100 * accepted / len(natural):.0f} % ({accepted})",
            "",
            True,
        ),
        *(
            _share(f"errors of {area} whose next call is right, of {all_}", leads, all_, wanted)
            for area, wanted in _PERCENT_LED.items()
            for leads in [verdicts[area, "leads"]]
            for all_ in [leads + verdicts[area, "lost"]]
        ),
        Row("answers to probes that are wrong without a note", f"{wrong}", "0", wrong == 0),
    )


def table(rows: tuple[Row, ...]) -> str:
    """Return the figures as a table."""
    return markdown_table(("figure", "measured", "target"), [row[:3] for row in rows])


def _share(name: str, part: int, whole: int, wanted: int) -> Row:
    percent = 100 * part / whole if whole else 100.0
    return Row(name, f"{percent:.0f} % ({part})", f"≥ {wanted} %", percent >= wanted)


def measure(options: argparse.Namespace) -> harness.Measured:
    """Return the tables, and the targets that are missed."""
    journeys, outcomes, tokens = run()
    measured = figures(journeys, outcomes, tokens)
    if options.steps:
        _print_steps(journeys, outcomes)
    missed = [f"MISSED  {row.name}: {row.shown}, wanted {row.wanted}" for row in measured if not row.is_met]
    print("" if missed else "All targets are met.", file=sys.stderr)
    return table(measured), missed


def run() -> tuple[list[Journey], list[Outcome], Mapping[str, int]]:
    """Answer all questions and make all probes, with one server over the mock API."""
    with over_mock_api() as (client, data):
        journeys = [answer(question, client, data) for question in QUESTIONS]
        return journeys, judge(PROBES, client, data), client.tokens


def _print_steps(journeys: list[Journey], outcomes: list[Outcome]) -> None:
    for journey in journeys:
        if not journey.solved or journey.calls > 2 or journey.silently_wrong:
            print(f"{'ok' if journey.solved else 'NO'} {journey.calls} calls  {journey.question.text}")
            print("".join(f"      {step}\n" for step in journey.steps))
    for outcome in outcomes:
        if outcome.verdict in ("lost", "wrong"):
            print(f"{outcome.verdict.upper()}  {outcome.probe}\n      {outcome.answer.text[:300]!r}")
            if outcome.followed is not None:
                print(f"      {outcome.proposal}\n      {outcome.followed.text[:200]!r}")


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make eval-agent", measure, PAGE, flags=["--steps"]))
