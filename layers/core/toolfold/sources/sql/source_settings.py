"""Read what the catalog says about a database. A catalog may be hostile: every value is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.catalog.reader import damaged
from toolfold.sources.sql.schema import TableFilter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source

__all__ = ["DEFAULT_MAX_BYTES", "DEFAULT_STATEMENT_TIMEOUT_S", "DIALECTS", "MAX_BYTES", "MAX_ROWS", "SqlSettings"]

DIALECTS = ("sqlite", "postgresql")

MAX_ROWS = 1000
"""Rows of one answer. What needs more rows is better aggregated by the database."""

MAX_STATEMENT_TIMEOUT_S = 300
"""Seconds of one statement. A call is limited further by its own deadline."""

DEFAULT_STATEMENT_TIMEOUT_S = 15

MAX_BYTES = 20_000_000
"""Bytes of one answer as JSON: what a function with 512 MB can parse and select from."""

DEFAULT_MAX_BYTES = 2_000_000


@dataclass(frozen=True)
class SqlSettings:
    """How one database is read.

    Attributes:
        dialect: one of :data:`DIALECTS`.
        tables: the tables that may be read.
        statement_timeout_s: after which a statement is ended.
        max_rows: rows of one answer.
        max_bytes: bytes of one answer, as JSON.
    """

    dialect: str
    tables: TableFilter = field(default_factory=TableFilter)
    statement_timeout_s: float = DEFAULT_STATEMENT_TIMEOUT_S
    max_rows: int = MAX_ROWS
    max_bytes: int = DEFAULT_MAX_BYTES

    @classmethod
    def from_source(cls, source: Source) -> SqlSettings:
        """Return the settings in the catalog's entry of ``source``.

        Raises:
            CatalogUnavailable: one of them is missing, or is not what it should be.
        """
        connection: Mapping[str, Any] = source.connection
        try:
            dialect = connection["dialect"]
            if dialect not in DIALECTS:
                raise ValueError("dialect")
            return cls(
                dialect,
                TableFilter(
                    _texts(connection, "schemas", ("public",)),
                    _texts(connection, "include", ("*",)),
                    _texts(connection, "exclude", ()),
                ),
                _number(connection, "statement_timeout_s", DEFAULT_STATEMENT_TIMEOUT_S, MAX_STATEMENT_TIMEOUT_S),
                int(_number(connection, "max_rows", MAX_ROWS, MAX_ROWS)),
                int(_number(connection, "max_bytes", DEFAULT_MAX_BYTES, MAX_BYTES)),
            )
        except (KeyError, TypeError, ValueError):
            raise damaged(f"the connection of source {source.id!a} is not one of a database") from None


def _texts(connection: Mapping[str, Any], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    values = connection.get(name, default)
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise TypeError(name)
    return tuple(values)


def _number(connection: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = connection.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise ValueError(name)
    return value
