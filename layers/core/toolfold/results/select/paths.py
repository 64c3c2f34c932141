"""Columns for paths into the cells of a table: ``user.login`` where the cells of ``user`` are objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.fuzzy import normalize
from toolfold.results import limits
from toolfold.results.tables import Table

_PATH = re.compile(r"""'(?:[^']|'')*'|["`](?P<quoted>[^"`]+)["`]|(?P<path>[^\W\d]\w*(?:\.\w+)+)""")
"""A path, outside of texts in quotation marks."""

_MAX_PATHS, _MAX_LISTED = 20, 40
"""Paths of one text that are read, and that an error lists."""

_LOOKED_AT, _MAX_DEPTH = 20, 3
"""Rows whose objects say which paths there are, and the most keys of one that is listed."""


def with_paths(table: Table, text: str, budget: WorkBudget) -> Table:
    """Return a table with a column for each path in ``text`` that leads to a value; they count as ``nested``."""
    found: dict[str, list[Any]] = {}
    for match in _PATH.finditer(text):
        path, index = _column_of(table, match["quoted"] or match["path"] or "")
        if index is None or path in found or len(found) == _MAX_PATHS:
            continue
        rest = path.split(".")[1:]
        cells = [_within(row[index], rest) for row in budget.checked(table.rows)]
        if any(cell is not None for cell in cells):
            found[path] = cells
    if not found:
        return table
    budget.reserve(limits.rows_size(len(table.rows), len(found)))
    rows = [(*row, *cells) for row, cells in zip(table.rows, zip(*found.values(), strict=True), strict=True)]
    origin = table.origin and table.origin._replace(columns=[*table.origin.columns, *[None] * len(found)])
    columns = (*table.columns, *found)
    return replace(table, columns=columns, rows=rows, types=dict(table.types), origin=origin, nested=len(found))


def known_names(table: Table, columns: Iterable[str]) -> list[str]:
    """Return columns as an error lists them: those of objects with the paths to what is in these."""
    names: dict[str, None] = {}
    for name in columns:
        cells = [row[table.columns.index(name)] for row in table.rows[:_LOOKED_AT]] if name in table.columns else []
        paths = dict.fromkeys(_paths_in(name, cells, _MAX_DEPTH))
        names |= paths if 0 < len(paths) <= _MAX_LISTED else {name: None}
    return list(names)


def _paths_in(path: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _paths_in(path, item, depth)
    elif isinstance(value, dict) and depth:
        for key, item in value.items():
            yield from _paths_in(f"{path}.{key}", item, depth - 1)
    elif value is not None:
        yield path


def _column_of(table: Table, path: str) -> tuple[str, int | None]:
    """Return a path without the name of its table, and the column that it begins with; None: there is no such one."""
    names = {normalize(name): index for index, name in reversed(list(enumerate(table.columns)))}
    parts = path.split(".")
    for start in range(len(parts) - 1):
        if ".".join(parts[start:]) in table.columns:
            return path, None
        if (index := names.get(normalize(parts[start]))) is not None:
            return ".".join(parts[start:]), index
    return path, None


def _within(cell: Any, path: Sequence[str]) -> Any:
    """Return what a path leads to; of a list of objects the values in each, and None where there is nothing."""
    for at, part in enumerate(path):
        if isinstance(cell, list):
            return [value for item in cell if (value := _within(item, path[at:])) is not None]
        cell = cell.get(part) if isinstance(cell, dict) else None
    return cell
