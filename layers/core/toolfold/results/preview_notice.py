"""What a preview says: how much is left out, where the full text is, and how to ask for less."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.results import tokens, values
from toolfold.results.limits import Truncation
from toolfold.results.tables import Document, Table
from toolfold.text_safety import escape_unsafe, has_unsafe

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
