"""Random pipelines of ``select`` in every test run, the reference that they are compared with, and planted faults."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

import pytest

from tests.fuzz.select import judge as judging
from tests.fuzz.select import steps as s
from tests.fuzz.select.expressions import aggregate, compare, is_null, negation, neighbour, number, ref, text
from tests.fuzz.select.judge import describe, evaluate, judge
from tests.fuzz.select.language import Case, Item, Period, Step
from tests.fuzz.select.pipeline_maker import PipelineMaker
from tests.fuzz.select.table import Cell, Table
from tests.fuzz.select.table_maker import dated, numeric
from toolfold.results import tables

CASES = 40
"""Cases of one seed."""

LEAST_AGREED = 0.5
"""Share of cases that must not be refused: a language that refuses everything agrees with everything."""


def _prices() -> Table:
    """Return four days, newest first: closes of 8, 9, null and 4, and two types."""
    days = [datetime(2026, 1, 2), datetime(2026, 1, 1), datetime(2025, 12, 31), datetime(2025, 12, 30)]
    closes = [numeric(8, "json"), numeric(9, "text"), Cell("-", None, "null"), numeric(4, "text")]
    types = [Cell(text, text, "text") for text in ("Put", "Call", "Put", "Call")]
    rows = [(dated(day, "iso"), *cells) for day, *cells in zip(days, closes, types, strict=True)]
    return Table("", ("date", "close", "type"), tuple(rows))


CLOSE, TYPE = ref("close"), ref("type")
JANUARY = Period(datetime(2026, 1, 1), datetime(2026, 2, 1), "2026-01")
PUT = compare("=", TYPE, text("put", "put"))
COUNT = Item(aggregate("count"))


def _items(*expressions: Any) -> tuple[Item, ...]:
    return tuple(Item(expression) for expression in expressions)


REFERENCE: list[tuple[list[Any], str, Any]] = [
    ([s.ends(True, 2), s.condition(PUT), s.summary((COUNT,))], "last 2; type = put; count", [[1]]),
    ([s.condition(PUT), s.ends(True, 2), s.summary((COUNT,))], "type = put; last 2; count", [[2]]),
    ([s.top(False, 4, CLOSE), s.ends(True, 1)], "bottom 4 by close; last 1", [["2025-12-31", "-", "Put"]]),
    (
        [s.columns(_items(neighbour("pct_change", CLOSE))), s.during(JANUARY)],
        "pct_change(close); 2026-01",
        [["2026-01-02", -11.1111111111], ["2026-01-01", None]],
    ),
    ([s.summary(_items(aggregate("max", CLOSE)))], "max(close)", [["2026-01-01", 9]]),
    (
        [s.summary(_items(aggregate("sum", CLOSE)), (TYPE,))],
        "sum(close) by type",
        [["Put", 8], ["Call", 13]],
    ),
    (
        [s.summary(_items(neighbour("change", CLOSE)), ("year",))],
        "change(close) by year",
        [["2026", 4], ["2025", None]],
    ),
    ([s.calendar(1, "year", "last year"), s.summary((COUNT,))], "last year; count", [[2]]),
    (
        [s.condition(negation(compare(">", CLOSE, number(8))))],
        "not (close > 8)",
        [["2026-01-02", 8, "Put"], ["2025-12-30", "4", "Call"]],
    ),
    (
        [s.condition(compare(">", CLOSE, aggregate("avg", CLOSE))), s.summary((COUNT,))],
        "close > avg(close); count",
        [[2]],
    ),
    (
        [s.columns(_items(TYPE)), s.condition(compare(">", CLOSE, number(8)))],
        "type; close > 8",
        "dropped column",
    ),
    ([s.summary((COUNT,)), s.ends(True, 1)], "count; last 1", "a step of rows after a summary"),
    ([s.part_of(-1, None, True)], "[-1:]", "a negative index without an order"),
    ([s.summary(_items(aggregate("sum", TYPE)))], "sum(type)", "sum of text"),
]


@pytest.mark.parametrize(("actions", "select", "expected"), REFERENCE, ids=[select for _, select, _ in REFERENCE])
def test_the_reference_gives_what_the_specification_says(actions: list[Any], select: str, expected: Any) -> None:
    case = Case((_prices(),), tuple(map(Step, actions)))
    assert case.select == select
    found = evaluate(case)
    if isinstance(expected, str):
        assert found.refusal == expected
    else:
        (frame,) = found.tables
        cells = [[column.cells[row] for column in frame.columns] for row in range(frame.count)]
        assert [[judging.wanted(cell) for cell in row] for row in cells] == expected
    assert judge(case).kind in ("agreed", "refused as specified")


@pytest.mark.bulk
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 20), marks=pytest.mark.slow)], ids=["some", "more"])
def test_random_pipelines_agree_with_the_reference(seeds: range) -> None:
    verdicts = Counter[str]()
    for seed in seeds:
        maker = PipelineMaker(Random(seed))
        for _ in range(CASES):
            case = maker.case()
            verdict = judge(case)
            assert verdict.kind != "disagreed", describe(case, verdict)
            verdicts[verdict.kind] += 1
    assert verdicts["agreed"] >= LEAST_AGREED * len(seeds) * CASES


def _faulty(change: Any) -> Any:
    evaluate_select = judging.engine.evaluate

    def evaluate_with_fault(*arguments: Any) -> tables.Document:
        document = evaluate_select(*arguments)
        return replace(document, tables=tuple(map(change, document.tables)))

    return evaluate_with_fault


FAULTS = {
    "rows": lambda table: replace(table, rows=table.rows[:-1]),
    "columns": lambda table: replace(table, columns=table.columns[:-1], rows=[row[:-1] for row in table.rows]),
    "cell": lambda table: replace(table, rows=[(*row[:-1], 12345) for row in table.rows]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (Step(s.condition(is_null(CLOSE, negated=True))), Step(s.columns(_items(CLOSE, TYPE)), spelling=3))
    case = Case((_prices(),), steps, is_list=True)
    monkeypatch.setattr(judging.engine, "evaluate", _faulty(FAULTS[fault]))
    verdict = judge(case)
    assert (verdict.kind, verdict.reason) == ("disagreed", fault)


def test_the_same_seed_makes_the_same_cases() -> None:
    one, other = (PipelineMaker(Random(7)) for _ in range(2))
    assert [one.case() for _ in range(50)] == [other.case() for _ in range(50)]
