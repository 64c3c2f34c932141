"""Shorten an answer that is too long: valid data of the same shape, as much of it as fits.

A preview has the first and last rows, all columns, and the number of rows. Where even a few rows are too long, long
texts and inner lists are truncated before more rows are left out; then fields and columns; the last resort is nothing.
An attempt stops as soon as it has more values than can fit: its cost depends on the limit, not on the answer.

What a preview says: how much is left out, where the full text is, and how to ask for less.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from toolfold.budget import WorkBudget
from toolfold.results import tokens, values
from toolfold.results.limits import (
    FEW_FIELDS,
    MAX_PATH_CHARS,
    Allowance,
    Limits,
    TooLong,
    Truncation,
    first_and_last,
    first_part,
)
from toolfold.results.tables import Document, Table
from toolfold.text_safety import escape_unsafe, has_unsafe, quoted_name

_MAX_LINK_SHARE = 3
"""A link that costs more than this fraction of the budget is in the structured data only."""

_MAX_NAME_CHARS = 40
"""Characters of a name in the example: a name from data may be any text, and the line is ours."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")

_ROWS = 20
_FUNCTIONS = ("min", "max", "change")
"""What the examples of a smaller request return: the newest rows, or figures of a column."""

_MAX_CELL_CHARS = 2000
"""Characters of a cell that are counted."""

_FREQUENT_COLUMNS = ("close", "adjusted_close", "value", "price", "totalRevenue", "reportedEPS", "title")
"""Columns that are requested most, for the example of a smaller request."""


class PreviewNotice:
    """The notice of a preview.

    Args:
        token_count: tokens of the full text.
        saved: where the full text was saved, as ``offload.AnswerStore.save`` returns it; may be empty.
        smaller_request: how to ask for less.
        max_tokens: the budget of the answer.
        limit: a sentence about a budget that is less than was requested; empty: it is as requested.
    """

    def __init__(
        self, token_count: int, saved: Mapping[str, Any], smaller_request: str, max_tokens: int, limit: str = ""
    ) -> None:
        self._full = {**saved, "tokens": token_count}
        self._smaller_request, self._limit = smaller_request, limit
        link = saved.get("url") or saved.get("path") or ""
        is_long = tokens.count(link) > max_tokens // _MAX_LINK_SHARE
        self._link = "in structuredContent.preview.full" if link and is_long else escape_unsafe(link)

    def line(self, truncation: Truncation) -> str:
        """Return the notice as one line, placed before the data."""
        size = f"{truncation.rows_shown:,} of {truncation.rows_total:,} rows; " if truncation.rows_total else ""
        full = f"All of it ({self._full['tokens']:,} tokens)"
        where = f"{full}, until {self._full['expires_at']}: {self._link}. " if self._link else f"{full} is too long. "
        limit = f"{self._limit} " if self._limit else ""
        return f"# Preview: {size}left out: {truncation}. {where}{limit}For less: {self._smaller_request}"

    def data(self, truncation: Truncation) -> dict[str, Any]:
        """Return the notice as ``{"rows_shown", "rows_total", "left_out", "full": {…}, "ask_less"}``, and ``limit``."""
        return {
            "rows_shown": truncation.rows_shown,
            "rows_total": truncation.rows_total,
            "left_out": str(truncation),
            "full": self._full,
            "ask_less": self._smaller_request,
            **({"limit": self._limit} if self._limit else {}),
        }


def smaller_requests(document: Document) -> list[str]:
    """Return one or two expressions for ``select`` that are short, name columns of ``document``, and cost little.

    Each as ``select="close; last 20" (about 120 tokens)``; the tokens are those of its answer.
    """
    if not document.tables:
        return [f"select={json.dumps(_fields(document.metadata))}"]
    table = max(document.tables, key=lambda table: len(table.rows))
    prefix = f"from {_quoted(table.name)}; " if len(document.tables) > 1 and _is_usable(table.name) else ""
    usable = [index for index, name in enumerate(table.columns) if _is_usable(name)]
    first_row = table.rows[0] if table.rows else (None,) * len(table.columns)
    dates = [index for index in usable if values.is_date(first_row[index])][:1]
    numbers = [index for index in usable if type(first_row[index]) in (int, float)]
    frequent = [index for index in usable if table.columns[index] in _FREQUENT_COLUMNS]
    frequent.sort(key=lambda index: _FREQUENT_COLUMNS.index(table.columns[index]))
    columns = list(dict.fromkeys([*(dates or usable[:1]), *(frequent or numbers or usable)[:1]]))
    listed = ",".join(_quoted(table.columns[index]) for index in columns)
    newest = _Example(prefix + "; ".join([*([listed] if listed else []), "last 20"]), _some_rows(table, columns))
    of_numbers = [index for index in frequent if index in numbers] or numbers
    if not of_numbers:
        return [str(newest)]
    name = _quoted(table.columns[of_numbers[0]])
    functions = [f"{function}({name})" for function in _FUNCTIONS]
    figures = _Example(prefix + ", ".join(functions), _some_figures(table, functions, of_numbers[0], dates))
    return [str(newest), str(figures)]


class _Example(NamedTuple):
    """An expression, and about the text of its answer."""

    select: str
    answer: str

    def __str__(self) -> str:
        return f"select={json.dumps(self.select)} (about {tokens.count(self.answer)} tokens)"


def _fields(metadata: Any) -> str:
    fields = metadata if isinstance(metadata, dict) else {}
    names = [key for key in fields if _is_usable(key)]
    scalars = [key for key in names if not isinstance(fields[key], list | dict)][:2]
    nested = next((key for key in names if key not in scalars), "")
    return ",".join(map(_quoted, scalars)) or f"jmespath: {_quoted(nested) if nested else '[0]'}"


def _some_rows(table: Table, columns: Sequence[int]) -> str:
    """Return about what the newest rows of some columns are as text."""
    rows = [[str(row[index])[:_MAX_CELL_CHARS] for index in columns] for row in table.rows[:_ROWS]]
    return "\n".join(map(",".join, [[table.columns[index] for index in columns], *rows]))


def _some_figures(table: Table, functions: Sequence[str], column: int, dates: Sequence[int]) -> str:
    """Return about what the figures of a column are as text."""
    cells = [str(table.rows[0][index]) for index in (column, *dates)]
    lines = [{"rows": len(table.rows), "from": cells[-1], "to": cells[-1]}, "function,value,timestamp"]
    return "\n".join([*map(str, lines), *(",".join([function, *cells]) for function in (*functions, functions[-1]))])


def _is_usable(name: str) -> bool:
    """Return whether a name can be quoted in an expression, and is short enough to be shown in a notice."""
    return len(name) <= _MAX_NAME_CHARS and '"' not in name and "\\" not in name and not has_unsafe(name)


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'


T = TypeVar("T")

_STAGES = ((None, None, None, 3), (400, 8, None, 2), (100, 3, None, 1), (30, 1, 20, 0), (30, 1, 4, 0))
"""Characters of a text, items of an inner list, fields of a record, and the fewest rows for which the stage is used."""

_PRECISION = 25
"""A preview is long enough when one with a twenty-fifth more rows would not fit: each attempt counts tokens."""

_MIN_MAP_SIZE = 12
"""Members above which an object of objects or of numbers is a map that may be shortened; no record has so many."""

_MAX_RECORD_SIZE = 200
"""Members above which any object is a map: no record has so many."""

_MAX_DEPTH = 8
_MAX_KEY_CHARS = 40
_LONG = (str, list, dict)
_MIN_SPARE_S = 0.5
"""Time before the deadline at which a preview that fits is no longer made longer."""


def largest_fitting(
    max_rows: int,
    render: Callable[[Limits], T],
    fits: Callable[[T], bool],
    budget: WorkBudget,
) -> T | None:
    """Return what ``render`` makes with the largest limits for which it ``fits``; None if it fits with none.

    Raises:
        AnswerTooLarge: the deadline has passed before anything fits.
    """

    def attempt(limits: Limits) -> T | None:
        try:
            rendered = render(limits)
        except TooLong:
            return None
        return rendered if fits(rendered) else None

    for chars, items, fields, min_rows in _STAGES:
        budget.check_time()
        rows = min(min_rows, max_rows)
        best = attempt(Limits(rows, chars, items, fields))
        if best is None:
            continue
        # Double the step first: the attempts stay near the size that fits, however long the whole is.
        too_many = max_rows + 1
        step = max(1, rows)
        while too_many - rows > max(1, rows // _PRECISION) and budget.remaining_s > _MIN_SPARE_S:
            more_rows = min(rows + step, too_many - 1)
            longer = attempt(Limits(more_rows, chars, items, fields))
            if longer is not None:
                rows, best, step = more_rows, longer, step * 2
            else:
                too_many, step = more_rows, max(1, (more_rows - rows) // 2)
        return best
    return None


def count_rows(document: Document) -> int:
    """Return the rows of the longest table, or the items of the longest list or map where there is no table."""
    if document.tables:
        return max(len(table.rows) for table in document.tables)
    return count_items(document.metadata)


def count_items(value: Any) -> int:
    """Return the items of the longest list or map anywhere in a JSON value."""
    longest, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list | dict):
            longest = max(longest, len(item))
            members = item if isinstance(item, list) else item.values()
            pending += [member for member in members if isinstance(member, list | dict)]
    return longest


def truncate_document(document: Document, limits: Limits, allowance: Allowance) -> tuple[Document, Truncation]:
    """Return the document within the limits, and what that leaves out.

    Raises:
        TooLong: it has more values than ``allowance``.
    """
    truncation = Truncation()
    shortener = _Shortener(limits, truncation, allowance)
    if not document.tables:
        return Document(metadata=shortener.shorten(document.metadata)), truncation
    kept = document.tables[:FEW_FIELDS] if limits.is_last else document.tables
    tables = tuple(shortener.shorten_table(table, named=len(document.tables) > 1) for table in kept)
    if len(kept) < len(document.tables):
        truncation.record(f"{len(document.tables) - len(kept)} of {len(document.tables)} tables")
    metadata = document.metadata
    if limits.chars is None:
        allowance.take_value(metadata)
    else:
        metadata = _Shortener(limits.inner, Truncation(), allowance).shorten(metadata)
    return Document(tables, metadata), truncation


def truncate(value: Any, limits: Limits, allowance: Allowance) -> tuple[Any, Truncation]:
    """Return a JSON value with lists, maps and texts within the limits, and what that leaves out.

    Raises:
        TooLong: it has more values than ``allowance``.
    """
    truncation = Truncation()
    return _Shortener(limits, truncation, allowance).shorten(value), truncation


def _first_and_last_keys(members: dict[str, Any], count: int) -> list[str]:
    """Return the same of the keys of an object, without making a list of all."""
    if len(members) <= count:
        return list(members)
    first = first_part(count)
    last = list(itertools.islice(reversed(members), count - first))
    return [*itertools.islice(members, first), *reversed(last)]


class _Shortener:
    """Shorten values; record what is left out, and count what is kept."""

    def __init__(self, limits: Limits, truncation: Truncation, allowance: Allowance) -> None:
        self._limits, self._truncation, self._allowance = limits, truncation, allowance
        self._chars, self._is_last = limits.chars, limits.is_last
        self._has_short_texts = False

    def shorten_table(self, table: Table, named: bool) -> Table:
        """Return a table within the limits."""
        limits, allowance, truncation = self._limits, self._allowance, self._truncation
        name, columns = table.name, table.columns
        if limits.is_last:
            name = name[:_MAX_KEY_CHARS]
            columns = tuple(map(_short_name, columns[: limits.fields]))
        prefix = f"{quoted_name(name)} " if named else ""
        rows: Sequence[Sequence[Any]] = first_and_last(table.rows, limits.rows)
        truncation.record_rows(len(rows), len(table.rows), limits.rows, prefix)
        allowance.take((len(rows) + 1) * max(1, len(columns)))
        for column in columns:
            allowance.take_text(column)
        if len(columns) < len(table.columns):
            truncation.record(f"{prefix}columns {len(columns) + 1}-{len(table.columns)}")
            rows = [row[: len(columns)] for row in rows]
        if limits.chars is None:
            allowance.take_cells(rows)
            return Table(name, columns, rows)
        inner = _Shortener(
            Limits(limits.items or 0, limits.chars, limits.items, limits.fields), Truncation(), allowance
        )
        shorter: Sequence[Sequence[Any]] = [tuple(inner.shorten(cell) for cell in row) for row in rows]
        if shorter != rows:
            rows = shorter
            truncation.record(f"{prefix}ends of long texts and lists")
        return Table(name, columns, rows)

    def shorten(self, value: Any, path: str = "", depth: int = 0) -> Any:
        """Return a JSON value within the limits."""
        if isinstance(value, str):
            return self._shorten_text(value)
        if not isinstance(value, list | dict):
            return value
        if self._is_last and depth >= _MAX_DEPTH:
            self._truncation.record("what is nested deeply")
            return "…"
        if isinstance(value, dict):
            return self._shorten_object(value, path, depth)
        items = first_and_last(value, self._limits.rows)
        self._allowance.take(1 + len(items))
        items = [self.shorten(item, path, depth + 1) if isinstance(item, _LONG) else item for item in items]
        self._truncation.record_members(path, len(items), len(value), "items")
        return items

    def _shorten_text(self, text: str) -> str:
        if self._chars is not None and len(text) > self._chars:
            text = f"{text[: self._chars]}… (+{len(text) - self._chars} characters)"
            if not self._has_short_texts:
                self._has_short_texts = True
                self._truncation.record("ends of long texts")
        self._allowance.take_text(text)
        return text

    def _shorten_object(self, value: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        limits, allowance = self._limits, self._allowance
        keys = _first_and_last_keys(value, limits.rows) if _is_map(value) else list(value)[: limits.fields]
        self._truncation.record_members(path, len(keys), len(value), "keys")
        allowance.take(1 + len(keys))
        if allowance.is_counted:
            for key in keys:
                allowance.take_text(key)
        # A path that is longer is not shown; joining it at every level would take the square of the depth.
        joins = len(path) <= MAX_PATH_CHARS
        shown = {}
        for key in keys:
            item = value[key]
            if isinstance(item, list | dict):
                inner_path = f"{path}.{key[:MAX_PATH_CHARS]}" if path else key[: MAX_PATH_CHARS + 1]
                item = self.shorten(item, inner_path if joins else path, depth + 1)
            elif isinstance(item, str):
                item = self._shorten_text(item)
            shown[_short_name(key) if self._is_last else key] = item
        return shown


def _short_name(name: str) -> str:
    return name if len(name) <= _MAX_KEY_CHARS else f"{name[:_MAX_KEY_CHARS]}…"


def _is_map(value: dict[str, Any]) -> bool:
    """Return whether an object is a map of many like members, not a record."""
    size = len(value)
    if size <= _MIN_MAP_SIZE or size > _MAX_RECORD_SIZE:
        return size > _MAX_RECORD_SIZE
    members = value.values()
    return (
        all(isinstance(member, list | dict) for member in members)
        or all(map(values.is_date, value))
        or all(isinstance(member, float) for member in members)
    )
