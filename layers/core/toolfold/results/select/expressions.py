"""Parse the calculations of a ``select``: ``(close/open-1)*100 as change``, ``max(close)``, ``adjusted close``."""

from __future__ import annotations

import re

from toolfold.errors import InvalidArguments
from toolfold.results.select import functions
from toolfold.results.select.amounts import AMOUNT, parse_amount
from toolfold.results.select.comparison_words import DATE_LIKE, OPERATORS, STOP
from toolfold.results.select.selection import (
    Arithmetic,
    Call,
    Column,
    Condition,
    Expression,
    Item,
    Name,
    Number,
    invalid_select,
)

MAX_DEPTH = 40
"""Levels of parentheses and signs."""

WORD = re.compile(r"[^\W\d][\w.]*+|\d++\.\s++[A-Za-z_][\w.]*+|\d++[A-Za-z_][\w.]*+")
QUOTED = re.compile(r"\"([^\"]*+)\"|'([^']*+)'|`([^`]*+)`")
_NUMBER = re.compile(AMOUNT, re.I)
_SPACE = re.compile(r"\s*+")
_AS = re.compile(r"\s++as\s++", re.I)
_DISTINCT = re.compile(r"(?:distinct|unique)\s++", re.I)


class ExpressionParser:
    """Reads one text from left to right; ``offset`` is the next character.

    Args:
        text: what is parsed.
    """

    def __init__(self, text: str) -> None:
        self.text, self.offset, self._depth, self._in_operand = text, 0, 0, False

    def begins_clause(self, offset: int) -> bool:
        """Return whether a part such as ``last 5`` begins at ``offset``."""
        raise NotImplementedError

    def period(self) -> Condition | None:
        """Return the period that is written at the offset, and move behind it; None when there is no such text."""
        raise NotImplementedError

    def skip_space(self) -> None:
        """Move to the next character that is not white space."""
        self.offset = self.behind_space(self.offset)

    def behind_space(self, offset: int) -> int:
        """Return the offset of the first character from ``offset`` that is not white space."""
        return _SPACE.match(self.text, offset).end()  # type: ignore[union-attr]  # it matches anywhere

    def item(self) -> Item | None:
        """Return the column or calculation that is next, with its alias."""
        start = self.offset
        expression = self.expression()
        if expression is None:
            return None
        text, alias = self.text[start : self.offset].strip(), ""
        if match := _AS.match(self.text, self.offset):
            name = QUOTED.match(self.text, match.end()) or WORD.match(self.text, match.end())
            if name is None:
                raise invalid_select("as needs a name", match.end(), "Write e.g. high-low as spread.")
            alias, self.offset = name[0].strip("\"'`"), name.end()
        return Item(expression, text, alias)

    # What begins at an offset

    def _is_compared_name(self, offset: int) -> bool:
        word = QUOTED.match(self.text, offset) or WORD.match(self.text, offset)
        return word is not None and self._operator_at(self.behind_space(word.end()))

    def _operator_at(self, offset: int) -> bool:
        return any(pattern.match(self.text, offset) for pattern, _ in OPERATORS)

    def _begins_part(self, offset: int) -> bool:
        if self.begins_clause(offset):
            return True
        before, self.offset = self.offset, offset
        try:
            return self.period() is not None
        finally:
            self.offset = before

    # Calculations

    def expression(self) -> Expression | None:
        """Return the column or calculation that is next; None when there is no such text."""
        left = self._product()
        while left is not None:
            before = self.offset
            self.skip_space()
            operator = self.text[self.offset : self.offset + 1]
            right = None
            if operator and operator in "+-–−":
                self.offset += 1
                right = None if self._begins_part(self.offset) or self._excludes_date(before) else self._product()
            if right is None:
                self.offset = before
                return left
            left = Arithmetic("+" if operator == "+" else "-", left, right)
        return None

    def _excludes_date(self, before: int) -> bool:
        """Return whether the sign before the offset is that of ``close -date``: without the dates."""
        is_apart = self.offset - before > 1 and not self.text[self.offset : self.offset + 1].isspace()
        word = WORD.match(self.text, self.offset) if is_apart else None
        return word is not None and DATE_LIKE.search(word[0]) is not None

    def _product(self) -> Expression | None:
        left = self._signed()
        while left is not None:
            before = self.offset
            self.skip_space()
            operator = self.text[self.offset : self.offset + 1]
            right = None
            if operator and operator in "*/×÷":
                self.offset += 1
                right = self._signed()
            if right is None:
                self.offset = before
                return left
            left = Arithmetic("*" if operator in "*×" else "/", left, right)
        return None

    def _signed(self) -> Expression | None:
        self.skip_space()
        start = self.offset
        if self.text[start : start + 1] not in ("-", "+", "−"):
            return self._primary()
        self._descend()
        self.offset += 1
        value = self._signed()
        self._depth -= 1
        if value is None:
            self.offset = start
            return None
        return value if self.text[start] == "+" else Arithmetic("-", Number(0, "0", start), value)

    def _primary(self) -> Expression | None:
        start, text = self.offset, self.text
        if text[start : start + 1] == "(":
            self._descend()
            self.offset += 1
            inner = self.expression()
            self.skip_space()
            self._depth -= 1
            if inner is None or text[self.offset : self.offset + 1] != ")":
                raise invalid_select("a parenthesis is not closed", start, "Write e.g. (close/open-1)*100.")
            self.offset += 1
            return inner
        if match := QUOTED.match(text, start):
            self.offset = match.end()
            return Column(Name(match[match.lastindex or 0], start))
        word = WORD.match(text, start)
        if word is None:
            return self._number()
        after = self.behind_space(word.end())
        if text[after : after + 1] == "(":
            self.offset = after + 1
            return self._call(word)
        return self._phrase()

    def _number(self) -> Number | None:
        match = _NUMBER.match(self.text, self.offset)
        amount = None if match is None else parse_amount(match[0])
        if match is None or amount is None:
            return None
        self.offset = match.end()
        return Number(amount[0], match[0], match.start())

    def _phrase(self) -> Column | None:
        """Return the words up to the next that begins something else; they are one column or several."""
        start = end = offset = self.offset
        while match := WORD.match(self.text, offset):
            if STOP.match(self.text, offset):
                break
            if offset > start and (self._begins_part(offset) or self._operator_at(offset)):
                break
            after = self.behind_space(match.end())
            if offset > start and (self.text[after : after + 1] == "(" or self._ends_operand(offset)):
                break
            end, offset = match.end(), after
            if offset == end:
                break
        self.offset = end
        return Column(Name(self.text[start:end], start)) if end > start else None

    def _ends_operand(self, offset: int) -> bool:
        return self._in_operand and self._is_compared_name(offset)

    def _call(self, word: re.Match[str]) -> Call:
        arguments: list[Expression] = []
        method, dot, function = word[0].rpartition(".")
        if dot and method:
            arguments.append(Column(Name(method, word.start())))
        self.skip_space()
        distinct = _DISTINCT.match(self.text, self.offset)
        self.offset = distinct.end() if distinct else self.offset
        self._descend()
        while self.text[self.offset : self.offset + 1] not in (")", ""):
            if self.text[self.offset] in "*," or self.text[self.offset].isspace():
                self.offset += 1
                continue
            argument = self.expression()
            if argument is None:
                raise invalid_select(f"{self.text[self.offset : self.offset + 20]!r} cannot be understood", self.offset)
            arguments.append(argument)
        self._depth -= 1
        if self.offset >= len(self.text):
            raise invalid_select("a parenthesis is not closed", word.start(), "Write e.g. max(close).")
        self.offset += 1
        text = self.text[word.start() : self.offset]
        return _checked_call(function, tuple(arguments), text, word.start(), distinct is not None)

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise invalid_select(f"is nested deeper than {MAX_DEPTH} levels", self.offset, "Write less in one select.")


_MOVING = {"sma", "ema", "moving_average", "movingaverage", "rolling", "rolling_mean", "ma", "cumsum", "lag"}


_OF_SQL = {
    **{name: name for name in ("corr", "ln", "log10", "exp", "sqrt", "power", "coalesce")},
    **{"correlation": "corr", "log": "ln", "pow": "power"},
}
"""Functions that SQL has here, by the names that models give them."""


def _no_moving_function(name: str, inner: str, window: Expression | None, offset: int) -> InvalidArguments:
    """Return the error for a function of a window of rows, which SQL has."""
    count = int(window.value) if isinstance(window, Number) and 1 < window.value < 10_000 else 20
    over = f"avg({inner[:40]}) OVER (ORDER BY date ROWS {count - 1} PRECEDING)"
    suggestion = f"Write SELECT date, {over} AS average FROM data."  # noqa: S608 - it is shown, not run
    return invalid_select(f"{name[:20]} over a moving window is for SQL", offset, suggestion)


def _checked_call(name: str, arguments: tuple[Expression, ...], text: str, offset: int, distinct: bool) -> Call:
    lowered = name.lower()
    function = functions.AGGREGATES.get(lowered) or functions.SCALARS.get(lowered)
    if lowered == functions.DISTINCT:
        function = functions.DISTINCT
    inner = text[text.index("(") + 1 : -1].partition(",")[0].strip() or "close"
    moving = function in (None, "mean") and len(arguments) == 2 and isinstance(arguments[1], Number)
    if moving or lowered in _MOVING:
        raise _no_moving_function(name, inner, arguments[-1] if arguments else None, offset)
    if function is None and lowered in _OF_SQL:
        statement = f"SELECT {_OF_SQL[lowered]}{text[len(name) :][:80]} FROM data"  # noqa: S608 - it is shown, not run
        raise invalid_select(f"{name[:20]} is for SQL", offset, f"Write {statement}.")
    if function is None:
        known = ", ".join(functions.SHOWN)
        raise invalid_select(
            f"there is no function {name[:20]}; there are {known}", offset, f"Write e.g. mean({inner[:40]})."
        )
    if function == "count_distinct":
        function, distinct = "count", True
    if not arguments and function != "count":
        raise invalid_select(f"{function} needs a column, as in {function}(close)", offset)
    if len(arguments) != (2 if function == "percentile" else 1) and function not in (
        "count",
        "round",
        functions.DISTINCT,
    ):
        needs = f"one column, as in {function}(close)"
        if function == "percentile":
            needs = "a column and a number, as in percentile(close, 90)"
        raise invalid_select(f"{function} needs {needs}", offset)
    return Call(function, arguments, text, offset, distinct)
