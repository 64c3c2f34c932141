"""Properties of ``select`` for any text and any rows."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.results.select.answers import ANSWERS, TODAY, document
from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, InvalidArguments
from toolfold.results import coverage
from toolfold.results.coverage import Requested
from toolfold.results.select import evaluator, parser
from toolfold.results.select.requested import requested_of
from toolfold.results.tables import Document, Table

DOCUMENTS = {name: document(name) for name in ANSWERS}
WORDS = st.sampled_from(
    [
        "close",
        "date",
        "type",
        "call",
        "strike",
        "2025",
        "2025-01-13",
        "last",
        "first",
        "5",
        "days",
        "year",
        "ytd",
        "since",
        "after",
        "between",
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "by",
        "group",
        "order",
        "desc",
        "sum(",
        "max(",
        "close)",
        ")",
        "(",
        "[",
        "]",
        "0:",
        ",",
        ";",
        "|",
        "=",
        ">",
        "<",
        ">=",
        "!=",
        "~",
        "+",
        "-",
        "*",
        "/",
        "%",
        "where",
        "from",
        "holdings",
        "feed",
        "top",
        "as",
        "x",
        "distinct",
        "without",
        "limit",
        "offset",
        "Jan",
        "13",
        "Q3",
        "'a'",
        '"',
        "'",
        ".",
        "..",
        ":",
        "$",
        "count",
        "latest",
        "next",
        "this",
        "week",
        "{",
        "}",
        "1e999",
        "99999999999",
        "-",
    ]
)
DATES = st.dates().map(str)
ROWS = st.lists(st.tuples(DATES | st.none(), st.integers(-50, 50) | st.none(), st.sampled_from("aBc")), max_size=20)


def evaluate(select: str, rows: list[Any]) -> list[Any]:
    selection = parser.parse_select(select)
    assert selection is not None
    table = Table("", ("date", "n", "letter"), rows)
    return list(evaluator.evaluate(selection, Document((table,)), WorkBudget(), TODAY).tables[0].rows)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=40), st.sampled_from(sorted(DOCUMENTS)))
@settings(max_examples=150)
def test_any_text_is_answered_or_refused(select: str, name: str) -> None:
    with contextlib.suppress(InvalidArguments, AnswerTooLarge):
        selection = parser.parse_select(select)
        if selection is None or selection.jmespath or selection.sql:
            return
        with contextlib.suppress(InvalidArguments):
            look_for_gaps(requested_of(selection, DOCUMENTS[name], TODAY), DOCUMENTS[name])
        evaluator.evaluate(selection, DOCUMENTS[name], WorkBudget(), TODAY)


def look_for_gaps(requested: Requested, whole: Document) -> None:
    if (covered := coverage.coverage_of(whole, requested.table)) is not None:
        for lacks in (coverage.lacks_end, coverage.lacks_future):
            lacks(requested, covered, TODAY)
        for lacks in (coverage.lacks_beginning, coverage.lacks_rows, coverage.is_too_coarse):
            lacks(requested, covered)


@given(ROWS.filter(bool), st.integers(-50, 50))
@settings(max_examples=40)
def test_condition_is_that_of_python(rows: list[Any], number: int) -> None:
    assert evaluate(f"n > {number}; date, n, letter", rows) == [
        row for row in rows if row[1] is not None and row[1] > number
    ]
    assert evaluate("letter = b; date, n, letter", rows) == [row for row in rows if row[2] == "B"]
    either = [row for row in rows if row[2] == "a" or (row[1] is not None and row[1] <= number)]
    assert evaluate(f"letter=a or n <= {number}; date, n, letter", rows) == either


@given(ROWS.filter(lambda rows: any(row[0] for row in rows)), st.integers(0, 20))
@settings(max_examples=40)
def test_newest_and_the_other_rows_are_all_rows(rows: list[Any], count: int) -> None:
    numbered = [(row[0], place, row[2]) for place, row in enumerate(rows)]
    newest = evaluate(f"newest {count}; date, n, letter", numbered)
    oldest = evaluate(f"oldest {max(0, len(rows) - count)}; date, n, letter", numbered)
    assert len(newest) == min(count, len(rows))
    if all(row[0] for row in rows) and len({row[0] for row in rows}) == len(rows):
        assert sorted(newest + oldest, key=lambda row: row[1]) == numbered
    head, tail = evaluate(f"[:{count}]", numbered), evaluate(f"[{count}:]", numbered)
    assert head + tail == numbered


@pytest.mark.parametrize(
    "select", ["a" * 100_000, "SELECT " + "a," * 50_000 + "b FROM data", "(" * 100_000, '{"a":' * 9999]
)
def test_very_long_select_is_refused_at_once(select: str) -> None:
    with pytest.raises(InvalidArguments, match="longer than"):
        parser.parse_select(select)
