"""Answer everyday questions with the three tools over the mock API, misuse the tools, and compare with the targets.

``--steps`` prints every call of what did not go well; ``--write`` writes docs/reference/measurements-agent.md.
"""

from __future__ import annotations

import argparse

from benchmarks.agent.client import over_mock_api
from benchmarks.agent.journey import Journey, answer
from benchmarks.agent.misuse import Outcome, judge
from benchmarks.agent.probes import PROBES
from benchmarks.agent.questions import QUESTIONS
from benchmarks.agent.report import PAGE, Figures, figures, tables, write_page


def main() -> int:
    """Print the tables; return 0 when every target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", action="store_true", help="print the calls of what did not go well")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    options = parser.parse_args()
    journeys, outcomes = run()
    measured = figures(journeys, outcomes)
    if options.steps:
        _print_steps(journeys, outcomes)
    print(tables(measured))
    if options.write:
        write_page(measured)
    return _exit_code(measured)


def run() -> tuple[list[Journey], list[Outcome]]:
    """Answer all questions and make all probes, with one server over the mock API."""
    with over_mock_api() as (client, data):
        return [answer(question, client, data) for question in QUESTIONS], judge(PROBES, client, data)


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


def _exit_code(measured: Figures) -> int:
    missed = [f"{row.name}: {row.shown}, wanted {row.wanted}" for row in measured.rows if not row.is_met]
    print("\n".join(["", *(f"MISSED  {line}" for line in missed)]) if missed else "\nAll targets are met.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
