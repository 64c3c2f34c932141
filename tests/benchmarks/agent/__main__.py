"""Answer everyday questions with the three tools over the mock API, and print what it took.

``--steps`` prints every call of the questions that were not answered.
"""

from __future__ import annotations

import argparse
import os
import statistics

from tests.benchmarks.agent.journey import Journey, answer
from tests.benchmarks.agent.questions import QUESTIONS
from tests.benchmarks.agent.raw_data import RawData
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings


def main() -> int:
    """Print the table; return 0 when every target is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", action="store_true", help="print the calls of what was not answered at once")
    options = parser.parse_args()
    journeys = run()
    for journey in journeys:
        print(
            f"{'ok ' if journey.solved else 'NO '} {journey.calls} calls {journey.tokens:6,} tokens  "
            f"{journey.question.text}"
        )
        if options.steps and (not journey.solved or journey.calls > 2 or journey.silently_wrong):
            print("".join(f"      {step}\n" for step in journey.steps))
    solved = sum(journey.solved for journey in journeys)
    print(
        f"\n{solved} of {len(journeys)} answered rightly; mean calls "
        f"{statistics.mean(journey.calls for journey in journeys):.2f}, median tokens "
        f"{statistics.median(journey.tokens for journey in journeys):,.0f}; silently wrong answers: "
        f"{sum(journey.silently_wrong for journey in journeys)}"
    )
    return 0


def run() -> list[Journey]:
    """Answer all questions with one executor over the mock API."""
    os.environ["ALPHA_VANTAGE_API_KEY"] = "mock-key-for-journeys"
    with MockApi() as mock_api:
        settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})
        tools = MetaTools(FileStore(bundled_path()), ToolExecutor(settings))
        return [answer(question, tools, RawData(mock_api.url)) for question in QUESTIONS]


if __name__ == "__main__":
    raise SystemExit(main())
