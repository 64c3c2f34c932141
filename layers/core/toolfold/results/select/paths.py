"""Columns for paths into the cells of a table: ``user.login`` where the cells of ``user`` are objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.fuzzy import normalize
from toolfold.results import limits
from toolfold.results.tables import Table

_PATH = re.compile(r"""'(?:[^']|'')*'|["`](?P<quoted>[^"`]+)["`]|(?P<path>[^\W\d]\w*(?:\.\w+)+)""")
"""A path, outside of texts in quotation marks."""

_LOOKED_AT, _MAX_LISTED, _MAX_DEPTH = 20, 40, 3
"""Rows whose objects say which paths there are; the most paths of one column that an error lists, and their length."""


def with_paths(table: Table, text: str, budget: WorkBudget) -> Table:
    """Return a table with a column for each path in ``text`` that leads to a value; they count as ``nested``."""
    written = dict.fromkeys(match["quoted"] or match["path"] or "" for match in _PATH.finditer(text))
    paths = [path for path in written if "." in path]
    places = {normalize(name): index for index, name in reversed(list(enumerate(table.columns)))} if paths else {}
    found: dict[str, list[Any]] = {}
    for path, index in (_column_of(table, places, path) for path in paths):
        budget.reserve(limits.list_size(len(table.rows)))
        rest = path.split(".")[1:]
        cells = [] if index is None else [_within(row[index], rest) for row in budget.checked(table.rows)]
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
    places = {name: index for index, name in enumerate(table.columns)}
    for name in columns:
        cells = [row[places[name]] for row in table.rows[:_LOOKED_AT]] if name in places else []
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


def _column_of(table: Table, places: Mapping[str, int], path: str) -> tuple[str, int | None]:
    """Return a path without the name of its table, and the column that it begins with; None: there is no such one."""
    parts = path.split(".")
    for start in range(len(parts) - 1):
        if ".".join(parts[start:]) in table.columns:
            return path, None
        if (index := places.get(normalize(parts[start]))) is not None:
            return ".".join(parts[start:]), index
    return path, None


def _within(cell: Any, path: Sequence[str]) -> Any:
    """Return what a path leads to; of a list of objects the values in each, and None where there is nothing."""
    for at, part in enumerate(path):
        if isinstance(cell, list):
            return [value for item in cell if (value := _within(item, path[at:])) is not None]
        cell = cell.get(part) if isinstance(cell, dict) else None
    return cell
