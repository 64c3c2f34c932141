"""Replace the names of a ``select`` by those of the answer: columns, tables, fields, and words with a meaning.

A phrase of several words can be one column (``adjusted close``), several (``date close``), a table (``top gainers``), a
function (``max close``) or a number of rows (``latest close``). What is called so exactly comes first, then what a name
can only mean here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results.select import functions
from toolfold.results.select import names as names_of
from toolfold.results.select.names import ColumnLookup, DocumentNames
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Arithmetic,
    Call,
    Column,
    Comparison,
    Condition,
    Expression,
    IsNull,
    Item,
    Name,
    Not,
    Number,
    Order,
    RowLimit,
    Selection,
    invalid_select,
    parts_of,
    top_conditions,
)
from toolfold.results.tables import Document, Table
from toolfold.text_safety import quoted_name

_ONE_ROW = {
    **dict.fromkeys(("latest", "newest", "last", "recent", "most recent", "current"), "newest"),
    **dict.fromkeys(("first",), "first"),
    **dict.fromkeys(("oldest", "earliest"), "oldest"),
    **dict.fromkeys(("upcoming", "next"), "next"),
}
"""Words that mean one row where no column is called so."""

_COUNT_WORDS = {"count", "number of rows", "row count", "rows count", "how many", "how many rows", "total rows",
                "length",                 "number of records", "record count", "number of entries", "count of rows",
                "count rows"}  # fmt: skip
_OHLC = {"ohlc": ("open", "high", "low", "close"), "ohlcv": ("open", "high", "low", "close", "volume")}


@dataclass
class Resolved:
    """A selection with the names of the answer.

    Attributes:
        selection: the selection; its items are single columns, calculations or functions.
        lookups: the tables that it may apply to.
        fields: selected fields of the metadata.
        notes: how names were read.
    """

    selection: Selection
    lookups: list[ColumnLookup]
    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def resolve(selection: Selection, document: Document) -> Resolved:
    """Return a selection with the names of ``document``.

    Raises:
        InvalidArguments: a name does not exist, or can be two.
    """
    tables = document.tables
    selection, named = _Resolver(document, [ColumnLookup(table) for table in tables]).find_tables(selection)
    lookups = [ColumnLookup(table) for table in (named or tables)]
    return _Resolver(document, lookups).resolve(selection)


class _Resolver:
    """Resolves one selection against some tables of a document."""

    def __init__(self, document: Document, lookups: list[ColumnLookup]) -> None:
        self._names, self._lookups = DocumentNames(document, lookups), lookups
        self._notes: dict[str, None] = {}
        self._fields: dict[str, Any] = {}
        self._aliases: dict[str, Expression] = {}

    # Tables

    def find_tables(self, selection: Selection) -> tuple[Selection, list[Table]]:
        """Return the selection without the names of tables, and these tables."""
        found: list[Table] = []
        items: list[Item] = []
        if selection.table is not None:
            items += self._from(selection.table, found)
        for item in selection.items:
            items += self._without_tables(item, found)
        conditions: list[Condition] = []
        for condition in top_conditions(selection.condition):
            labelled = self._label(condition, found)
            if labelled is None:
                conditions.append(condition)
            else:
                items = labelled + items
        limit = selection.row_limit
        if limit is not None and limit.of is not None:
            rest = self._without_tables(Item(Column(limit.of), limit.of.text), found)
            of = rest[0].expression.name if rest and isinstance(rest[0].expression, Column) else None
            limit = replace(limit, of=of)
        joined = All(tuple(conditions)) if conditions else None
        changed = replace(selection, items=tuple(items), condition=joined, row_limit=limit, table=None)
        return changed, list({id(table): table for table in found}.values())

    def _from(self, name: Name, found: list[Table]) -> list[Item]:
        """Append the table of ``from``; return the words behind it that are not part of its name."""
        words = name.text.split()
        for size in range(len(words), 0, -1):
            text = " ".join(words[:size])
            table = self._names.table(text) or self._names.guess_table(text)
            if table is not None or self._names.is_whole(text):
                found += [table] if table is not None else []
                offset = name.offset + len(name.text) - len(" ".join(words[size:]))
                return [Item(Column(Name(word, offset)), word) for word in [" ".join(words[size:])] if word]
        raise self._names.no_table(name)

    def _without_tables(self, item: Item, found: list[Table]) -> list[Item]:
        """Append the tables that an item names; return the rest of the item."""
        if not isinstance(item.expression, Column):
            return [item]
        name, names = item.expression.name, self._names
        if names.column(name.text) or names.field(name.text):
            return [item]
        table = names.table(name.text)
        if table is None:
            for before, rest in names_of.spellings(name.text):
                inner = names.table(before) if before else None
                if inner is not None or (before and names.is_whole(before)):
                    found += [inner] if inner is not None else []
                    return [replace(item, expression=Column(Name(rest, name.offset + name.text.find(rest))))]
        if table is None and not (
            names.synonym(name.text) or names.guesses(name.text) or names.guesses(name.text, True)
        ):
            table = names.guess_table(name.text)
        if table is not None:
            found.append(table)
            return []
        if names.is_whole(name.text):
            return []
        return self._without_leading_table(item, name, found)

    def _without_leading_table(self, item: Item, name: Name, found: list[Table]) -> list[Item]:
        """Do the same for ``annual reports total revenue``: the words of a table, then others."""
        words = name.text.split()
        for size in range(len(words) - 1, 0, -1):
            text = " ".join(words[:size])
            table = self._names.table(text)
            if table is not None and not self._names.column(text):
                found.append(table)
                rest = " ".join(words[size:])
                return [replace(item, expression=Column(Name(rest, name.offset + name.text.find(rest))), text=rest)]
        return [item]

    def _label(self, condition: Condition, found: list[Table]) -> list[Item] | None:
        """Return the items of ``holdings: symbol``, or None when the name before the colon is not that of a table."""
        if not isinstance(condition, Comparison) or condition.operator != ":" or not isinstance(condition.left, Column):
            return None
        name = condition.left.name
        if self._names.column(name.text):
            return None
        table = self._names.table(name.text) or self._names.guess_table(name.text)
        if table is None and not self._names.is_whole(name.text):
            return None
        found += [table] if table is not None else []
        operand = condition.operands[0]
        expression = operand.expression or Column(Name(operand.text, operand.offset))
        return self._without_tables(Item(expression, operand.text), found)

    # Everything else

    def resolve(self, selection: Selection) -> Resolved:
        """Return the selection with the names of the tables."""
        items: list[Item] = []
        limit, order, groups = selection.row_limit, selection.order, selection.groups
        self._define(selection)
        for item in selection.items:
            for part in self._parts(item):
                if isinstance(part, RowLimit):
                    limit = part if limit is None else limit
                else:
                    items.append(part)
        if limit is not None and limit.of is not None:
            order, items, limit = self._ranked(limit, order, items)
        conditions = []
        for condition in top_conditions(selection.condition):
            if (computed := self._assigned(condition)) is not None:
                items.append(computed)
            else:
                conditions.append(self._condition(condition))
        grouped = [self._group(part) for group in groups for part in self._split_group(group)]
        items += [group for group in grouped if _has_function(group.expression)]  # "group by month mean close"
        groups = tuple(group for group in grouped if not _has_function(group.expression))
        if any(_has_function(item.expression) for item in items):  # calculations for functions of them alone
            items = [
                item for item in items if normalize(item.alias) not in self._aliases or _has_function(item.expression)
            ]
        excluded = [self._column(name) for name in selection.excluded]
        kept_order = []
        for one in order:
            expression = self._expression(one.expression)
            if one.excludes and isinstance(expression, Column) and self._is_date(expression.name):
                excluded.append(expression.name)
                continue
            if one.excludes and not groups:
                name = quoted_name(getattr(getattr(expression, "name", None), "text", "it"))
                self._notes[f'Sorted by {name}, largest first; "without {name}" leaves the column out.'] = None
            kept_order.append(replace(one, expression=expression))
        items, is_distinct = _without_unique(items, selection.distinct)
        resolved = replace(
            selection, items=tuple(items), condition=All(tuple(conditions)) if conditions else None, groups=groups,
            order=tuple(kept_order), row_limit=limit, distinct=is_distinct, excluded=tuple(excluded),
        )  # fmt: skip
        return Resolved(resolved, self._lookups, self._fields, list(self._notes))

    def _define(self, selection: Selection) -> None:
        """Store the names that the selection gives to calculations: its other parts may use them."""
        for item in selection.items:
            if item.alias and not self._known(item.alias) and not isinstance(item.expression, Column):
                self._aliases[normalize(item.alias)] = self._expression(item.expression)
        for condition in top_conditions(selection.condition):
            if (computed := self._assigned(condition)) is not None:
                self._aliases[normalize(computed.alias)] = computed.expression

    def _defined(self, name: Name) -> Expression | None:
        return None if self._known(name.text) else self._aliases.get(normalize(name.text))

    def _is_date(self, name: Name) -> bool:
        return any(lookup.index(name.text) is not None and lookup.index(name.text) == lookup.date_index
                   for lookup in self._lookups)  # fmt: skip

    def _ranked(
        self, limit: RowLimit, order: tuple[Order, ...], items: list[Item]
    ) -> tuple[tuple[Order, ...], list[Item], RowLimit]:
        """Return ``top 5 volume`` as an order and a number of rows."""
        assert limit.of is not None  # noqa: S101 - only called so
        ranked = self._defined(limit.of) or Column(self._column(limit.of))
        return (Order(ranked, descending=limit.which == "top"), *order), items, replace(limit, of=None)

    def _assigned(self, condition: Condition) -> Item | None:
        """Return ``spread = high - low`` as a calculation, where no column is called ``spread``."""
        if not isinstance(condition, Comparison) or condition.operator not in ("=", ":"):
            return None
        left, operand = condition.left, condition.operands[0]
        if (
            not isinstance(left, Column)
            or self._known(left.name.text)
            or not isinstance(operand.expression, Arithmetic | Call)
        ):
            return None
        return Item(self._expression(operand.expression), operand.text, left.name.text)

    # Items

    def _parts(self, item: Item) -> Iterator[Item | RowLimit]:
        """Yield what an item means: a phrase may be several columns."""
        if isinstance(item.expression, Number):
            raise self._lone_number(item.expression)
        if not isinstance(item.expression, Column):
            yield replace(item, expression=self._expression(item.expression))
            return
        name = item.expression.name
        if self._defined(name) is not None:  # the calculation itself is among the items
            return
        found = self._meaning(name)
        if found is not None:
            yield from self._as_items(found, item)
            return
        unknown: list[Name] = []
        for word in self._pieces(name):
            meaning = self._meaning(word)
            if meaning is None and word.text.lower() not in names_of.FILLERS:
                unknown.append(word)
            elif meaning is not None:
                yield from self._as_items(meaning, Item(Column(word), word.text))
        if unknown:
            raise self._unknown(unknown[0] if len(unknown) < len(name.text.split()) else name)

    def _lone_number(self, number: Number) -> Exception:
        problem = f"{number.text} alone is neither a column nor a number of rows"
        numbers = next((name for name in self._names.number_columns()), "column")
        suggestion = f'Write "last {number.text}", "[0:{number.text}]" or a condition such as {numbers}={number.text}.'
        return invalid_select(problem, number.offset, suggestion)

    def _as_items(self, meaning: Sequence[Expression | RowLimit], item: Item) -> Iterator[Item | RowLimit]:
        for one in meaning:
            if isinstance(one, RowLimit):
                yield one
            else:
                text = one.name.text if isinstance(one, Column) else item.text
                yield Item(one, text, item.alias if len(meaning) == 1 else "")

    def _pieces(self, name: Name) -> Iterator[Name]:
        """Yield the longest parts of a phrase that mean something, and single words that do not."""
        words, offset = name.text.split(" "), name.offset
        while words:
            size = next(
                (
                    size
                    for size in range(min(len(words), 6), 1, -1)
                    if self._meaning(Name(" ".join(words[:size]), offset))
                ),
                1,
            )
            text = " ".join(words[:size])
            if text:
                yield Name(text, offset)
            offset += len(text) + 1
            words = words[size:]

    def _meaning(self, name: Name) -> list[Expression | RowLimit] | None:
        """Return what a phrase as a whole means; [] for a field, which is selected; None: nothing."""
        text, names = name.text, self._names
        if (column := self._known(text)) is not None:
            return [Column(Name(column, name.offset))]
        for before, rest in names_of.spellings(text):
            is_path = not before or not self._lookups or names.is_whole(before) or names.table(before) is not None
            if is_path and (key := names.field(rest)) is not None:
                self._fields[key] = names.metadata[key]
                return []
        lowered = text.lower()
        if lowered in _OHLC and all(names.column(column) for column in _OHLC[lowered][:4]):
            return [Column(Name(column, name.offset)) for column in _OHLC[lowered] if names.column(column)]
        if lowered in _ONE_ROW:
            return [RowLimit(_ONE_ROW[lowered], 1, name.offset)]
        if lowered in _COUNT_WORDS:
            return [Call("count", (), text, name.offset)]
        if (unit := self._time_unit(name)) is not None:
            return [unit]
        if names.is_whole(text):
            return []
        guessed = self._guessed(name)
        return self._function(name) if guessed is None else guessed

    def _guessed(self, name: Name) -> list[Expression | RowLimit] | None:
        guessed = self._guess(name)
        if guessed is not None:
            return [Column(Name(guessed, name.offset))]
        field_ = self._names.synonym(name.text, is_field=True) or _best(name.text, self._names.guesses(name.text, True))
        if field_ is not None:
            key = self._names.field(field_) or field_
            self._fields[key] = self._names.metadata[key]
            return []
        return None

    def _function(self, name: Name) -> list[Expression | RowLimit] | None:
        """Return ``max close`` or ``average of close`` as a function."""
        first, _, rest = name.text.partition(" ")
        function = functions.AGGREGATES.get(first.lower())
        rest = rest.removeprefix("of ").removeprefix("the ")
        if function is None or not rest or function in ("first", "last", "percentile", "count_distinct"):
            return None
        column = self._known(rest) or self._guess(Name(rest, name.offset))
        if column is None:
            return None
        return [Call(function, (Column(Name(column, name.offset + len(first) + 1)),), name.text, name.offset)]

    # Names

    def _known(self, text: str) -> str | None:
        """Return the column that is called ``text``, perhaps with a path before it."""
        for before, rest in names_of.spellings(text):
            is_path = not before or self._names.is_whole(before) or self._names.table(before) is not None
            if is_path and (column := self._names.column(rest)) is not None:
                return column
        return None

    def _guess(self, name: Name) -> str | None:
        synonym = self._names.synonym(name.text)
        if synonym is not None:
            self._notes[f"{quoted_name(name.text)} is read as {quoted_name(synonym)}."] = None
            return synonym
        return _best(name.text, self._names.guesses(name.text))

    def _time_unit(self, name: Name) -> Call | None:
        unit = name.text.lower().removesuffix("s").removesuffix("ly")
        dated = next((lookup for lookup in self._lookups if lookup.date_index is not None), None)
        if unit not in functions.TIME_UNITS or dated is None or dated.date_index is None:
            return None
        return Call(unit, (Column(Name("date", name.offset)),), name.text, name.offset)

    def _column(self, name: Name) -> Name:
        """Return the column that ``name`` means.

        Raises:
            InvalidArguments: no column is called so, or several may be.
        """
        found = self._known(name.text) or self._guess(name)
        if found is None:
            raise self._unknown(name)
        return Name(found, name.offset)

    def _unknown(self, name: Name) -> Exception:
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

    def _expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Column):
            if (defined := self._defined(expression.name)) is not None:
                return defined
            if self._known(expression.name.text) is None and (unit := self._time_unit(expression.name)):
                return unit
            if self._known(expression.name.text) is None and (call := self._function(expression.name)):
                return call[0]  # type: ignore[return-value]  # a function
            return Column(self._column(expression.name))
        if isinstance(expression, Arithmetic):
            return replace(expression, left=self._expression(expression.left), right=self._expression(expression.right))
        if isinstance(expression, Call):
            return replace(expression, arguments=tuple(map(self._expression, expression.arguments)))
        return expression

    # Groups and conditions

    def _split_group(self, group: Item) -> Iterator[Item]:
        if not isinstance(group.expression, Column):
            yield group
            return
        name = group.expression.name
        is_one = self._known(name.text) or self._guess(name) or self._time_unit(name)
        for piece in [name] if is_one else self._pieces(name):
            if piece.text.lower() not in names_of.FILLERS:
                yield Item(Column(piece), piece.text)

    def _group(self, group: Item) -> Item:
        expression = self._expression(group.expression)
        text = expression.name.text if isinstance(expression, Column) else group.text
        return replace(group, expression=expression, text=text)

    def _condition(self, condition: Condition) -> Condition:
        if isinstance(condition, All | AnyOf):
            return replace(condition, conditions=tuple(map(self._condition, condition.conditions)))
        if isinstance(condition, Not):
            return Not(self._condition(condition.condition))
        if isinstance(condition, IsNull):
            return IsNull(self._expression(condition.left))
        if not isinstance(condition, Comparison):
            return condition
        operands = tuple(self._operand(operand) for operand in condition.operands)
        operator = "=" if condition.operator == ":" else condition.operator
        return Comparison(self._expression(condition.left), operator, operands)

    def _operand(self, operand: Any) -> Any:
        """Return an operand; its expression is dropped when a name in it is not that of a column."""
        expression = operand.expression
        if expression is None or not all(
            self._known(part.name.text) or self._defined(part.name)
            for part in parts_of(expression)
            if isinstance(part, Column)
        ):
            return replace(operand, expression=None)
        return replace(operand, expression=self._expression(expression))


def _has_function(expression: Expression) -> bool:
    """Return whether an expression has a function of all rows."""
    return any(isinstance(part, Call) and part.function not in functions.SCALARS for part in parts_of(expression))


def _best(name: str, guesses: list[str]) -> str | None:
    """Return the only guess, or the only one that has no other words."""
    if len(guesses) < 2:
        return guesses[0] if guesses else None
    wanted = normalize("".join(word for word in name.split() if word.lower() not in names_of.FILLERS))
    exact = [guess for guess in guesses if normalize(guess) == wanted]
    return exact[0] if len(exact) == 1 else None


def _without_unique(items: list[Item], distinct: bool) -> tuple[list[Item], bool]:
    """Return ``unique(type)`` as the column of a distinct selection."""
    plain: list[Item] = []
    for item in items:
        if isinstance(item.expression, Call) and item.expression.function == functions.DISTINCT:
            distinct = True
            plain += [
                Item(one, one.name.text if isinstance(one, Column) else item.text) for one in item.expression.arguments
            ]
        else:
            plain.append(item)
    return plain, distinct
