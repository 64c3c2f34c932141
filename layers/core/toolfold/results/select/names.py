"""Find the tables, columns and fields that the names of a ``select`` mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results.columns import DATE_NAMES, date_column
from toolfold.results.select.parser import Name, invalid_select
from toolfold.results.tables import Document, Table
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

MAX_LISTED = 60
"""Columns named in an error: all of any financial statement."""

_MAX_COMPARED = 2000
"""Columns that a wrong name is compared with."""


class ColumnLookup:
    """The columns of one table by name, each found in constant time.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def index(self, name: str) -> int | None:
        """Return the index of a column, or None when the table does not have it.

        The exact name comes first, then one that differs in case and punctuation only, then the date column for any
        of its usual names.
        """
        exact = self._exact.get(name)
        if exact is not None:
            return exact
        normalized = normalize(name)
        similar = self._normalized.get(normalized) if normalized else None
        if similar is not None:
            return similar
        return self.date_index if normalized in DATE_NAMES else None

    @cached_property
    def date_index(self) -> int | None:
        """The index of the first column that holds only dates."""
        return date_column(self.table)

    @cached_property
    def _exact(self) -> dict[str, int]:
        return _first_positions(self.table.columns)

    @cached_property
    def _normalized(self) -> dict[str, int]:
        return _first_positions(map(normalize, self.table.columns))


def _first_positions(names: Iterable[str]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for position, name in enumerate(names):
        positions.setdefault(name, position)
    return positions


class TableLookup:
    """The columns of several tables by name.

    Args:
        columns: those of each table.
    """

    def __init__(self, columns: Sequence[ColumnLookup]) -> None:
        self.columns = columns

    def exists(self, name: Name) -> bool:
        """Return whether one of the tables has a column."""
        if name.text in self._exact:
            return True
        normalized = normalize(name.text)
        return normalized in self._normalized or (normalized in DATE_NAMES and self._has_dates)

    @cached_property
    def _exact(self) -> set[str]:
        return {name for lookup in self.columns for name in lookup.table.columns}

    @cached_property
    def _normalized(self) -> set[str]:
        return set(map(normalize, self._exact)) - {""}

    @cached_property
    def _has_dates(self) -> bool:
        return any(lookup.date_index is not None for lookup in self.columns)


def has_columns(lookup: ColumnLookup, names: Sequence[Name]) -> bool:
    """Return whether a table has all columns."""
    return all(lookup.index(name.text) is not None for name in names)


def join_words(names: Sequence[Name], tables: TableLookup) -> list[Name]:
    """Join words that are one column's name when there is no comma between them: ``adjusted close``."""
    joined: list[Name] = []
    for name in names:
        previous = joined[-1] if joined else None
        if (
            previous is not None
            and not tables.exists(previous)
            and name.offset == previous.offset + len(previous.text) + 1
        ):
            candidate = Name(f"{previous.text} {name.text}", previous.offset)
            if tables.exists(candidate):
                joined[-1] = candidate
                continue
        joined.append(name)
    return joined


def split_columns_and_fields(
    names: Sequence[Name], tables: TableLookup, metadata: Mapping[str, Any]
) -> tuple[tuple[Name, ...], dict[str, Any]]:
    """Return the names that are not fields of the metadata, and the fields with their values."""
    by_normalized = {normalize(key): key for key in reversed(list(metadata))} if names else {}
    columns, fields = [], {}
    for name in names:
        field = name.text if name.text in metadata else by_normalized.get(normalize(name.text))
        if field is not None and not tables.exists(name):
            fields[field] = metadata[field]
        else:
            columns.append(name)
    return tuple(columns), fields


def find_table(document: Document, name: Name) -> Table:
    """Return the table called ``name``: by its whole path first, then by its last part.

    Raises:
        InvalidArguments: no table has that name.
    """
    normalized = normalize(name.text)
    for whole in (True, False):
        for table in document.tables:
            if normalize(table.name if whole else table.name.rpartition(".")[2]) == normalized:
                return table
    listed = listed_names(table.name for table in document.tables)
    raise invalid_select(f"there is no table {name.text[:40]!r}", name.offset, f"Tables: {listed}.")


def no_column(name: Name, tables: TableLookup, metadata: Mapping[str, Any]) -> InvalidArguments:
    """Return the error for a name that neither a table nor the metadata has."""
    known: dict[str, None] = {}
    for names in (*(lookup.table.columns for lookup in tables.columns), metadata):
        known |= dict.fromkeys(names)
        if len(known) > _MAX_COMPARED:
            break
    compared = [other for other, _ in zip(known, range(_MAX_COMPARED), strict=False) if len(other) <= MAX_NAME_CHARS]
    closest = "".join(f"Did you mean {quoted_name(column)}? " for column in closest_matches(name.text, compared))
    listed = listed_names(known)
    return invalid_select(f"there is no column {name.text[:40]!r}", name.offset, f"{closest}Columns: {listed}.")


def first_names(names: Iterable[str]) -> list[str]:
    """Return the first names, shortened, for the details of an error."""
    return [name[:MAX_NAME_CHARS] for name, _ in zip(names, range(MAX_LISTED), strict=False)]


def listed_names(names: Iterable[str]) -> str:
    """Return the first names for the text of an error."""
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(MAX_LISTED), strict=False))
