"""Render the answer of an upstream in the form that its options ask for, as a call does."""

import sys
from collections.abc import Mapping
from datetime import date
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import output
from toolfold.results.output import AnswerStatus, OutputOptions, RenderedResult

TODAY = date(2026, 1, 14)
FETCHED_NOW = AnswerStatus()


def render_result(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    options: OutputOptions,
    *,
    status: AnswerStatus = FETCHED_NOW,
    redactor: Redactor = NO_REDACTION,
    budget: WorkBudget | None = None,
) -> RenderedResult:
    """Render an answer; without a budget, time is unlimited."""
    budget = WorkBudget() if budget is None else budget
    if options.raw_by:
        document = output.raw_document(body, kind, options, redactor, budget)
    else:
        parsed = output.parse_answer(body, kind, answer, options.select, budget, redactor)
        document = output.select_from(parsed, options.select, TODAY, budget)
    return output.render_document(document, options, status, budget, sys.getsizeof(body))
