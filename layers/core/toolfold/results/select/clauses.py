"""Parse a whole ``select`` part by part; ``conditions`` and ``expressions`` parse what is in it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from toolfold.results.select import clause_words, functions
from toolfold.results.select.conditions import ConditionParser
from toolfold.results.select.expressions import QUOTED
from toolfold.results.select.period_words import MAX_COUNT, WRITTEN_NUMBERS, parse_period
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Column,
    Condition,
    Expression,
    Item,
    Name,
    Order,
    Period,
    RowLimit,
    Selection,
    Slice,
    invalid_select,
)

MAX_ITEMS, MAX_CONDITIONS = 250, 60
"""Columns and functions, and conditions, of one expression: SQLite has limits of its own."""


class SelectParser(ConditionParser):
    """Parses one expression.

    Args:
        text: the expression.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text.rstrip())
        self._selection = Selection()
        self._items: list[Item] = []
        self._conditions: list[Condition] = []
        self._all_columns = False

    def parse(self) -> Selection | None:
        """Return the selection, or None when it selects everything."""
        self._skip_separator()
        while self.offset < len(self.text):
            start = self.offset
            if not self._clause():
                unit = self.unit()
                if isinstance(unit, Item) and not unit.alias and (direction := self._direction()):
                    self._sort(unit, direction)
                elif isinstance(unit, Item):
                    self._items.append(unit)
                else:
                    self._conditions.append(unit)
            if self.offset == start:
                raise invalid_select(f"{self.text[start : start + 20]!r} cannot be understood", start)
            if len(self._items) > MAX_ITEMS or len(self._conditions) > MAX_CONDITIONS:
                most = f"{MAX_ITEMS} columns and {MAX_CONDITIONS} conditions"
                raise invalid_select(f"has more than {most}", start, "Write less in one select.")
            self._skip_separator()
        condition = self._joined_conditions()
        items = () if self._all_columns and not self._selection.groups else tuple(self._items)
        selection = replace(self._selection, items=items, condition=condition)
        return None if selection == Selection() else selection

    def _direction(self) -> str:
        """Return ``desc`` of ``close desc``, and move behind it; empty: none."""
        match = clause_words.DIRECTION.match(self.text, self.offset)
        if match is None or clause_words.NO_ORDER.match(self.text, self.offset):
            return ""
        self.offset = match.end()
        return match["way"]

    def _sort(self, item: Item, direction: str) -> None:
        """Sort by ``item``, as ``close desc`` says; what is computed is returned, too."""
        order = Order(item.expression, _is_descending(direction))
        self._selection = replace(self._selection, order=(*self._selection.order, order))
        if not isinstance(item.expression, Column) and all(known.text != item.text for known in self._items):
            self._items.append(item)

    def _joined_conditions(self) -> Condition | None:
        """Return the conditions of all parts as one; dates that do not overlap are alternatives."""
        dates = [one for one in self._conditions if isinstance(one, Period) and one.low and one.high]
        ordered = sorted(dates, key=lambda period: period.low)
        if len(dates) > 1 and all(first.high < second.low for first, second in itertools.pairwise(ordered)):
            rest = [one for one in self._conditions if one not in dates]
            self._conditions = [*rest, AnyOf(tuple(dates))]
        return All(tuple(self._conditions)) if len(self._conditions) > 1 else next(iter(self._conditions), None)

    def _skip_separator(self) -> None:
        self.offset = clause_words.SEPARATOR.match(self.text, self.offset).end()  # type: ignore[union-attr]

    # Which part begins where

    def begins_clause(self, offset: int) -> bool:
        """Return whether a part such as ``last 5`` begins at ``offset``."""
        return self._match(offset) is not None

    def period(self) -> Period | None:
        """Return the period that is written at the offset, and move behind it; None when there is no such text."""
        found = parse_period(self.text, self.offset)
        if found is None:
            return None
        period, self.offset = found
        return period

    def _match(self, offset: int) -> tuple[str, re.Match[str]] | None:
        if self.text[offset : offset + 1] in ("", "(", "!"):
            return None
        for kind, pattern in clause_words.PARTS.items():
            if match := pattern.match(self.text, offset):
                if kind in ("take", "one", "rows") and parse_period(self.text, offset) is not None:
                    return None  # last 5 days
                return kind, match
        return None

    def _clause(self) -> bool:
        """Parse a part that begins with a word of its own; return whether there was one."""
        found = self._match(self.offset)
        if found is None:
            return False
        kind, match = found
        start, self.offset = self.offset, match.end()
        if kind in ("call", "take", "equals", "one", "rows"):
            word = re.sub(
                r"\s+", " ", match.groupdict().get("which") or match.groupdict().get("before") or "head"
            ).lower()
            self._limit(RowLimit(clause_words.WHICH[word], _count(match["count"]), start))
        elif kind in ("top", "most"):
            self._ranked(kind, match, start)
        else:
            getattr(self, f"_parse_{kind}")(match)
        return True

    # The parts

    def _parse_exactly(self, _match: re.Match[str]) -> None:
        self._selection = replace(self._selection, exactly=True)

    def _parse_everything(self, _match: re.Match[str]) -> None:
        self._all_columns = True

    def _limit(self, limit: RowLimit) -> None:
        if self._selection.row_limit is not None:
            raise invalid_select("only one of last, first, top and limit can be used", limit.offset)
        self._selection = replace(self._selection, row_limit=limit)

    def _ranked(self, kind: str, match: re.Match[str], start: int) -> None:
        """Parse ``top 5 by volume``, ``top 5 volume``, ``highest close``."""
        which = match["which"].lower()
        count = _count(match["count"] or match.groupdict().get("before") or "")
        if kind == "most":
            which = clause_words.MOST[which]
        of, by = None, clause_words.BY.match(self.text, self.offset)
        if by is None:
            self.skip_space()
            begins_other = self.begins_clause(self.offset) or self._begins_part(self.offset)
            if not begins_other and self._is_function(self.offset):  # highest mean(volume)
                ranked = Order(self._needed_expression("by"), descending=which == "top")
                self._limit(RowLimit(which, count, start))
                self._selection = replace(self._selection, order=(ranked, *self._selection.order))
                return
            words = None if begins_other else self._phrase()
            of = words.name if words is not None else None
            by = clause_words.BY.match(self.text, self.offset)
        order: tuple[Order, ...] = ()
        if by is not None:
            self.offset = by.end()
            expression = self._needed_expression("by")
            direction = clause_words.DIRECTION.match(self.text, self.offset)
            self.offset = direction.end() if direction else self.offset
            is_ascending = direction is not None and direction["way"].lower().startswith("asc")
            order = (Order(expression, descending=which == "top" and not is_ascending),)
        self._limit(RowLimit(which, count, start, of))
        self._selection = replace(self._selection, order=(*order, *self._selection.order))

    def _parse_page(self, match: re.Match[str]) -> None:
        self._limit(RowLimit("head", _count(match["count"]), match.start()))
        self._selection = replace(self._selection, skip=int(match["skip"]))

    def _parse_extremes(self, match: re.Match[str]) -> None:
        is_top = match["which"].lower() == "largest"
        self._limit(RowLimit("top" if is_top else "bottom", _count(match["count"]), match.start()))
        order = Order(Column(_name(match, "name")), descending=is_top)
        self._selection = replace(self._selection, order=(order, *self._selection.order))

    _parse_extremes_by = _parse_extremes_of = _parse_extremes

    def _parse_skip(self, match: re.Match[str]) -> None:
        self._selection = replace(self._selection, skip=int(match["count"]))

    def _parse_order(self, _match: re.Match[str]) -> None:
        while True:
            self.skip_space()
            is_minus = self.text[self.offset : self.offset + 1] in ("-", "−")
            self.offset += is_minus
            way = re.compile(r"(desc|asc)(?:ending)?\s+", re.I).match(self.text, self.offset)
            self.offset = way.end() if way else self.offset
            expression = self._needed_expression("order by")
            direction = clause_words.DIRECTION.match(self.text, self.offset)
            word = direction["way"] if direction else way[1] if way else "asc"
            self.offset = direction.end() if direction else self.offset
            descending = is_minus or _is_descending(word)
            self._selection = replace(self._selection, order=(*self._selection.order, Order(expression, descending)))
            comma = clause_words.COMMA.match(self.text, self.offset)
            if comma is None or self._begins_part(comma.end()) or self._is_condition(comma.end()):
                return
            self.offset = comma.end()

    def _parse_by_date(self, match: re.Match[str]) -> None:
        descending = bool(match["reverse"]) or (match["way"] or "oldest").lower() not in ("oldest", "earliest")
        order = Order(Column(Name("date", match.start())), descending)
        self._selection = replace(self._selection, order=(*self._selection.order, order))

    def _parse_ordered(self, match: re.Match[str]) -> None:
        order = Order(self._needed_expression("order by"), match["way"].lower().startswith("desc"))
        self._selection = replace(self._selection, order=(*self._selection.order, order))

    def _parse_minus(self, match: re.Match[str]) -> None:
        column = Column(_name(match, "name"))
        order = Order(column, descending=True, excludes=True)
        self._selection = replace(self._selection, order=(*self._selection.order, order))

    def _parse_group(self, _match: re.Match[str]) -> None:
        while True:
            start = self.offset
            expression = self._needed_expression("group by")
            item = Item(expression, self.text[start : self.offset].strip())
            self._selection = replace(self._selection, groups=(*self._selection.groups, item))
            comma = clause_words.COMMA.match(self.text, self.offset)
            if comma is None or self._begins_part(comma.end()) or self._is_function(comma.end()):
                return
            self.offset = comma.end()

    def _parse_adverb(self, match: re.Match[str]) -> None:
        unit = {"dai": "day", "annual": "year"}.get(match["unit"].lower(), match["unit"].lower())
        item = Item(Column(Name(unit, match.start())), unit)
        self._selection = replace(self._selection, groups=(*self._selection.groups, item))

    def _parse_distinct(self, _match: re.Match[str]) -> None:
        self._selection = replace(self._selection, distinct=True)

    def _parse_without(self, _match: re.Match[str]) -> None:
        while True:
            expression = self._needed_expression("without")
            if not isinstance(expression, Column):
                raise invalid_select("without needs the name of a column", self.offset, "Write e.g. without date.")
            self._selection = replace(self._selection, excluded=(*self._selection.excluded, expression.name))
            comma = clause_words.COMMA.match(self.text, self.offset)
            if comma is None or self._begins_part(comma.end()) or self._is_condition(comma.end()):
                return
            self.offset = comma.end()

    def _parse_table(self, match: re.Match[str]) -> None:
        name = _name(match, "name")
        rest = self._phrase() if match["name"][0] not in "\"'`" and self._is_word_next() else None
        text = f"{name.text} {rest.name.text}" if rest else name.text
        self._selection = replace(self._selection, table=Name(text, name.offset))

    def _parse_columns(self, match: re.Match[str]) -> None:
        for name in QUOTED.finditer(match["names"]):
            column = Name(name[0][1:-1], match.start("names") + name.start())
            self._items.append(Item(Column(column), column.text))

    def _parse_slice(self, match: re.Match[str]) -> None:
        start, stop = (None if match[name] is None else int(match[name]) for name in ("start", "stop"))
        if start is None and stop is None:
            return
        if match["colon"] is None and start is not None:
            stop = start + 1 if start != -1 else None
        if self._selection.rows is not None:
            raise invalid_select("only one range of rows can be used", match.start(), "Write jmespath: and the path.")
        self._selection = replace(self._selection, rows=Slice(start, stop))

    # Helpers

    def _needed_expression(self, after: str) -> Expression:
        self.skip_space()
        start = self.offset
        expression = self.expression()
        if expression is None:
            raise invalid_select(f"{after} needs a column", start, f"Write e.g. {_AFTER.get(after, after)} close.")
        return expression

    def _is_condition(self, offset: int) -> bool:
        before, self.offset = self.offset, offset
        try:
            return self._negated() is not None
        finally:
            self.offset = before

    def _is_function(self, offset: int) -> bool:
        return re.compile(r"\w+\s*\(").match(self.text, offset) is not None and not self._is_time_unit(offset)

    def _is_time_unit(self, offset: int) -> bool:
        return re.compile(rf"(?:{'|'.join(functions.TIME_UNITS)})\s*\(", re.I).match(self.text, offset) is not None

    def _is_word_next(self) -> bool:
        word = re.compile(r"\s+(?!where\b)[A-Za-z]\w*(?=\s*(?:[;,]|$))").match(self.text, self.offset)
        if word is None or self._begins_part(word.start() + 1):
            return False
        self.skip_space()
        return True


_AFTER = {"by": "top 5 by"}


def _is_descending(word: str) -> bool:
    return word.lower().startswith(("desc", "down", "high to", "newest", "largest", "highest"))


def _count(text: str) -> int:
    return min(int(text), MAX_COUNT) if text.isdigit() else WRITTEN_NUMBERS.get(text.lower(), 1)


def _name(match: re.Match[str], group: str) -> Name:
    return Name(match[group].strip("\"'`"), match.start(group))
