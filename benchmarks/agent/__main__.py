"""Answer everyday questions with the three tools over the mock API, misuse the tools, and compare with the targets.

``--steps`` prints every call of what did not go well; ``--write`` writes docs/reference/measurements.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from benchmarks import harness
from benchmarks.agent.client import over_mock_api
from benchmarks.agent.journey import Journey, answer
from benchmarks.agent.misuse import Outcome, judge
from benchmarks.agent.probes import PROBES
from benchmarks.agent.question_set import QUESTIONS
from benchmarks.agent.report import PAGE, figures, table


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
