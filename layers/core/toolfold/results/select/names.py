"""Find the tables, columns and fields that the names of a ``select`` mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import did_you_mean, normalize
from toolfold.results.select.selection import Name, invalid_select
from toolfold.results.tables import DATE_NAMES, Document, Table, date_column
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

MAX_LISTED = 60
"""Columns named in an error: all of any financial statement."""

_MAX_COMPARED = 2000
"""Names that a wrong name is compared with."""

_MAX_SEARCHED_TABLES, _MAX_SEARCHED_ROWS = 4, 500
"""Tables and rows in which a wrong name is looked for as a value."""

_MIN_PREFIX = 3
"""Letters of a word that may be the beginning of another: vol for volume."""

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "price": ("close", "last", "value"),
    "close": ("price", "last"),
    "ticker": ("symbol",),
    "symbol": ("ticker",),
    "company": ("name",),
    "name": ("description", "title"),
    "headline": ("title",),
    "adjclose": ("adjustedclose",),
}
"""Names that mean the same where a table has only the other one; noted in the answer."""

GENERIC_TABLES = frozenset(
    (
        "data",
        "rows",
        "row",
        "table",
        "df",
        "result",
        "results",
        "answer",
        "response",
        "records",
        "dataset",
        "structuredcontent",
    )
)
"""Names for the answer as a whole."""

FILLERS = frozenset(
    ("the", "of", "for", "a", "an", "in", "me", "at", "on", "to", "with", "value", "values", "column", "columns",
     "field", "fields", "price", "prices", "data", "rows", "row", "only", "each", "every", "its", "their", "what",
     "were", "was", "show")
)  # fmt: skip
"""Words that mean nothing beside a name."""

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_ORDINAL = re.compile(r"\s*\d+[.:]\s*")
_ENDINGS = re.compile(r"(?:ings?|ed|es|e|s|ly)$")


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


class DocumentNames:
    """The names that an expression may use of a document.

    Args:
        document: the document.
        lookups: the columns of the tables that may be used.
    """

    def __init__(self, document: Document, lookups: Sequence[ColumnLookup]) -> None:
        self.document, self.lookups = document, lookups
        self.metadata: Mapping[str, Any] = document.metadata if isinstance(document.metadata, dict) else {}
        self._guesses: dict[tuple[str, bool], list[str]] = {}

    def column(self, name: str) -> str | None:
        """Return ``name`` when a column of some table is called so, with regard to neither case nor punctuation."""
        normalized = normalize(name)
        is_date = normalized in DATE_NAMES and self._has_dates
        return name if name in self._columns or normalized in self._normalized or is_date else None

    def field(self, name: str) -> str | None:
        """Return the field of the metadata that is called ``name``."""
        return name if name in self.metadata else self._fields.get(normalize(name))

    def table(self, name: str) -> Table | None:
        """Return the table that is called ``name``: by its whole path first, then by its last part."""
        normalized = normalize(name)
        for names in self._tables:
            if normalized in names:
                return names[normalized]
        return None

    def is_whole(self, name: str) -> bool:
        """Return whether ``name`` means the answer as a whole."""
        return normalize(name) in GENERIC_TABLES or (normalize(name) == normalize(self.document.name) != "")

    def guess_table(self, name: str) -> Table | None:
        """Return the only table whose name has all the words of ``name``."""
        names = [table.name for table in self.document.tables if table.name]
        words = _words(name)
        found = list(_with_words([word for word in words if word not in FILLERS] or words, names))
        return self.table(found[0]) if len(found) == 1 else None

    def synonym(self, name: str, is_field: bool = False) -> str | None:
        """Return another name for the same, where the document has that one."""
        find = self.field if is_field else self.column
        return next((other for other in _SYNONYMS.get(normalize(name), ()) if find(other)), None)

    def guesses(self, name: str, is_field: bool = False) -> list[str]:
        """Return the columns or fields whose names have all the words of ``name``, or words that begin so."""
        key = (name, is_field)
        if key not in self._guesses:
            names = self.metadata if is_field else self._columns
            found = list(_with_words(_words(name), names)) if len(names) <= _MAX_COMPARED else []
            rest = [word for word in _words(name) if not self._is_filler(word)]
            if not found and rest and len(names) <= _MAX_COMPARED:
                found = list(_with_words(rest, names))
            self._guesses[key] = found
        return self._guesses[key]

    def _is_filler(self, word: str) -> bool:
        return word in FILLERS and self.column(word) is None and self.field(word) is None

    def number_columns(self) -> Iterator[str]:
        """Yield the columns whose first cell is a number."""
        for lookup in self.lookups:
            for name, cell in zip(lookup.table.columns, next(iter(lookup.table.rows), ()), strict=False):
                if isinstance(cell, int | float) and not isinstance(cell, bool):
                    yield quoted_name(name)

    def cell(self, text: str) -> tuple[str, str] | None:
        """Return a column and the value in it that ``text`` may mean: calls → ``("type", "call")``."""
        wanted = {text.lower(), text.lower().removesuffix("s")}
        for lookup in self.lookups[:_MAX_SEARCHED_TABLES]:
            for row in lookup.table.rows[:_MAX_SEARCHED_ROWS]:
                for name, value in zip(lookup.table.columns, row, strict=True):
                    if isinstance(value, str) and len(value) <= MAX_NAME_CHARS and value.lower() in wanted:
                        return name, value
        return None

    @cached_property
    def _columns(self) -> dict[str, None]:
        return dict.fromkeys(name for lookup in self.lookups for name in lookup.table.columns)

    @cached_property
    def _normalized(self) -> set[str]:
        return set(map(normalize, self._columns)) - {""}

    @cached_property
    def _fields(self) -> dict[str, str]:
        return {normalize(key): key for key in reversed(list(self.metadata)) if normalize(key)}

    @cached_property
    def _has_dates(self) -> bool:
        return any(lookup.date_index is not None for lookup in self.lookups)

    @cached_property
    def _tables(self) -> tuple[dict[str, Table], dict[str, Table]]:
        named = [table for table in reversed(self.document.tables) if table.name]
        return (
            {normalize(table.name): table for table in named},
            {normalize(table.name.rpartition(".")[2]): table for table in named},
        )

    def no_column(self, name: Name) -> InvalidArguments:
        """Return the error for a name that neither a table nor the metadata has."""
        known = [*self._columns, *self.metadata][:_MAX_COMPARED]
        compared = [quoted_name(other) for other in known if len(other) <= MAX_NAME_CHARS]
        last = name.text.rpartition(".")[2].strip() or name.text
        closest = did_you_mean(name.text, compared) or did_you_mean(last, compared)
        named = [quoted_name(table.name) for table in self.document.tables if table.name][:MAX_LISTED]
        tables = f" Tables: {', '.join(named)}." if named and len(self.document.tables) > 1 else ""
        listed = f"Columns: {listed_names(known)}."
        if (wish := _other_form(name.text, self._main_column())) and self.document.tables:
            return invalid_select(
                f"there is no column {name.text[:40]!r}", name.offset, f"Write {wish}. {listed}{tables}"
            )
        form = "" if closest or len(known) < 2 else f' Write "{",".join(map(quoted_name, known[:2]))}{self._rows()}".'
        return invalid_select(f"there is no column {name.text[:40]!r}", name.offset, f"{closest}{listed}{tables}{form}")

    def _main_column(self) -> str:
        """Return the column of the prices or values of a series, or the first one of numbers."""
        numbers = list(dict.fromkeys(self.number_columns()))
        return next((one for one in numbers if one in ("close", "value", "price")), numbers[0] if numbers else "close")

    def _rows(self) -> str:
        return "; last 5" if self.document.tables and not self.metadata else ""

    def no_table(self, name: Name) -> InvalidArguments:
        """Return the error for a table that does not exist."""
        listed = listed_names(table.name for table in self.document.tables if table.name)
        suggestion = f"Tables: {listed}." if listed else "The answer is one table: leave out from and the name."
        return invalid_select(f"there is no table {name.text[:40]!r}", name.offset, suggestion)


_WISHES = (
    (r"(?:daily|log|simple)?\s*returns?|daily change", "SELECT date, {0} / lag({0}) OVER (ORDER BY date) - 1 AS change "
     "FROM data"),
    (r"(?:cumulative|total) returns?|performance|change|gain|growth", "change_percent({0})"),
    (r"rolling|moving average|moving|sma|running", "SELECT date, avg({0}) OVER (ORDER BY date ROWS 19 PRECEDING) AS "
     "average FROM data"),
    (r"(?:max(?:imum)? )?drawdown", "SELECT min({0} / peak - 1) FROM (SELECT {0}, max({0}) OVER (ORDER BY date) "
     "AS peak FROM data)"),
    (r"volatility", "stddev({0})"),
    (r"describe|summary|statistics|stats", "min({0}), max({0}), mean({0}), count"),
    (r"reversed?", "oldest first"),
    (r"(?:biggest |largest |worst )?(?:drop|loss|fall)", "SELECT date, {0} / lag({0}) OVER (ORDER BY date) - 1 "
     "AS change FROM data ORDER BY change LIMIT 1"),
    (r"yoy|year over year", "SELECT date, {0} / lag({0}, 12) OVER (ORDER BY date) - 1 AS change FROM data"),
)  # fmt: skip
"""Name of what no column has → a form that returns it."""


def _other_form(name: str, column: str) -> str:
    """Return the form that returns what a name requests, or an empty text."""
    found = (form for words, form in _WISHES if re.fullmatch(words, name.strip()[:MAX_NAME_CHARS], re.I))
    return next(found, "").format(column)


def spellings(name: str) -> Iterator[tuple[str, str]]:
    """Yield a name in the forms that a path may have, each with what stands before it.

    Example:
        >>> list(spellings("Global Quote.05. price"))[-1]
        ('Global Quote', 'price')
    """
    yield "", name
    if match := _ORDINAL.match(name):
        yield "", name[match.end() :]
    for position in [position for position, sign in enumerate(name) if sign == "."][:4]:
        before, rest = name[:position], name[position + 1 :]
        match = _ORDINAL.match(rest)
        yield before, rest[match.end() :] if match else rest


def _with_words(wanted: Sequence[str], names: Iterable[str]) -> Iterator[str]:
    for other in names if wanted else ():
        words = _words(other)
        if all(any(_is_like(word, part) for part in words) for word in wanted):
            yield other


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name[:MAX_NAME_CHARS])]


def _is_like(word: str, part: str) -> bool:
    if word == part or (len(word) >= _MIN_PREFIX and part.startswith(word)):
        return True
    stem = _ENDINGS.sub("", word)
    return len(stem) >= _MIN_PREFIX and stem == _ENDINGS.sub("", part)


def first_names(names: Iterable[str]) -> list[str]:
    """Return the first names, shortened, for the details of an error."""
    return [name[:MAX_NAME_CHARS] for name, _ in zip(names, range(MAX_LISTED), strict=False)]


def listed_names(names: Iterable[str]) -> str:
    """Return the first names for the text of an error."""
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(MAX_LISTED), strict=False))
