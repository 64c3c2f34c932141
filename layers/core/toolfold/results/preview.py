"""Shorten an answer that is too long: valid data of the same shape, as much of it as fits.

A preview has the first and last rows, all columns, and the number of rows. Where even a few rows are too long, long
texts and inner lists are truncated before more rows are left out; then fields and columns; the last resort is nothing.
An attempt stops as soon as it has more values than can fit: its cost depends on the limit, not on the answer.

What a preview says: how much is left out, where the full text is, and how to ask for less. The text in further content
blocks is cut; images and other data stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from toolfold.budget import WorkBudget
from toolfold.results import tokens, values
from toolfold.results.select.names import written_name
from toolfold.results.tables import Document, Table
from toolfold.text_safety import counted, escape_unsafe, has_unsafe, quoted_name

if TYPE_CHECKING:
    from toolfold.results.select.grammar import Selection

T = TypeVar("T")


class Limits(NamedTuple):
    """How much is kept; None: everything.

    Attributes:
        rows: rows of tables, or items of outer lists and maps.
        chars: characters of a text.
        items: items of an inner list.
        fields: fields of a record, columns, and tables.
    """

    rows: int
    chars: int | None = None
    items: int | None = None
    fields: int | None = None


_STAGES = (
    (3, Limits(0)), (2, Limits(0, 400, 8)), (1, Limits(0, 100, 3)), (0, Limits(0, 30, 1, 20)), (0, Limits(0, 30, 1, 4)),
)  # fmt: skip
"""The fewest rows for which a stage is used, and its limits but that of the rows."""

VALUES_PER_TOKEN = 8
"""More values than that for each token cannot fit: empty cells are four for a token."""

_CHARS_PER_VALUE = 12  # nor can more characters: the longest token that is counted has 97
_PRECISION = 25  # it is long enough when one with a twenty-fifth more rows would not fit: each attempt counts tokens
_MIN_SPARE_S = 0.5  # before the deadline: one that fits is no longer made longer
_MIN_MAP_SIZE = 12  # members above which an object of objects or lists is a map that may be shortened
_MAX_RECORD_SIZE = 200  # members above which any object is a map: no record has so many
_MAX_DESCRIBED = 4  # cuts that are described one by one
_UNIT_CHARS = 200  # of plain text, by which its preview grows: some forty tokens
_LINE_SHARE = 4  # a preview of plain text ends with a line, unless that costs more than this fraction of it
_MAX_LINK_SHARE = 3  # a link that costs more than this fraction of the budget is in the structured data only
_MAX_REQUEST_SHARE = 5  # an example that costs more than this fraction of the budget is replaced by words
_MAX_NAME_CHARS = 40  # of a name in an example: a name from data may be any text, and the line is ours
_ROWS = 20  # the newest or the first, in the example of a smaller request


class TooLong(Exception):
    """An attempt has more values than can fit."""


def largest_fitting(max_tokens: int, attempt: Callable[[Limits], T | None], budget: WorkBudget) -> T | None:
    """Return what ``attempt`` makes with the largest limits for which it does not return None, or None.

    Raises:
        AnswerTooLarge: the deadline has passed before anything fits.
    """
    for fewest, limits in _STAGES:
        budget.check_time()
        rows = fewest
        best = attempt(limits._replace(rows=rows))
        if best is None:
            continue
        # Double the step first: the attempts stay near the size that fits, however long the whole is.
        too_many = VALUES_PER_TOKEN * max_tokens
        step = max(1, rows)
        while too_many - rows > max(1, rows // _PRECISION) and budget.remaining_s > _MIN_SPARE_S:
            more_rows = min(rows + step, too_many - 1)
            longer = attempt(limits._replace(rows=more_rows))
            if longer == best:  # all rows are shown
                break
            if longer is not None:
                rows, best, step = more_rows, longer, step * 2
            else:
                too_many, step = more_rows, max(1, (more_rows - rows) // 2)
        return best
    return None


class Shortener:
    """Shorten an answer once, within limits; :class:`TooLong` is raised where ``max_tokens`` cannot be kept."""

    def __init__(self, limits: Limits, max_tokens: int) -> None:
        self._limits, self._left = limits, VALUES_PER_TOKEN * max_tokens
        self._rows_shown = self._rows_total = 0
        self._cuts: list[str] = []
        self._inner_cuts = 0

    def document(self, document: Document) -> Document:
        """Return a document within the limits.

        Raises:
            TooLong: it has more values than can fit.
        """
        if document.is_text:
            text, chars = document.metadata, self._limits.rows * _UNIT_CHARS
            if len(text) > chars:
                end = text.rfind("\n", chars - chars // _LINE_SHARE, chars)  # of a line, where one is near
                text = text[: chars if end < 0 else end]
                self._cuts.append(f"characters {len(text) + 1:,} to {len(document.metadata):,}")
            return Document(metadata=text, is_text=True)
        if not document.tables:
            return Document(metadata=self._shorten(document.metadata, self._limits.rows, is_outer=True))
        kept = document.tables[: self._limits.fields]
        tables = tuple(self._table(table, named=len(document.tables) > 1) for table in kept)
        if len(kept) < len(document.tables):
            self._cuts.append(f"{len(document.tables) - len(kept)} of {len(document.tables)} tables")
        return Document(tables, self._shorten(document.metadata, self._limits.items))

    def left_out(self) -> dict[str, Any]:
        """Return what is left out, as ``{"rows_shown", "rows_total", "left_out"}``.

        The first two count rows of tables, or items of the longest list.
        """
        shown, total, cuts = self._rows_shown, self._rows_total, self._cuts[:_MAX_DESCRIBED]
        is_longest_cut = not cuts and shown < total
        if is_longest_cut:
            cuts.append(f"{total - shown:,} of {total:,} items")
        if self._inner_cuts > is_longest_cut:
            cuts.append("ends of long texts and lists")
        return {"rows_shown": shown, "rows_total": total, "left_out": ", ".join(cuts)}

    def _take(self, count: int, text: str = "") -> None:
        self._left -= count + len(text) // _CHARS_PER_VALUE
        if self._left < 0:
            raise TooLong

    def _table(self, table: Table, named: bool) -> Table:
        columns, prefix = table.columns[: self._limits.fields], f"{quoted_name(table.name)} " if named else ""
        limit, total = self._limits.rows, len(table.rows)
        rows: Sequence[Sequence[Any]] = _first_and_last(table.rows, limit)
        self._take(len(rows) * (1 + len(columns)))
        self._rows_shown += len(rows)
        self._rows_total += total
        if len(rows) < total:
            first = _first_part(limit)
            self._cuts.append(f"{prefix}rows {first + 1}-{total - limit + first}")
        for column in columns:
            self._take(1, column)
        if len(columns) < len(table.columns):
            self._cuts.append(f"{prefix}columns {len(columns) + 1}-{len(table.columns)}")
            rows = [row[: len(columns)] for row in rows]
        if not {type(cell) for row in rows for cell in row}.isdisjoint((str, list, dict)):
            rows = [[self._shorten(cell, self._limits.items) for cell in row] for row in rows]
        return Table(table.name, columns, rows)

    def _shorten(self, value: Any, limit: int | None, *, is_outer: bool = False) -> Any:
        """Return a value whose lists and maps have ``limit`` members; those of an outer one count as rows."""
        if isinstance(value, str):
            chars = self._limits.chars
            if chars is not None and len(value) > chars:
                value = f"{value[:chars]}… (+{counted(len(value) - chars, 'character')})"
                self._inner_cuts += 1
            self._take(0, value)
        if not isinstance(value, list | dict):
            return value
        keys: list[Any] = list(value)
        shown = keys[: self._limits.fields] if isinstance(value, dict) and not _is_map(value) else None
        shown = _first_and_last(keys, limit) if shown is None else shown
        if is_outer and len(keys) > self._rows_total:
            self._rows_shown, self._rows_total = len(shown), len(keys)
        self._inner_cuts += len(shown) < len(keys)
        self._take(1 + len(shown))
        if isinstance(value, list):
            return [self._shorten(item, limit, is_outer=is_outer) for item in shown]
        for key in shown:
            self._take(0, key)
        return {key: self._shorten(value[key], limit, is_outer=is_outer) for key in shown}


def _first_and_last(items: Sequence[T], count: int | None) -> list[T]:
    """Return ``count`` items, two thirds from the beginning, where the newest usually are, the rest from the end."""
    if count is None or len(items) <= count:
        return list(items)
    first = _first_part(count)
    return [*items[:first], *items[len(items) - (count - first) :]]


def _first_part(count: int) -> int:
    return -(-2 * count // 3)


def _is_map(value: dict[str, Any]) -> bool:
    """Return whether an object is a map of many like members, not a record."""
    are_objects = all(isinstance(member, dict | list) for member in value.values())
    return len(value) > _MAX_RECORD_SIZE or (len(value) > _MIN_MAP_SIZE and are_objects)


def notice_line(notice: Mapping[str, Any], max_tokens: int) -> str:
    """Return the notice of a preview as one line, placed before the data.

    Args:
        notice: ``rows_shown``, ``rows_total``, ``left_out``, ``full`` (``tokens`` of the full text, and where it was
            saved, as ``offload.AnswerStore.save`` returns it), and ``ask_less``.
        max_tokens: the budget of the answer.
    """
    full, total = notice["full"], notice["rows_total"]
    size = f"{notice['rows_shown']:,} of {total:,} rows; " if total else ""
    link = full.get("url") or full.get("path") or ""
    if tokens.count(link) > max_tokens // _MAX_LINK_SHARE:
        link = "in structuredContent.preview.full"
    where = f", until {full['expires_at']}: {escape_unsafe(link)}. " if link else " is too long. "
    return (
        f"# Preview: {size}left out: {notice['left_out']}. All of it ({full['tokens']:,} tokens){where}"
        f"For less: {notice['ask_less']}"
    )


def smaller_request(document: Document, given: Selection | None, max_tokens: int) -> str:
    """Return an expression for ``select`` that is short, names columns of ``document``, and costs little.

    It begins with the steps of ``given``, which made the document. Words stand for one that a notice has no place for.
    """
    if document.is_text:
        return "arguments that return less, or a larger max_tokens"
    select = "" if given is not None and given.jmespath else _smaller_select(document, given)
    text = f"select={json.dumps(select)}"
    if not select or not tokens.fits(text, max_tokens // _MAX_REQUEST_SHARE):
        return "a shorter period, or select with jmespath: and an expression"
    return text


def _smaller_select(document: Document, given: Selection | None) -> str:
    if not document.tables:
        fields = document.metadata if isinstance(document.metadata, dict) else {}
        usable = list(filter(_is_usable, fields))
        scalars = [written_name(name) for name in usable if not isinstance(fields[name], list | dict)][:2]
        first = (written_name(usable[0]) if usable[0].isascii() else f'"{usable[0]}"') if usable else "[0]"
        return ",".join(scalars) or f"jmespath: {first}"
    table = max(document.tables, key=lambda table: len(table.rows))
    first_row = dict(zip(table.columns, table.rows[0] if table.rows else (), strict=False))
    usable = list(filter(_is_usable, table.columns))
    dates = [name for name in usable if values.is_date(first_row.get(name))][:1]
    numbers = [name for name in usable if type(first_row.get(name)) in (int, float)]
    decimals = [name for name in numbers if type(first_row[name]) is float]
    key = dates or usable[:1]
    main = (decimals[-1:] or numbers or [name for name in usable if name not in key])[:1]
    names = ",".join(map(written_name, dict.fromkeys([*key, *main])))
    is_named = len(document.tables) > 1 and _is_usable(table.name)
    steps = [
        given.text if given is not None else "",
        f"from {written_name(table.name)}" if is_named else "",
        names,
        f"last {_ROWS}" if dates else f"limit {_ROWS}",
    ]
    return "; ".join(filter(None, steps))


def _is_usable(name: str) -> bool:
    """Return whether a name can be quoted in an expression, and is short enough to be shown in a notice."""
    return len(name) <= _MAX_NAME_CHARS and '"' not in name and "\\" not in name and not has_unsafe(name)


NOTE = "toolfold/note"
"""Type of a block whose ``text`` is a note: of a source adapter, not of a service. It is cached with the answer."""

MAX_BLOCK_CHARS = 5_000_000
"""Of the JSON of all blocks: a Lambda function returns at most 6 MB, and the answer has more than these."""

_CHARS_PER_TOKEN = 3  # of a cut text for each token that is left: prose has four, data two to three


def fit_blocks(blocks: Sequence[Mapping[str, Any]], max_tokens: int) -> tuple[list[Mapping[str, Any]], str]:
    """Return content blocks of MCP, their texts cut to a budget of all of them, and a note about that, or ``""``."""
    left, cut, fitted = max_tokens, 0, []
    for block in blocks:
        resource = block.get("resource")
        holder = resource if isinstance(resource, Mapping) else block
        text = holder.get("text")
        if not isinstance(text, str) or tokens.fits(text, left):
            left -= tokens.count(text) if isinstance(text, str) else 0
            fitted.append(block)
            continue
        shown = {**holder, "text": text[: left * _CHARS_PER_TOKEN]}
        cut += len(text) - len(shown["text"])
        left = 0
        fitted.append({**block, "resource": shown} if holder is resource else shown)
    note = f"{cut:,} characters of text in further content blocks are left out; max_tokens allows more." if cut else ""
    return fitted, note


def split_notes(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """Return the blocks for the model, and the notes among them."""
    own = [block for block in blocks if str(block.get("type")).startswith("toolfold/")]
    return [block for block in blocks if block not in own], tuple(one["text"] for one in own if one["type"] == NOTE)
