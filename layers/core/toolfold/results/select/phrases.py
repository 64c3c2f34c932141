"""Find what the words of a ``select`` mean in an answer: columns, fields, functions, numbers of rows.

A phrase is one column (``adjusted close``), several (``date close``), a function (``max close``) or a number of rows
(``latest close``). What is called so exactly comes first, then what a name can only mean here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results.select import functions
from toolfold.results.select.names import FILLERS, ColumnLookup, DocumentNames, spellings
from toolfold.results.select.selection import Call, Column, Expression, Name, RowLimit, invalid_select
from toolfold.text_safety import quoted_name

_ONE_ROW = {
    **dict.fromkeys(("latest", "newest", "last", "recent", "most recent", "current"), "newest"),
    **dict.fromkeys(("first",), "first"),
    **dict.fromkeys(("oldest", "earliest"), "oldest"),
    **dict.fromkeys(("upcoming", "next"), "next"),
}
"""Words that mean one row where no column is called so."""

_COUNT_WORDS = {"count", "number of rows", "row count", "rows count", "how many", "how many rows", "total rows",
                "length", "number of records", "record count", "number of entries", "count of rows",
                "count rows"}  # fmt: skip
_OHLC = {"ohlc": ("open", "high", "low", "close"), "ohlcv": ("open", "high", "low", "close", "volume")}


class Phrases:
    """The meanings of words in some tables of a document.

    Args:
        names: the names of the document.
        lookups: the columns of the tables that may be used.
    """

    def __init__(self, names: DocumentNames, lookups: Sequence[ColumnLookup]) -> None:
        self._names, self._lookups = names, lookups
        self.notes: dict[str, None] = {}
        self.fields: dict[str, Any] = {}

    def known(self, text: str) -> str | None:
        """Return the column that is called ``text``, perhaps with a path before it."""
        for before, rest in spellings(text):
            is_path = not before or self._names.is_whole(before) or self._names.table(before) is not None
            if is_path and (column := self._names.column(rest)) is not None:
                return column
        return None

    def guess(self, name: Name) -> str | None:
        """Return the column that can only be meant by ``name``, which no column is called."""
        synonym = self._names.synonym(name.text)
        if synonym is not None:
            self.notes[f"{quoted_name(name.text)} is read as {quoted_name(synonym)}."] = None
            return synonym
        return _best(name.text, self._names.guesses(name.text))

    def time_unit(self, name: Name) -> Call | None:
        """Return ``month`` or ``monthly`` as a calculation from the dates of the rows, where there are dates."""
        unit = name.text.lower().removesuffix("s").removesuffix("ly")
        dated = next((lookup for lookup in self._lookups if lookup.date_index is not None), None)
        if unit not in functions.TIME_UNITS or dated is None or dated.date_index is None:
            return None
        return Call(unit, (Column(Name("date", name.offset)),), name.text, name.offset)

    def column(self, name: Name) -> Name:
        """Return the column that ``name`` means.

        Raises:
            InvalidArguments: no column is called so, or several may be.
        """
        found = self.known(name.text) or self.guess(name)
        if found is None:
            raise self.unknown(name)
        return Name(found, name.offset)

    def unknown(self, name: Name) -> Exception:
        """Return the error for a name that is that of no column, or can be that of several."""
        guesses = self._names.guesses(name.text) or self._names.guesses(name.text, True)
        if len(guesses) > 1:
            listed = " or ".join(quoted_name(guess) for guess in guesses[:4])
            return invalid_select(
                f"{quoted_name(name.text)} can be {listed}", name.offset, f"Write {quoted_name(guesses[0])}."
            )
        found = self._names.cell(name.text)
        if found is not None:
            column, value = found
            form = f"{quoted_name(column)}={quoted_name(value)}"
            return invalid_select(
                f"there is no column {name.text[:40]!r}", name.offset, f"Write {form} for these rows."
            )
        return self._names.no_column(name)

    def pieces(self, name: Name) -> Iterator[Name]:
        """Yield the longest parts of a phrase that mean something, and single words that do not."""
        words, offset = name.text.split(" "), name.offset
        while words:
            size = next(
                (
                    size
                    for size in range(min(len(words), 6), 1, -1)
                    if self.meaning(Name(" ".join(words[:size]), offset))
                ),
                1,
            )
            text = " ".join(words[:size])
            if text:
                yield Name(text, offset)
            offset += len(text) + 1
            words = words[size:]

    def meaning(self, name: Name) -> list[Expression | RowLimit] | None:
        """Return what a phrase as a whole means; [] for a field, which is selected; None: nothing."""
        text, names = name.text, self._names
        if (column := self.known(text)) is not None:
            return [Column(Name(column, name.offset))]
        for before, rest in spellings(text):
            is_path = not before or not self._lookups or names.is_whole(before) or names.table(before) is not None
            if is_path and (key := names.field(rest)) is not None:
                self.fields[key] = names.metadata[key]
                return []
        lowered = text.lower()
        if lowered in _OHLC and all(names.column(column) for column in _OHLC[lowered][:4]):
            return [Column(Name(column, name.offset)) for column in _OHLC[lowered] if names.column(column)]
        if lowered in _ONE_ROW:
            return [RowLimit(_ONE_ROW[lowered], 1, name.offset)]
        if lowered in _COUNT_WORDS:
            return [Call("count", (), text, name.offset)]
        if (unit := self.time_unit(name)) is not None:
            return [unit]
        if names.is_whole(text):
            return []
        guessed = self._guessed(name)
        return self.function(name) if guessed is None else guessed

    def _guessed(self, name: Name) -> list[Expression | RowLimit] | None:
        guessed = self.guess(name)
        if guessed is not None:
            return [Column(Name(guessed, name.offset))]
        field_ = self._names.synonym(name.text, is_field=True) or _best(name.text, self._names.guesses(name.text, True))
        if field_ is not None:
            key = self._names.field(field_) or field_
            self.fields[key] = self._names.metadata[key]
            return []
        return None

    def function(self, name: Name) -> list[Expression | RowLimit] | None:
        """Return ``max close`` or ``average of close`` as a function."""
        first, _, rest = name.text.partition(" ")
        function = functions.AGGREGATES.get(first.lower())
        rest = rest.removeprefix("of ").removeprefix("the ")
        if function is None or not rest or function in ("first", "last", "percentile", "count_distinct"):
            return None
        column = self.known(rest) or self.guess(Name(rest, name.offset))
        if column is None:
            return None
        return [Call(function, (Column(Name(column, name.offset + len(first) + 1)),), name.text, name.offset)]


def _best(name: str, guesses: list[str]) -> str | None:
    """Return the only guess, or the only one that has no other words."""
    if len(guesses) < 2:
        return guesses[0] if guesses else None
    wanted = normalize("".join(word for word in name.split() if word.lower() not in FILLERS))
    exact = [guess for guess in guesses if normalize(guess) == wanted]
    return exact[0] if len(exact) == 1 else None
