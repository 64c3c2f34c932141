"""Find out which part of a series an expression in JMESPath requests: its bounds on dates, and how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results import values
from toolfold.results.coverage import Requested
from toolfold.results.select import jmespath_query
from toolfold.results.select.selection import Slice
from toolfold.results.select.sql_names import is_partial_date
from toolfold.results.tables import DATE_NAMES, Document, date_column

_SUMMARIES = frozenset(("avg", "length", "max", "max_by", "min", "min_by", "reverse", "sort", "sort_by", "sum"))
"""Functions whose value depends on how many rows there are."""

_LOW, _HIGH = ("gt", "gte"), ("lt", "lte")
_REVERSED = {"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}

Node = Mapping[str, Any]


def requested_by_jmespath(expression: str, document: Document) -> Requested:
    """Return what an expression requests of the series in a document.

    Raises:
        InvalidArguments: it is not JMESPath.
    """
    nodes = list(_nodes(jmespath_query.parse(expression)))
    tables = {normalize(table.name.rpartition(".")[2]): table.name for table in document.tables}
    fields = {node["value"] for node in nodes if node["type"] == "field"}
    filters = [node["children"][2] for node in nodes if node["type"] == "filter_projection"]
    bounds = [bound for one in filters for bound in _bounds(one, _date_names(document))]
    functions = frozenset(node["value"] for node in nodes if node["type"] == "function_expression")
    count, is_oldest_first = _rows(nodes, tables, document)
    return Requested(
        low=min((low for low, _ in filter(None, bounds) if low), default=""),
        high=max((high for _, high in filter(None, bounds) if high), default=""),
        row_count=count,
        is_oldest_first=is_oldest_first,
        is_summary=not functions.isdisjoint(_SUMMARIES),
        is_filtered=None in bounds,
        functions=frozenset(name.replace("length", "count") for name in functions & _SUMMARIES),
        columns=frozenset(name.lower() for name in fields),
        table=next((tables[key] for name in fields if (key := normalize(name)) in tables and key), ""),
    )


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node["children"]:
        if isinstance(child, Mapping):
            yield from _nodes(child)


def _date_names(document: Document) -> set[str]:
    names = set(DATE_NAMES)
    for table in document.tables:
        if (index := date_column(table)) is not None:
            names.add(normalize(table.columns[index]))
    return names


def _bounds(condition: Node, dates: set[str]) -> Iterator[tuple[str, str] | None]:
    """Yield the bounds on dates in a condition; None for every other comparison."""
    if condition["type"] in ("and_expression", "or_expression"):
        for child in condition["children"]:
            yield from _bounds(child, dates)
        return
    operator = "eq" if condition.get("value") in ("starts_with", "contains") else condition.get("value")
    left, right = condition["children"] if len(condition["children"]) == 2 else ({}, {})
    if left.get("type") == "literal":
        left, right, operator = right, left, _REVERSED.get(str(operator), operator)
    text = right.get("value")
    is_dated = left.get("type") == "field" and normalize(left["value"]) in dates and right.get("type") == "literal"
    if not is_dated or not isinstance(text, str) or not (values.is_date(text) or is_partial_date(text)):
        yield None
    elif operator in _LOW:
        yield text, ""
    else:
        yield ("", text) if operator in _HIGH else (text, text) if operator == "eq" else None


def _rows(nodes: list[Node], tables: Mapping[str, str], document: Document) -> tuple[int, bool]:
    """Return how many rows of a table are requested, and whether these are the oldest."""
    found = [
        _count(node["children"][1])
        for node in nodes
        if node["type"] == "index_expression" and _is_table(node["children"][0], tables)
    ]
    count, from_end = max(found, default=(0, False))
    lists = [
        table.column(table.columns[index]) for table in document.tables if (index := date_column(table)) is not None
    ]
    newest_first = any(dates and str(dates[0]) > str(dates[-1]) for dates in lists)
    return count, bool(count) and from_end == newest_first


def _is_table(node: Node, tables: Mapping[str, str]) -> bool:
    if node["type"] == "field":
        return normalize(node["value"]) in tables or node["value"].lower() in jmespath_query.ROOT_NAMES
    return node["type"] == "identity" or (node["type"] == "flatten" and _is_table(node["children"][0], tables))


def _count(place: Node) -> tuple[int, bool]:
    if place["type"] == "index":
        return (place["value"] + 1, False) if place["value"] >= 0 else (-place["value"], True)
    start, stop, step = place["children"]
    return (1, True) if step is not None and step < 0 else Slice(start, stop).needed_rows
