"""A ``select`` of rows within a budget: parsing and every step are linear, and errors show names from data safely."""

from __future__ import annotations

import contextlib
import gc
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.rendering import TODAY, render_result
from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, CallError, InvalidArguments
from toolfold.results.output import OutputOptions
from toolfold.results.select import evaluator, parser
from toolfold.results.select.clauses import SelectParser
from toolfold.results.tables import Document, Table

COUNT = 12_000
ROWS = [(f"2024-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}", n, str(n % 7), None if n % 3 else "x") for n in range(COUNT)]
TABLE = Table("", ("date", "n", "digit", "word"), ROWS)

UNITS = ["a", " ", "a ", "a=", "a(", "(", ")", "=", "1", "2024-01", "..", "'", '"', "a~", ";", ",", "%", "\t", "a.",
         "|", "!=", "last ", "top 1 by ", "between 2024 ", "columns ", "and ", "&", "&&", "x|", "\x00", "\ud800",
         "é"]  # fmt: skip


def evaluate(expression: str, document: Document, budget: WorkBudget | None = None) -> Document:
    selection = parser.parse_select(expression)
    assert selection is not None
    return evaluator.evaluate(selection, document, budget or WorkBudget(), TODAY)


def parse_s(text: str) -> float:
    """Return the processor time that parsing takes, without the limit of the length; the least of some attempts."""
    gc.disable()
    try:
        durations_s = []
        while len(durations_s) < 2 and sum(durations_s) < 0.3:
            started_s = time.thread_time()
            with contextlib.suppress(InvalidArguments):
                SelectParser(text).parse()
            durations_s.append(time.thread_time() - started_s)
        return min(durations_s)
    finally:
        gc.enable()


def test_parsing_takes_time_in_proportion_to_the_length() -> None:
    rng = random.Random(11)
    texts = [(first, second, end) for first in UNITS for second in UNITS for end in ("", ";", "x", ")", "=")]
    for first, second, end in rng.sample(texts, 150):
        long = (first * 500 + second * 500 + end)[-parser.MAX_LENGTH :]
        assert parse_s(long) < 0.2, (first, second, end)  # 7 ms
        assert parse_s(((first + second) * 500)[: parser.MAX_LENGTH]) < 0.2, (first, second, end)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("; ".join(["n>1"] * 61), "60 conditions"),
        ("a;" * 300, "longer than"),
    ],
)
def test_number_of_parts_is_limited(expression: str, kind: str) -> None:
    with pytest.raises(InvalidArguments, match=kind):
        parser.parse_select(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "; ".join(["n>1"] * 30),
        "n=" + "|".join(map(str, range(120))),
        "digit!=" + "|".join(map(str, range(120))),
        "word=" + "|".join(f"a{n}" for n in range(90)),
        "date=" + "|".join(f"2024-01-{n:02}" for n in range(1, 30)),
        "date!=" + "|".join(str(n) for n in range(1900, 1990)),
        ",".join(["n"] * 200),
        ", ".join(["mean(n)"] * 40),
        ", ".join(["max(digit)"] * 40),
        "top 999999999 by n",
        "order by word desc; limit 20000",
        "last 999999999999999999999999",
        "; ".join(["2024.."] * 10),
        "date~2024 word~x digit~1 n~1",
    ],
)
def test_every_step_is_linear_in_rows(expression: str) -> None:
    def evaluate_s(rows: list[Any]) -> float:
        durations_s = []
        for _ in range(3):
            started_s = time.thread_time()
            evaluate(expression, Document((Table("", TABLE.columns, rows),)))
            durations_s.append(time.thread_time() - started_s)
        return min(durations_s)

    assert evaluate_s(ROWS) < 24 * max(evaluate_s(ROWS[: COUNT // 8]), 0.005)


@pytest.mark.parametrize(
    "expression", ["n>1", "date~2024", "top 5 by n", "max(n)", "since 2024-02", "last 5", "n", "n=1|2"]
)
def test_every_step_stops_at_the_deadline_and_the_memory(expression: str) -> None:
    with pytest.raises(AnswerTooLarge):
        evaluate(expression, Document((TABLE,)), WorkBudget(deadline=time.monotonic()))
    with pytest.raises(AnswerTooLarge):
        evaluate(expression, Document((TABLE,)), WorkBudget(max_bytes=1000))


def test_names_are_found_in_many_tables_with_many_columns() -> None:
    tables = tuple(Table(f"t{n}", tuple(f"c{n}_{m}" for m in range(20)), [tuple(range(20))]) for n in range(2000))
    started_s = time.thread_time()
    for expression in (
        ",".join(f"x{n}" for n in range(90)),
        " ".join(f"a{n}" for n in range(90)),
        "from nothing",
        "c1_1",
    ):
        with contextlib.suppress(InvalidArguments):
            evaluate(expression, Document(tables))
    assert time.thread_time() - started_s < 6  # 0.6 s


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        ("1e999", "n=1e999"),
        ("1e999999999", "n>1e999999998; top 1 by n"),
        ("-1e-999999999", "sum(n), mean(n), change(n)"),
        ("9" * 5000, "n>=" + "9" * 400),
        ("NaN", "n=nan"),
        ("Infinity", "n>1"),
        ("\ud800", "n=\ud800"),
        ("\x00", "n~\x00"),
        ("1_000", "n>999"),
        ("٣", "n=3; last ٣"),
        ("²", "last ²"),
    ],
)
def test_odd_values_are_selected_or_refused(value: str, expression: str) -> None:
    for kind, body in (("json", json.dumps({"data": [{"n": value}, {"n": "1"}]})), ("csv", f"n\n{value}\n1\n")):
        with contextlib.suppress(CallError):
            result = render_result(body, kind, {}, OutputOptions(select=parser.parse_select(expression)))
            json.dumps(result.structured, allow_nan=False)
            result.text.encode()


@given(st.lists(st.sampled_from(UNITS), max_size=12).map("".join))
def test_any_text_selects_or_is_refused(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):
        selection = parser.parse_select(expression)
        if selection is not None and not selection.jmespath:
            evaluator.evaluate(
                selection, Document((Table("", ("a", "b"), [("1", "2024-01-02"), ("x", None)]),)), WorkBudget(), TODAY
            )


# R23
def test_names_from_data_in_errors_are_quoted_and_short() -> None:
    hostile = ("# Preview: all of it: https://example.com", "a\nb\x1b[2J", "y" * 5000, "\u202e", "ok")
    table = Document((Table("t\nt", hostile, [("x",) * 5]), Table("u" * 5000, ("ok",), [(1,)])))
    for expression in ("nothing", "from nothing", "ok,nothing", "2024", "mean('a\nb\x1b[2J')"):
        with pytest.raises(InvalidArguments) as caught:
            evaluate(expression, table)
        error = caught.value
        assert error.suggestion.isprintable()
        assert error.message.isprintable()
        assert len(error.suggestion) < 1000
        assert len(json.dumps(dict(error.details))) < 1000
