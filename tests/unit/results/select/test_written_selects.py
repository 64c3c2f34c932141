"""``select`` as models guess it, as the reference page and the explorer write it, and as the fuzzer found it wrong."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.results.select.answers import ANSWERS, document
from tests.unit.results.select.guesses import GUESSES
from tests.unit.results.select.outcomes import outcome, select_from, selected, written
from toolfold.errors import InvalidSelect
from toolfold.meta_tools.definitions import SELECT
from toolfold.results import render
from toolfold.results.select import grammar
from toolfold.results.select.names import EXAMPLES
from toolfold.results.tables import Document, Table


# F2, F3, F5
@pytest.mark.parametrize(("kind", "name", "guess", "expected"), GUESSES)
def test_guess_is_right_or_its_error_leads_to_what_is_right(kind: str, name: str, guess: Any, expected: str) -> None:
    found = outcome(guess, ANSWERS[name])
    assert (found.error is not None) == (kind in ("error", "lists")), found.said
    if kind == "lists":
        assert expected in found.said
    elif expected == "everything":
        assert found.document == document(name)
    else:
        if expected.startswith("= ") and expected != "= ":  # whole rows keep all columns
            assert {table.columns for table in found.document.tables} <= {
                table.columns for table in document(name).tables
            }
        right = render.dumps_compact(json.loads(expected)) if expected[0] in "{[" else expected
        assert written(found.document, right) == right, found.said


PAGE = Path("docs/reference/select.md")
KINDS = {"daily prices": "daily", "an option chain": "options", "an answer with several tables": "statements"}


def examples() -> list[tuple[str, str]]:
    found, answer = [], ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"\| `select` on (.+?) \|", line):
            answer = KINDS[heading[1]]
        elif line.startswith("| `"):
            cell = line.split(" | ")[0].replace("\\|", "|")
            found += [(answer, example) for example in re.findall(r"`([^`]+)`", cell)]
    return found


@pytest.mark.parametrize(("answer", "example"), examples())
def test_example_returns_rows(answer: str, example: str) -> None:
    found = selected(answer, example)
    assert found.metadata or any(table.rows for table in found.tables)


def test_page_states_the_limits() -> None:
    page = PAGE.read_text()
    assert f"{grammar.MAX_CHARS:,} characters and {grammar.MAX_STEPS} steps" in page
    assert page.count("\n") <= 120


def test_page_has_the_grammar_as_it_stands_in_the_code() -> None:
    shown = PAGE.read_text().partition("```text\n")[2].partition("```")[0].strip()
    assert shown in inspect.cleandoc(grammar.__doc__ or "")
    assert 15 <= len(re.findall(r"^\w+ +=", shown, re.MULTILINE)) <= 30


# F2
@pytest.mark.parametrize("example", re.findall(r'"([^"]+)"', f"{EXAMPLES} {SELECT}"))
def test_examples_of_errors_and_of_the_description_are_read(example: str) -> None:
    assert grammar.parse_select(example) is not None


WRITTEN: dict[str, Any] = json.loads(Path("tests/fixtures/explorer/selects.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", WRITTEN["selects"], ids=lambda case: case["select"])
def test_select_of_the_explorer_returns_what_was_chosen(case: dict[str, Any]) -> None:
    assert written(selected(case["answer"], case["select"]), " ") == case["rows"]


@pytest.mark.parametrize(("name", "quoted"), WRITTEN["names"], ids=[name for name, _ in WRITTEN["names"]])
def test_quoted_name_is_a_column_in_every_part(name: str, quoted: str) -> None:
    rows = (("2026-01-13", 1, 2), ("2026-01-12", 3, 4))
    table = Table("", ("timestamp", name, "other"), rows)
    expected: dict[str, list[tuple[Any, ...]]] = {
        quoted: [("2026-01-13", 1), ("2026-01-12", 3)],
        f"{quoted} > 2; other": [("2026-01-12", 4)],
        f"sum(other) by {quoted}; limit 1": [(1, 2)],
    }
    for select, found in expected.items():
        answer = select_from(Document((table,), None), select)
        assert [tuple(row[-2:]) for row in answer.tables[0].rows] == found, select


_DAYS = {"date": ["2025-02-02", "2025-02-01", "2024-02-01"], "close": [6, 3, 2]}
_CITIES = {"t": ["New York", "Über"]}
_YEARS = {"date": ["2025-02-01"], "year": [33.09], "x": [5]}
_TEXTS = {"t": ["São x", "it's", '50% "q"']}


def _select(columns: dict[str, list[Any]], select: str) -> Document:
    table = Table("", tuple(columns), list(zip(*columns.values(), strict=True)))
    return select_from(Document((table,)), select)


@pytest.mark.parametrize(
    ("columns", "select", "names", "rows"),
    [
        # cells, nulls and dates
        ({"x": ["$5"]}, "x", ["x"], [("$5",)]),
        ({"a b": [1]}, '"a b"', ["a b"], [(1,)]),
        ({"t": ["", "N/A", "a"]}, "t != 'b'", ["t"], [("a",)]),
        ({"x": ["12*", 5, "N/A"]}, "x = '5'", ["x"], [(5,)]),
        ({"f": [True, ""]}, "count(f)", ["count(f)"], [(1,)]),
        ({"d": ["20250102", "20250101"]}, "last 1", ["d"], [("20250102",)]),
        ({"d": ["N/A", "2025-01-01", "2025-01-02"]}, "last 1", ["d"], [("2025-01-02",)]),
        ({"x": ["8.3B"]}, "x = 8300000000", ["x"], [("8.3B",)]),
        ({"d": ["-", "2025-01-02T10:00:00"]}, "last 5 days; count", ["count"], [(1,)]),
        # what is shown is what is compared
        ({"x": [3], "y": [7]}, "x / y as z; z = 0.428571428571", ["z"], [(0.428571428571,)]),
        ({"x": [13.4] * 7}, "x = avg(x); count", ["count"], [(7,)]),
        ({"x": [90.1] * 3}, "x > avg(x); count", ["count"], [(0,)]),
        (_DAYS, "pct_change(close) as p; p > 75%", ["date", "p"], [("2025-02-02", 100)]),
        (_DAYS, "pct_change(close) as p; p >= -5%; count", ["count"], [(2,)]),
        # names
        ({"x": [2], "y": [3]}, "x as a, y as b", ["a", "b"], [(2, 3)]),
        (_DAYS, "last 1; close as price", ["date", "price"], [("2025-02-02", 6)]),
        ({"x": [2]}, "x, -x; x = 2", ["x", "-x"], [(2, -2)]),
        ({"x": [2]}, "x * x as y, x; x * x", ["x * x"], [(4,)]),
        ({"1": [2, 3], "x": [7, 6]}, "SELECT x FROM data ORDER BY 1 LIMIT 1", ["x"], [(6,)]),
        ({"1": [2], "x": [7]}, "x - 1 as y", ["y"], [(6,)]),
        ({"and": [1], "x": [2]}, "x > 1 and x < 3", ["and", "x"], [(1, 2)]),
        ({"date": ["2026-01-01"], "10year": [739]}, "year < 2025", ["date", "10year"], []),
        ({"from": [1]}, 'columns: "from"', ["from"], [(1,)]),
        ({"x": [1, 2]}, 'SELECT sum(x) FROM data; "sum(x)"', ["sum(x)"], [(3,)]),
        # texts
        (_TEXTS, "t contains '''s'", ["t"], [("it's",)]),
        (_TEXTS, "t starts with 'SÃO'", ["t"], [("São x",)]),
        (_CITIES, "t not like 'ü!%' escape '!'", ["t"], [("New York",), ("Über",)]),
        (_CITIES, "t not like 'n%'", ["t"], [("Über",)]),
        (_CITIES, "t not ilike 'n%'", ["t"], [("Über",)]),
        (_CITIES, "t ilike 'Ü%'", ["t"], [("Über",)]),
        (_CITIES, "t not contains 'ü'", ["t"], [("New York",)]),
        (_CITIES, "SELECT t FROM data WHERE t NOT ILIKE 'n%'", ["t"], [("Über",)]),
        (_CITIES, "SELECT t FROM data WHERE t NOT LIKE 'N!%' ESCAPE '!'", ["t"], [("New York",), ("Über",)]),
        ({"t": ["a", "B"]}, "max(t)", ["max(t)"], [("a",)]),
        # amounts and signs
        ({"x": [1500, 3]}, "(x > 1,000)", ["x"], [(1500,)]),
        ({"and": [0], "x": [5]}, "not (x between 6 and 7)", ["and", "x"], [(0, 5)]),
        # groups
        (_DAYS, "lag(close) by year", ["year", "lag(close)"], [(2025, 2), (2024, None)]),
        (_DAYS, "count as n by year; count", ["count"], [(2,)]),
        (_DAYS, "(last(close) / first(close)) - 1 per year", ["year", "(last(close) / first(close)) - 1"],
         [(2025, 1), (2024, 0)]),
        (_DAYS, "close > 9; max(close)", ["date", "max(close)"], [(None, None)]),
        (_DAYS, "max(close); year(date) = 2025", ["date", "max(close)"], [("2025-02-02", 6)]),
        (_DAYS, "order by close; [-1:]", ["date", "close"], [("2025-02-02", 6)]),
        (_DAYS, "SELECT date, close FROM data WHERE close > 1; last 1", ["date", "close"], [("2025-02-02", 6)]),
        (_DAYS, "date as d; last 1; date", ["d"], [("2025-02-02",)]),
        (_DAYS, "distinct date; year(date) as y; last 1", ["date", "y"], [("2025-02-02", 2025)]),
    ],
)  # fmt: skip
def test_answer_is_right(columns: dict[str, list[Any]], select: str, names: list[str], rows: list[Any]) -> None:
    (table,) = _select(columns, select).tables
    assert list(table.columns) == names
    assert [tuple(row) for row in table.rows] == rows


@pytest.mark.parametrize(
    ("columns", "select", "reason"),
    [
        ({"x": ["12*", "5", 7]}, "SELECT x FROM data ORDER BY 1", "not of one kind"),
        ({"x": ["5%", 7, 8], "y": [1, 2, 3]}, "y > 1; SELECT min(x) FROM data", "not of one kind"),
        ({"t": ["a"]}, "t > 2025-01", "not compared with a date"),
        ({"x": [5, 6]}, "x != -5%", 'Write "x != -0.05" or "x != -5"'),
        ({"x": [5]}, "x = true", "not true or false"),
        ({"x": [5], "t": ["a"]}, "avg(x) as m by t; m = true", "not true or false"),
        ({"x": [5]}, "month(x) = 1", "no column of dates"),
        ({"x": [5]}, "count(change())", "change needs a column"),
        ({"x": [5]}, "max(sum(x))", "inside another"),
        ({"date": ["2025-01-01"], "t": ["a"]}, "count by t; year = 2025", "no column year"),
        ({"date": ["2025-01-01"]}, "count by weekday; 2025", "have no dates"),
        ({"date": ["2025-01-01"], "x": [1]}, "* except date; date as d", "an earlier step chose"),
        ({"Close": [1], "close": [2]}, "* except close; close", "an earlier step chose"),
        (_YEARS, '"year" as m; top 1 by "year"', "an earlier step chose"),
        (_YEARS, "x; year > 2024", "an earlier step chose"),
        (_YEARS, "x; sum(x) by year", "an earlier step chose"),
        ({"x": [1], "adjusted_x": [2]}, "x as m, adjusted_x; x", "an earlier step chose"),
        ({"x": [5]}, "x * 10; SELECT x FROM data", "no column x"),
        ({"x": [5, 6]}, "SELECT x FROM data WHERE x > 5; [-1:]", "needs an order"),
        ({"x": [5]}, "{ last 2", "cannot be read"),
        ({"x": [5]}, 'date(datetime("" / 1000))', "cannot be read"),
        ({"10year": [5]}, "year >= 2025", "no column year"),
        ({"x": [5]}, "SELECT x FROM data WHERE x < in.1", "no column in.1"),
    ],
)
def test_select_is_refused(columns: dict[str, list[Any]], select: str, reason: str) -> None:
    with pytest.raises(InvalidSelect) as raised:
        _select(columns, select)
    assert reason in f"{raised.value} {raised.value.suggestion}"
