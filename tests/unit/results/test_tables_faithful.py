"""Shaping loses nothing and adds nothing: every cell of every tool's answer, and of generated answers."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.example_responses import ONE_RESPONSE_PER_TOOL, RESPONSE_IDS, example_response
from tests.support.examples import each_tenth
from tests.support.rendering import render_result
from tests.unit.results.select.outcomes import select_from
from toolfold.budget import WorkBudget
from toolfold.results import render, tables
from toolfold.results.output import OutputOptions
from toolfold.results.select import grammar

NOTHING = {"", "None", "null", "n/a", "N/A", ".", "-", "--", "NaN", "nan"}
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?%?")
TIME = re.compile(r"\d{4}-?\d\d-?\d\d([ T][\d:.]+)?")


def canonical(value: Any) -> Any:
    """Return what a cell means in any spelling: a number, a point in time, a text, or nothing."""
    if value is None or value in NOTHING:
        return None
    if isinstance(value, bool):
        return value
    text = repr(value) if isinstance(value, float) else str(value)
    if NUMBER.fullmatch(text):
        return Decimal(text.removesuffix("%"))
    return re.sub(r"[-: T]", "", text) if TIME.fullmatch(text) else text


def scalars_of(value: Any) -> Iterator[Any]:
    """All scalars of a JSON value."""
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars_of(item)
    else:
        yield value


def keys_of(value: Any) -> Iterator[list[str]]:
    """The keys of every object of a JSON value."""
    if isinstance(value, dict):
        yield list(value)
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from keys_of(item)


def date_keys(value: Any) -> Iterator[str]:
    """The keys of every object that has dates for keys."""
    for keys in keys_of(value):
        if all(re.match(r"\d{4}-\d\d-\d\d", key) for key in keys):
            yield from keys


def row_keys(value: Any) -> Iterator[str]:
    """The keys of every object of several records with the same names, which are rows."""
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(value, dict) and len(members) > 1 and all(isinstance(one, dict) and one for one in members):
        cells = [cell for one in members for cell in one.values()]
        are_series = all(re.match(r"\d{4}-\d\d-\d\d", key) for key in members[0])
        if len({frozenset(one) for one in members}) == 1 and not are_series and not any(map(is_part, cells)):
            yield from value
    for member in members:
        yield from row_keys(member)


def is_part(value: Any) -> bool:
    return isinstance(value, list | dict)


def everything(document: tables.Document) -> list[Any]:
    return [document.metadata, [list(row) for table in document.tables for row in table.rows]]


def cells_of(document: tables.Document) -> Iterator[Any]:
    """All scalars that are shown, the cells of every table among them."""
    yield from scalars_of(everything(document))


def places(document: tables.Document) -> Iterator[str]:
    """The words that say where a cell stands: names of tables and columns, and keys."""
    for table in document.tables:
        yield table.name
        yield from table.columns
    for keys in keys_of(everything(document)):
        yield from keys


def counted(found: Iterator[Any]) -> Counter[Any]:
    return Counter(meant for meant in map(canonical, found) if meant is not None)


def csv_rows(text: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row]


@pytest.mark.bulk
@pytest.mark.parametrize("name", each_tenth(RESPONSE_IDS))
def test_every_cell_equals_what_the_upstream_sent(name: str) -> None:
    answer = example_response(name)
    document = tables.parse_tables(answer.body, answer.kind, answer.tool.answer, WorkBudget())
    if answer.kind == "csv":
        header, *rows = csv_rows(answer.body)
        if document.tables:
            (table,) = document.tables
            assert len(table.columns) == len(header)
            shown = [list(row) for row in table.rows]
        else:
            shown = [list(document.metadata.values())]
        assert [[canonical(cell) for cell in row] for row in shown] == [
            [canonical(cell) for cell in row] for row in rows
        ]
        return
    upstream = json.loads(answer.body)
    found = counted(cells_of(document))
    expected = sum((counted(part(upstream)) for part in (scalars_of, date_keys, row_keys)), Counter())
    if answer.tool.answer["kind"] == "names":
        expected += counted(iter(upstream))
    # Series that share their dates share a column of them.
    missing = expected - found
    assert not found - expected
    assert all(re.fullmatch(r"\d{8}.*", str(cell)) for cell in missing)
    dates = {canonical(cell) for table in document.tables for row in table.rows for cell in row[:1]}
    assert set(missing) <= dates


@pytest.mark.parametrize("name", each_tenth(ONE_RESPONSE_PER_TOOL))
def test_text_and_selected_columns_have_the_same_cells(name: str) -> None:
    answer = example_response(name)
    document = tables.parse_tables(answer.body, answer.kind, answer.tool.answer, WorkBudget())
    for table in document.tables:
        columns = ", ".join('"' + column.replace('"', '""') + '"' for column in table.columns)
        select = f'from "{table.name}"; {columns}' if table.name else columns
        if table.rows and len(select) < grammar.MAX_CHARS:
            found = select_from(document, select).tables[0]
            assert (found.columns, list(map(tuple, found.rows))) == (table.columns, list(map(tuple, table.rows)))
        text = render.table_to_text(table)
        if text.startswith("["):
            assert [json.loads(line) for line in text.splitlines()] == [list(table.columns), *map(list, table.rows)]
            continue
        header, *rows = csv_rows(text)
        assert header == list(table.columns)
        assert [[canonical(cell) for cell in row] for row in rows] == [
            [canonical(cell) for cell in row] for row in table.rows
        ]
        for column in ("open", "close", "volume", "strike", "totalRevenue", "reportedEPS"):
            if column in table.columns:
                assert all(cell is None or isinstance(cell, int | float) for cell in table.column(column))


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\n", exclude_categories=("Cs", "Cc")), min_size=1)
cells = st.one_of(
    st.sampled_from(
        ["None", ".", "-", "", "n/a", "null", "NaN", "1e400", "0.10", "007", "1,5", "[1]", '"', "true", "1.2%"]
    ),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.integers().map(str),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.strftime("%Y%m%dT%H%M%S")),
    names,
)


@given(st.lists(names, min_size=1, max_size=5, unique=True), st.data())
def test_any_csv_keeps_every_cell(header: list[str], data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from([cells, st.integers().map(str), st.just("."), cells])) for _ in header]
    rows = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=6))
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    table = tables.parse_tables(out.getvalue(), "csv", {}, WorkBudget()).tables[0]
    assert len(set(table.columns)) == len(header)
    assert len(table.rows) == len(rows)
    for shown, sent in zip(table.rows, rows, strict=True):
        for one, other in zip(shown, sent, strict=True):
            assert canonical(one) == canonical(other.strip() if isinstance(one, int | float) else other)


scalars = st.one_of(cells, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
keys = st.one_of(names, st.dates().map(str), st.datetimes().map(str), st.sampled_from(["date", "value", "1. open"]))


def objects(inner: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that are like records, and objects that are like series."""
    dated = st.dictionaries(st.dates().map(str), inner, min_size=least, max_size=4)
    return st.dictionaries(keys, inner, min_size=least, max_size=4) | dated


trees = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | objects(inner), max_leaves=20)


def unpadded(value: Any) -> Any:
    """A text that is a number but for the blanks around it, which may be shown as that number."""
    number = value.strip(" \t") if isinstance(value, str) else ""
    return number if NUMBER.fullmatch(number) else value


@given(objects(trees, 1))
def test_any_json_keeps_every_leaf(tree: dict[str, Any]) -> None:
    document = tables.parse_tables(json.dumps(tree), "json", {}, WorkBudget())
    sent, found = counted(map(unpadded, scalars_of(tree))), counted(map(unpadded, cells_of(document)))
    dates = {canonical(date) for date in date_keys(tree)}
    assert not sent - found
    assert set(found - sent) <= dates | {canonical(unpadded(key)) for key in row_keys(tree)}
    named = "\n".join(re.sub(r"[-: T]", "", place) for place in places(document))
    assert all(date in found or re.sub(r"[-: T]", "", date) in named for date in dates)
    json.dumps(render.to_structured(document), allow_nan=False)


@given(trees)
def test_raw_json_is_unchanged(tree: Any) -> None:
    shown = render_result(json.dumps(tree), "json", {}, OutputOptions(raw_by="datatype", max_tokens=100_000))
    assert shown.structured["result"] == tree
    assert json.loads(shown.text) == tree
