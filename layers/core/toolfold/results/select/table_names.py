"""Find the tables that a ``select`` names: ``from holdings``, ``holdings: symbol``, ``annual reports revenue``."""

from __future__ import annotations

from dataclasses import replace

from toolfold.results.select.names import DocumentNames, spellings
from toolfold.results.select.selection import (
    All,
    Column,
    Comparison,
    Condition,
    Item,
    Name,
    Selection,
    top_conditions,
)
from toolfold.results.tables import Table


def find_tables(selection: Selection, names: DocumentNames) -> tuple[Selection, list[Table]]:
    """Return the selection without the names of tables, and these tables."""
    found: list[Table] = []
    items: list[Item] = []
    if selection.table is not None:
        items += _from(selection.table, names, found)
    for item in selection.items:
        items += _without_tables(item, names, found)
    conditions: list[Condition] = []
    for condition in top_conditions(selection.condition):
        labelled = _label(condition, names, found)
        if labelled is None:
            conditions.append(condition)
        else:
            items = labelled + items
    limit = selection.row_limit
    if limit is not None and limit.of is not None:
        rest = _without_tables(Item(Column(limit.of), limit.of.text), names, found)
        of = rest[0].expression.name if rest and isinstance(rest[0].expression, Column) else None
        limit = replace(limit, of=of)
    joined = All(tuple(conditions)) if conditions else None
    changed = replace(selection, items=tuple(items), condition=joined, row_limit=limit, table=None)
    return changed, list({id(table): table for table in found}.values())


def _from(name: Name, names: DocumentNames, found: list[Table]) -> list[Item]:
    """Append the table of ``from``; return the words behind it that are not part of its name."""
    words = name.text.split()
    for size in range(len(words), 0, -1):
        text = " ".join(words[:size])
        table = names.table(text) or names.guess_table(text)
        if table is not None or names.is_whole(text):
            found += [table] if table is not None else []
            offset = name.offset + len(name.text) - len(" ".join(words[size:]))
            return [Item(Column(Name(word, offset)), word) for word in [" ".join(words[size:])] if word]
    raise names.no_table(name)


def _without_tables(item: Item, names: DocumentNames, found: list[Table]) -> list[Item]:
    """Append the tables that an item names; return the rest of the item."""
    if not isinstance(item.expression, Column):
        return [item]
    name = item.expression.name
    if names.column(name.text) or names.field(name.text):
        return [item]
    table = names.table(name.text)
    if table is None:
        for before, rest in spellings(name.text):
            inner = names.table(before) if before else None
            if inner is not None or (before and names.is_whole(before)):
                found += [inner] if inner is not None else []
                return [replace(item, expression=Column(Name(rest, name.offset + name.text.find(rest))))]
    if table is None and not (names.synonym(name.text) or names.guesses(name.text) or names.guesses(name.text, True)):
        table = names.guess_table(name.text)
    if table is not None:
        found.append(table)
        return []
    if names.is_whole(name.text):
        return []
    return _without_leading_table(item, name, names, found)


def _without_leading_table(item: Item, name: Name, names: DocumentNames, found: list[Table]) -> list[Item]:
    """Do the same for ``annual reports total revenue``: the words of a table, then others."""
    words = name.text.split()
    for size in range(len(words) - 1, 0, -1):
        text = " ".join(words[:size])
        table = names.table(text)
        if table is not None and not names.column(text):
            found.append(table)
            rest = " ".join(words[size:])
            return [replace(item, expression=Column(Name(rest, name.offset + name.text.find(rest))), text=rest)]
    return [item]


def _label(condition: Condition, names: DocumentNames, found: list[Table]) -> list[Item] | None:
    """Return the items of ``holdings: symbol``, or None when the name before the colon is not that of a table."""
    if not isinstance(condition, Comparison) or condition.operator != ":" or not isinstance(condition.left, Column):
        return None
    name = condition.left.name
    if names.column(name.text):
        return None
    table = names.table(name.text) or names.guess_table(name.text)
    if table is None and not names.is_whole(name.text):
        return None
    found += [table] if table is not None else []
    operand = condition.operands[0]
    expression = operand.expression or Column(Name(operand.text, operand.offset))
    return _without_tables(Item(expression, operand.text), names, found)
