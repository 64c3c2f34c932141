"""Find the column or table that a name means: one resolver for all forms of ``select``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from toolfold.errors import InvalidSelect
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results.select.errors import invalid, listed
from toolfold.results.tables import DATE_NAMES, Table
from toolfold.results.types import Kind
from toolfold.results.values import clean_names
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

PARTS_OF_DATES = frozenset(("year", "quarter", "month", "week", "weekday", "day", "hour", "minute"))
"""Names that are parts of a date, and not the one column that has the word: ``year`` is not ``10year``."""

_MAX_COMPARED = 2_000


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


@dataclass
class Names:
    """The names at a step.

    Attributes:
        columns: those that can be named.
        date: the column of dates; None without one.
        dropped: names that an earlier step left out → that step. No other column is meant by them.
        notes: which names were read as another.
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
            raise invalid(
                f"{quoted_name(name)} can be {listed(one.name for one in alike)}", "Write one of them exactly."
            )
        if alike:
            return alike[0]
        if self.step_without(name):
            return None
        if wanted in DATE_NAMES and self.date is not None:
            return self.date
        having = [one for one in named if wanted in words_of(one.name)]
        if not by_word or len(having) != 1 or wanted in PARTS_OF_DATES:
            return None
        note = f"{quoted_name(name)} is read as {quoted_name(having[0].name)}."
        self.notes += [note] if note not in self.notes else []
        return having[0]

    def exact(self, name: str) -> Column | None:
        """Return the column of exactly that name, or the one to whose name a unit was added: ``yield_percent``."""
        wanted = (name, f"{name}_percent")
        found = {one.name: one for one in (*self.nested, *self.columns) if one.name in wanted}
        return found.get(name) or found.get(wanted[1])

    def step_without(self, name: str) -> str:
        """Return the earlier step that left out a name, without regard to case and signs; empty without such a step."""
        wanted = normalize(name)
        return next((step for other, step in self.dropped.items() if normalize(other) == wanted), "")

    def unknown(
        self, name: str, known: Sequence[str], *, offset: int | None = None, forms: Iterable[str] = ()
    ) -> InvalidSelect:
        """Return the error for a name that no column has; ``known`` are those that can be written."""
        if step := self.step_without(name):
            return invalid(
                f"{quoted_name(name)} is not among the columns of {quoted_name(step)}, which an earlier step chose",
                f"Write the step that needs {quoted_name(name)} before it.",
                offset=offset,
                forms=forms,
            )
        return unknown_column(name, known, offset=offset, forms=forms)


def words_of(name: str) -> set[str]:
    """Return the words of a name and its neighbouring words together, normalized.

    >>> sorted(words_of("totalRevenue"))
    ['revenue', 'total', 'totalrevenue']
    """
    words = [word.casefold() for word in _WORDS.findall(name)]
    return {"".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}


def written_name(name: str) -> str:
    """Return a name as it is written in a step: in quotes where it is not a word."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def closest_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that a wrong one may mean, best first: those with the word, then those alike."""
    compared = [other for other in known[:_MAX_COMPARED] if len(other) <= MAX_NAME_CHARS]
    having = [other for other in compared if normalize(name) in words_of(other)]
    return list(dict.fromkeys([*having, *closest_matches(name, compared, 3)]))[:3]


def unknown_column(
    name: str,
    known: Sequence[str],
    *,
    offset: int | None = None,
    forms: Iterable[str] = (),
    text_for: str = "",
) -> InvalidSelect:
    """Return the error for a column that there is not; ``text_for`` is how it stands where a text may be meant."""
    closest = closest_names(name, known)
    replaces = [(rf"(?<!\w){re.escape(name)}(?!\w)", written_name(one).replace("\\", "")) for one in closest]
    replaces += [(re.escape(text_for), "'" + name.replace("'", "''") + "'")] if text_for else []
    means = f"Did you mean {' or '.join(map(quoted_name, closest))}? " if closest else ""
    return invalid(
        f"there is no column {quoted_name(name)}",
        f"{means}Columns: {listed(known)}.",
        offset=offset,
        forms=forms,
        replaces=replaces,
        is_choice=len(closest) > 1,
        unknown=name,
    )


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
