"""docs/reference/measurements-agent.md: its tables count the questions and probes that there are."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.agent.probes import PROBES
from benchmarks.agent.questions import QUESTIONS
from benchmarks.agent.report import PAGE

TEXT = Path(PAGE).read_text(encoding="utf-8")


def test_page_counts_the_questions_and_probes_that_there_are() -> None:
    assert f"| questions answered rightly, of {len(QUESTIONS)} |" in TEXT
    rows = re.findall(r"^\| (TOOL_\w+|select) \| (\d+) \|", TEXT, re.MULTILINE)
    areas = [probe.area for probe in PROBES]
    assert rows == [(area, str(areas.count(area))) for area in dict.fromkeys(areas)]


def test_no_question_or_guess_is_made_twice() -> None:
    texts = [question.text for question in QUESTIONS]
    assert len(set(texts)) == len(texts)
    shown = [str((probe.name, probe.arguments)) for probe in PROBES]
    assert len(set(shown)) == len(shown)
