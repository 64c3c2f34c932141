"""Find the column, the path into cells or the table that a name means, and word the error for what means none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidSelect
from toolfold.fuzzy import closest_matches, names_beginning, normalize
from toolfold.results import parsing
from toolfold.results.tables import DATE_NAMES, Table
from toolfold.results.types import Kind
from toolfold.results.values import clean_names, sql_identifier
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

PARTS_OF_DATES = frozenset(("year", "quarter", "month", "week", "weekday", "day", "hour", "minute"))
"""Names that are parts of a date, and not the one column that has the word: ``year`` is not ``10year``."""

_MAX_COMPARED = 2_000

_PATH = re.compile(r"""'(?:[^']|'')*'|["`](?P<quoted>[^"`]+)["`]|(?P<path>[^\W\d]\w*(?:\.\w+)+)""")
"""A path, outside of texts in quotation marks."""

_MIN_BEGINNING = 4
"""Letters of a name that is taken for the beginning of another: MarketCap of MarketCapitalization."""

_PRICES = frozenset(("price", "close", "value", "rate", "level"))
"""Names by which one service or another calls the figure that its answer is about."""

_LOOKED_AT, _MAX_PATHS, _MAX_DEPTH = 20, 40, 3
"""Rows whose objects say which paths there are; the most paths of one column that an error lists, and their length."""

EXAMPLES = (
    '"close; last 30", "since 2025-06-01; max(close)", "type = put and strike < 200; top 5 by volume", '
    '"sum(amount) by year", "SELECT … FROM data", "jmespath: feed[0].title"'
)
"""Steps of every kind, for errors."""

_MAX_LISTED = 60
"""Names listed in an error: all of any financial statement."""


def invalid(
    problem: str, next_step: str = "", *, offset: int | None = None, forms: Iterable[str] = (), **facts: Any
) -> InvalidSelect:
    """Return the error for a ``select``.

    Args:
        problem: what is wrong, without a full stop.
        next_step: what to do now; by default, write one of :data:`EXAMPLES`.
        offset: the character, from 0, at which the problem is.
        forms: whole selects that may be meant, best first; the first one that works on the answer is shown.
        facts: what suggestions are made from; see :class:`toolfold.errors.InvalidSelect`.
    """
    place = "" if offset is None else f" (at character {offset})"
    position = {} if offset is None else {"position": offset}
    return InvalidSelect(f"{problem}{place}", next_step or f"Write e.g. {EXAMPLES}.", tuple(forms), facts, **position)


def listed(names: Iterable[str]) -> str:
    """Return names as text, at most sixty of them."""
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(_MAX_LISTED), strict=False))


@dataclass(frozen=True)
class Column:
    """A column at a step.

    Attributes:
        name: as it is shown.
        sql: its name in SQL, which is ours: SQLite compares names without regard to case.
        kind: what it holds.
        index: of the column in the table where its cells are those of the answer; None: it is computed.
        is_key: whether it stays with its rows.
        unit: see :class:`toolfold.results.types.ColumnType`.
        misfit: of a mixed column the first cell that does not fit.
        written: of a computed column the SQL that it was written as, in lower case.
        looks_back: whether it is computed from rows before its own, which the first ones do not have.
    """

    name: str
    sql: str
    kind: Kind = Kind.ANY
    index: int | None = None
    is_key: bool = False
    unit: str = ""
    misfit: str = ""
    written: str = ""
    looks_back: bool = False

    @property
    def zone_note(self) -> str:
        """A note on times that are moved; empty: they are not."""
        return f"Times of {quoted_name(self.name)} are compared in UTC." if self.unit == "UTC" else ""


@dataclass
class Names:
    """The names at a step.

    Attributes:
        columns: those that can be named.
        date: the column of dates; None without one.
        dropped: names that an earlier step left out → that step. No other column is meant by them.
        notes: what the reader must know: which names were read as another, and what the steps add.
        nested: paths into cells, which are columns where they are named.
    """

    columns: Sequence[Column]
    date: Column | None = None
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    nested: Sequence[Column] = ()

    def find(self, name: str, *, by_word: bool = True) -> Column | None:
        """Return the column that ``name`` means: exactly, without case and signs, or by the one that has the word.

        Raises:
            InvalidSelect: several columns differ from it in case alone.
        """
        if exact := self.exact(name):
            return exact
        if name in self.dropped:
            return None
        wanted = normalize(clean_names([name])[0])
        # A calculation without a name, "-close", is no spelling of the column in it.
        named = [one for one in self.columns if not one.written or one.name.isidentifier()]
        alike = [one for one in named if normalize(one.name) == wanted]
        if len(alike) > 1:
            problem = f"{quoted_name(name)} can be {listed(one.name for one in alike)}"
            raise invalid(problem, "Write one of them exactly.")
        if alike:
            return alike[0]
        if self.step_without(name):
            return None
        if wanted in DATE_NAMES and self.date is not None:
            return self.date
        having = [one for one in named if wanted in words_of(one.name)]
        # Beside a price, the previous close is not the close.
        is_price = wanted in _PRICES and any(normalize(one.name) in _PRICES for one in named)
        if not by_word or len(having) != 1 or wanted in PARTS_OF_DATES or is_price:
            return None
        self.note(f"{quoted_name(name)} is read as {quoted_name(having[0].name)}.")
        return having[0]

    def note(self, text: str) -> None:
        """Add a note once; leave out an empty one."""
        self.notes += [text] if text and text not in self.notes else []

    def __contains__(self, name: object) -> bool:
        """Return whether ``name`` is exactly that of a column."""
        return self.exact(str(name)) is not None

    def exact(self, name: str) -> Column | None:
        """Return the column of exactly that name."""
        return next((one for one in (*self.columns, *self.nested) if one.name == name), None)

    def step_without(self, name: str) -> str:
        """Return the earlier step that left out a name, without regard to case and signs; empty without such a step."""
        wanted = normalize(name)
        return next((step for other, step in self.dropped.items() if normalize(other) == wanted), "")


def words_of(name: str) -> set[str]:
    """Return the words of a name and its neighbouring words together, normalized.

    >>> sorted(words_of("totalRevenue"))
    ['revenue', 'total', 'totalrevenue']
    """
    words = [word.casefold() for word in _WORDS.findall(name)]
    return {"".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}


def written_name(name: str) -> str:
    """Return a name as it is written in a step: in quotes where it is not a word."""
    return name if name.isidentifier() else sql_identifier(name)


def unknown_column(name: str, known: Sequence[str], *, offset: int | None = None, step: str = "") -> InvalidSelect:
    """Return the error for a column that there is not, in the text of the ``step``."""
    compared = [other for other in known[:_MAX_COMPARED] if len(other) <= MAX_NAME_CHARS]
    wanted = normalize(name)
    having = [other for other in compared if wanted in words_of(other)]
    begun = names_beginning(name, compared, _MIN_BEGINNING)
    same = [other for other in compared if {wanted, normalize(other)} <= _PRICES]
    # The column at the end of a path may be of one row of several: AAPL.price.
    alike = closest_matches(name, [other for other in compared if "." in other or "." not in name], 3)
    closest = list(dict.fromkeys([*same, *having, *begun, *alike]))[:3]
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    replaces = [(word, written_name(one).replace("\\", "")) for one in closest]
    # A name with other signs in it, such as attributes.due-on, is written in quotes.
    whole = [one for one in compared if name in one and one in step.replace('"', "") and not one.isidentifier()]
    spelled = ((one, r'\."?'.join(re.escape(part) + '"?' for part in one.split("."))) for one in whole)
    replaces = [*((rf'(?<![\w"])"?{form}(?!\w)', written_name(one)) for one, form in spelled), *replaces]
    if re.search(rf'(?:[=>]|\blike|\bin\s*\()\s*"{re.escape(name)}"', step, re.I):  # compared, as a text in quotes is
        closest = closest[:1]
        replaces.insert(0, (f'"{re.escape(name)}"', "'" + name.replace("'", "''") + "'"))
    means = f"Did you mean {' or '.join(map(quoted_name, closest))}? " if closest else ""
    facts: dict[str, Any] = {"replaces": replaces, "is_choice": len(closest) > 1, "unknown": name}
    problem, next_step = f"there is no column {quoted_name(name)}", f"{means}Columns: {listed(known)}."
    return invalid(problem, next_step, offset=offset, **facts)


def table_name(table: Table) -> str:
    """Return the name by which a table is written."""
    return table.name or "data"


def find_table(name: str, tables: Sequence[Table]) -> Table | None:
    """Return the table called ``name``: by its path, by the last part of it, or by the one name that has the word."""
    wanted = normalize(name)
    for key in (table_name, lambda table: table_name(table).rpartition(".")[2]):
        found = [table for table in tables if normalize(key(table)) == wanted]
        if found:
            return found[0]
    having = [table for table in tables if wanted in words_of(table.name)]
    return having[0] if len(having) == 1 else None


_NOTHING: list[Any] = []
"""What a path leads to in a list whose objects do not have it."""


def with_paths(table: Table, text: str, budget: WorkBudget) -> Table:
    """Return a table with a column for each path in ``text`` that leads to a value; they count as ``nested``."""
    written = dict.fromkeys(match["quoted"] or match["path"] or "" for match in _PATH.finditer(text))
    paths = [path for path in written if "." in path]
    places = {normalize(name): index for index, name in reversed(list(enumerate(table.columns)))} if paths else {}
    found: dict[str, list[Any]] = {}
    for path, index in filter(None, (_column_of(table, places, path) for path in paths)):
        budget.reserve(parsing.list_size(len(table.rows)))
        rest = path.split(".")[1:]
        cells = [_within(row[index], rest) for row in budget.checked(table.rows)]
        is_empty = not any(row[index] for row in table.rows)
        if any(cell is not None and (is_empty or cell is not _NOTHING) for cell in cells):
            found[path] = cells
    if not found:
        return table
    budget.reserve(parsing.rows_size(len(table.rows), len(found)))
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
        names |= paths if 0 < len(paths) <= _MAX_PATHS else {name: None}
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


def _column_of(table: Table, places: Mapping[str, int], path: str) -> tuple[str, int] | None:
    """Return a path without the name of its table, and the column that it begins with."""
    parts = path.split(".")
    for start in range(len(parts) - 1):
        if ".".join(parts[start:]) in table.columns:
            return None
        if (index := places.get(normalize(parts[start]))) is not None:
            return ".".join(parts[start:]), index
    return None


def _within(cell: Any, path: Sequence[str]) -> Any:
    """Return what a path leads to; of a list of objects the values in each, and None where there is nothing."""
    for at, part in enumerate(path):
        if isinstance(cell, list):
            found = [value for item in cell if (value := _within(item, path[at:])) is not None]
            return found or _NOTHING
        cell = cell.get(part) if isinstance(cell, dict) else None
    return cell
