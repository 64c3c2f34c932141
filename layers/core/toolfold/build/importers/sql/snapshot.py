"""The reviewed snapshot of a database: its tables, in ``snapshot.json`` in the folder of its source."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolfold.sources.sql.schema import DatabaseSchema, Table

__all__ = ["SNAPSHOT", "Snapshot", "UnreadableSnapshot"]

SNAPSHOT = "snapshot.json"
_FORMAT = 1
_COLUMN = re.compile(r"^    \{\n(?:     [^\n]*\n)+    \}", re.MULTILINE)
"""A column with its indentation. A line break in a value is an escape in JSON."""

_MAX_BYTES = 50_000_000


class UnreadableSnapshot(ValueError):
    """A file is not a snapshot of a database. The text says why, and in which line."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True)
class Snapshot:
    """The tables of a database when it was read.

    Attributes:
        dialect: ``sqlite`` or ``postgresql``.
        fetched_at: when, in ISO 8601.
        schema: its tables.
    """

    dialect: str
    fetched_at: str
    schema: DatabaseSchema

    def to_json(self) -> str:
        """Return the content of the file: a line for each column, so that a review shows what changed."""
        data = {
            "format": _FORMAT,
            "dialect": self.dialect,
            "fetched_at": self.fetched_at,
            "schemas": list(self.schema.search_path),
            "tables": [table.as_dict() for table in self.schema.tables],
        }
        text = json.dumps(data, ensure_ascii=False, indent=1)
        return _COLUMN.sub(lambda column: " ".join(column[0].split("\n     ")).replace("\n    }", " }"), text) + "\n"

    @classmethod
    def read(cls, path: Path) -> Snapshot:
        """Read the file at ``path``.

        Raises:
            OSError: it cannot be read.
            UnreadableSnapshot: it is not a snapshot.
        """
        if path.stat().st_size > _MAX_BYTES:
            raise UnreadableSnapshot(1, f"is larger than {_MAX_BYTES:,} bytes")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise UnreadableSnapshot(error.lineno, "is not JSON") from None
        except (UnicodeDecodeError, RecursionError):
            raise UnreadableSnapshot(1, "is not JSON") from None
        try:
            return cls._from_data(data)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UnreadableSnapshot(1, "is not a snapshot of a database; refresh the source") from None

    @classmethod
    def _from_data(cls, data: Mapping[str, Any]) -> Snapshot:
        if data["format"] != _FORMAT:
            raise ValueError("format")
        tables = tuple(Table.from_dict(entry) for entry in data["tables"])
        texts = [data["dialect"], data["fetched_at"], *data["schemas"]]
        texts += [text for table in tables for text in (table.schema, table.name, table.kind, table.description)]
        texts += [
            text
            for table in tables
            for column in table.columns
            for text in (column.name, column.type, column.key, column.description)
        ]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("text")
        return cls(data["dialect"], data["fetched_at"], DatabaseSchema(tables, frozenset(), tuple(data["schemas"])))
