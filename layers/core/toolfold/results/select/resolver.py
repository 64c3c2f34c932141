"""Replace the names of a ``select`` by those of the answer.

``table_names`` finds the tables, ``phrases`` what other words mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results.select import functions
from toolfold.results.select.grouping import COUNTED, find_grouping, has_function
from toolfold.results.select.names import FILLERS, ColumnLookup, DocumentNames
from toolfold.results.select.phrases import Phrases
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
from toolfold.results.select.table_names import find_tables
from toolfold.results.tables import Document
from toolfold.text_safety import quoted_name


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
    names = DocumentNames(document, [ColumnLookup(table) for table in tables])
    selection, named = find_tables(selection, names)
    lookups = [ColumnLookup(table) for table in (named or tables)]
    return _Resolver(document, lookups).resolve(selection)


class _Resolver:
    """Resolves one selection against some tables of a document."""

    def __init__(self, document: Document, lookups: list[ColumnLookup]) -> None:
        self._names, self._lookups = DocumentNames(document, lookups), lookups
        self._phrases = Phrases(self._names, lookups)
        self._aliases: dict[str, Expression] = {}

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
                continue
            counted = self._counted(condition)
            items += [Item(Call("count", (), "count", 0), "count")] if counted is not None else []
            conditions.append(self._condition(counted or condition))
        grouped = [self._group(part) for group in groups for part in self._split_group(group)]
        items += [group for group in grouped if has_function(group.expression)]  # "group by month mean close"
        groups = tuple(group for group in grouped if not has_function(group.expression))
        if any(has_function(item.expression) for item in items):  # calculations for functions of them alone
            items = [
                item for item in items if normalize(item.alias) not in self._aliases or has_function(item.expression)
            ]
        grouping = find_grouping(items, groups, conditions, limit)
        items, groups, conditions = grouping.items, grouping.groups, grouping.conditions
        excluded = [self._phrases.column(name) for name in selection.excluded]
        kept_order = []
        for one in order:
            expression = self._expression(one.expression)
            if one.excludes and isinstance(expression, Column) and self._is_date(expression.name):
                excluded.append(expression.name)
                continue
            if one.excludes and not groups:
                name = quoted_name(getattr(getattr(expression, "name", None), "text", "it"))
                self._phrases.notes[f'Sorted by {name}, largest first; "without {name}" leaves the column out.'] = None
            kept_order.append(replace(one, expression=expression))
        items, is_distinct = _without_unique(items, selection.distinct)
        resolved = replace(
            selection, items=tuple(items), condition=All(tuple(conditions)) if conditions else None, groups=groups,
            having=grouping.having,
            order=tuple(kept_order), row_limit=limit, distinct=is_distinct, excluded=tuple(excluded),
        )  # fmt: skip
        return Resolved(resolved, self._lookups, self._phrases.fields, list(self._phrases.notes))

    def _define(self, selection: Selection) -> None:
        """Store the names that the selection gives to calculations: its other parts may use them."""
        for item in selection.items:
            if item.alias and not self._phrases.known(item.alias) and not isinstance(item.expression, Column):
                self._aliases[normalize(item.alias)] = self._expression(item.expression)
        for condition in top_conditions(selection.condition):
            if (computed := self._assigned(condition)) is not None:
                self._aliases[normalize(computed.alias)] = computed.expression

    def _defined(self, name: Name) -> Expression | None:
        return None if self._phrases.known(name.text) else self._aliases.get(normalize(name.text))

    def _is_date(self, name: Name) -> bool:
        return any(lookup.index(name.text) is not None and lookup.index(name.text) == lookup.date_index
                   for lookup in self._lookups)  # fmt: skip

    def _ranked(
        self, limit: RowLimit, order: tuple[Order, ...], items: list[Item]
    ) -> tuple[tuple[Order, ...], list[Item], RowLimit]:
        """Return ``top 5 volume`` as an order and a number of rows."""
        assert limit.of is not None  # noqa: S101 - only called so
        ranked = self._defined(limit.of) or Column(self._phrases.column(limit.of))
        return (Order(ranked, descending=limit.which == "top"), *order), items, replace(limit, of=None)

    def _assigned(self, condition: Condition) -> Item | None:
        """Return ``spread = high - low`` as a calculation, where no column is called ``spread``."""
        if not isinstance(condition, Comparison) or condition.operator not in ("=", ":"):
            return None
        left, operand = condition.left, condition.operands[0]
        if (
            not isinstance(left, Column)
            or self._phrases.known(left.name.text)
            or not isinstance(operand.expression, Arithmetic | Call)
        ):
            return None
        return Item(self._expression(operand.expression), operand.text, left.name.text)

    def _counted(self, condition: Condition) -> Condition | None:
        """Return the condition of the rows in ``count close > 60``; None for another."""
        if not isinstance(condition, Comparison) or not isinstance(condition.left, Column):
            return None
        name = condition.left.name
        found = None if self._phrases.known(name.text) else COUNTED.fullmatch(name.text)
        if found is None or (self._phrases.known(found["rest"]) or self._names.guesses(found["rest"])) in (None, []):
            return None
        return replace(condition, left=Column(Name(found["rest"], name.offset + found.start("rest"))))

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
        found = self._phrases.meaning(name)
        if found is not None:
            yield from self._as_items(found, item)
            return
        unknown: list[Name] = []
        for word in self._phrases.pieces(name):
            meaning = self._phrases.meaning(word)
            if meaning is None and word.text.lower() not in FILLERS:
                unknown.append(word)
            elif meaning is not None:
                yield from self._as_items(meaning, Item(Column(word), word.text))
        if unknown:
            raise self._phrases.unknown(unknown[0] if len(unknown) < len(name.text.split()) else name)

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

    def _expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Column):
            if (defined := self._defined(expression.name)) is not None:
                return defined
            if self._phrases.known(expression.name.text) is None and (unit := self._phrases.time_unit(expression.name)):
                return unit
            if self._phrases.known(expression.name.text) is None and expression.name.text.lower() == "count":
                return Call("count", (), "count", expression.name.offset)
            if self._phrases.known(expression.name.text) is None and (call := self._phrases.function(expression.name)):
                return call[0]  # type: ignore[return-value]  # a function
            return Column(self._phrases.column(expression.name))
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
        is_one = self._phrases.known(name.text) or self._phrases.guess(name) or self._phrases.time_unit(name)
        for piece in [name] if is_one else self._phrases.pieces(name):
            if piece.text.lower() not in FILLERS:
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
            self._phrases.known(part.name.text) or self._defined(part.name)
            for part in parts_of(expression)
            if isinstance(part, Column)
        ):
            return replace(operand, expression=None)
        return replace(operand, expression=self._expression(expression))


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
