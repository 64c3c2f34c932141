"""What a preview says: how much is left out, where the full text is, and how to ask for less."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from toolfold.results import tokens, values
from toolfold.results.limits import Truncation
from toolfold.results.tables import Document
from toolfold.text_safety import escape_unsafe, has_unsafe

_MAX_LINK_SHARE = 3
"""A link that costs more than this fraction of the budget is in the structured data only."""

_MAX_NAME_CHARS = 40
"""Characters of a name in the example: a name from data may be any text, and the line is ours."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")

_FREQUENT_COLUMNS = ("close", "adjusted_close", "value", "price", "totalRevenue", "reportedEPS", "title")
"""Columns that are requested most, for the example of a smaller request."""


class PreviewNotice:
    """The notice of a preview.

    Args:
        token_count: tokens of the full text.
        saved: where the full text was saved, as ``offload.AnswerStore.save`` returns it; may be empty.
        smaller_request: how to ask for less.
        max_tokens: the budget of the answer.
    """

    def __init__(self, token_count: int, saved: Mapping[str, Any], smaller_request: str, max_tokens: int) -> None:
        self._full = {**saved, "tokens": token_count}
        self._smaller_request = smaller_request
        link = saved.get("url") or saved.get("path") or ""
        is_long = tokens.count(link) > max_tokens // _MAX_LINK_SHARE
        self._link = "in structuredContent.preview.full" if link and is_long else escape_unsafe(link)

    def line(self, truncation: Truncation) -> str:
        """Return the notice as one line, placed before the data."""
        size = f"{truncation.rows_shown:,} of {truncation.rows_total:,} rows; " if truncation.rows_total else ""
        full = f"All of it ({self._full['tokens']:,} tokens)"
        where = f"{full}, until {self._full['expires_at']}: {self._link}. " if self._link else f"{full} is too long. "
        return f"# Preview: {size}left out: {truncation}. {where}For less: {self._smaller_request}"

    def data(self, truncation: Truncation) -> dict[str, Any]:
        """Return the notice as ``{"rows_shown", "rows_total", "left_out", "full": {…}, "ask_less"}``."""
        return {
            "rows_shown": truncation.rows_shown,
            "rows_total": truncation.rows_total,
            "left_out": str(truncation),
            "full": self._full,
            "ask_less": self._smaller_request,
        }


def example_select(document: Document) -> str:
    """Return ``select=…`` with an expression that is short and names columns of ``document``."""
    return f"select={json.dumps(_example(document))}"


def _example(document: Document) -> str:
    if not document.tables:
        fields = document.metadata if isinstance(document.metadata, dict) else {}
        names = [key for key in fields if _is_usable(key)]
        scalars = [key for key in names if not isinstance(fields[key], list | dict)][:2]
        nested = next((key for key in names if key not in scalars), "")
        return ",".join(map(_quoted, scalars)) or f"jmespath: {_quoted(nested) if nested else '[0]'}"
    table = max(document.tables, key=lambda table: len(table.rows))
    first_row = table.rows[0] if table.rows else ()
    cells = [(name, cell) for name, cell in zip(table.columns, first_row, strict=False) if _is_usable(name)]
    usable = [name for name in table.columns if _is_usable(name)]
    numbers = [name for name, cell in cells if isinstance(cell, int | float)]
    dates = [name for name, cell in cells if values.is_date(cell)][:1]
    frequent = [name for name in _FREQUENT_COLUMNS if name in table.columns] or numbers or usable
    columns = dict.fromkeys([*(dates or usable[:1]), frequent[0]]) if usable else {}
    return "; ".join([*([",".join(map(_quoted, columns))] if columns else []), "last 20"])


def _is_usable(name: str) -> bool:
    """Return whether a name can be quoted in an expression, and is short enough to be shown in a notice."""
    return len(name) <= _MAX_NAME_CHARS and '"' not in name and "\\" not in name and not has_unsafe(name)


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
