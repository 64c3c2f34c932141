"""Parse the calculations and conditions of a ``select``: ``(close/open-1)*100``, ``strike>=200 or type=call``."""

from __future__ import annotations

import re

from toolfold.errors import InvalidArguments
from toolfold.results.select import functions
from toolfold.results.select.amounts import AMOUNT, parse_amount
from toolfold.results.select.comparison_words import (
    AND,
    BARE,
    DATE_LIKE,
    DATE_OPERATORS,
    LIST,
    LIST_ITEM,
    NULL_TEST,
    OPERATORS,
    OR,
    STOP,
    THOUSANDS,
    TO_DATE,
)
from toolfold.results.select.dates import DATE_PATTERN
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
    Operand,
    invalid_select,
)

MAX_DEPTH = 40
"""Levels of parentheses and signs."""

WORD = re.compile(r"[^\W\d][\w.]*+|\d++\.\s++[A-Za-z_][\w.]*+|\d++[A-Za-z_][\w.]*+")
QUOTED = re.compile(r"\"([^\"]*+)\"|'([^']*+)'|`([^`]*+)`")
_NUMBER = re.compile(AMOUNT, re.I)
_SPACE = re.compile(r"\s*+")
_NOT = re.compile(r"not\b(?!\s++null)|!(?!=)", re.I)
_AS = re.compile(r"\s++as\s++", re.I)
_DISTINCT = re.compile(r"(?:distinct|unique)\s++", re.I)
_PAIR = re.compile(r"\s*+(?:and\b|to\b|\.\.|,|-|&+)\s*+", re.I)
_NEXT_ALTERNATIVE = re.compile(r"\|(?!\|)(?=\S)")
_DATE_WORDS = {"after": ">", "since": ">=", "from": ">=", "before": "<", "until": "<=", "by": "<=", "to": "<="}


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
        self.offset = _SPACE.match(self.text, self.offset).end()  # type: ignore[union-attr]  # it matches anywhere

    def unit(self) -> Item | Condition:
        """Return the item or the condition that is next.

        Raises:
            InvalidArguments: there is neither.
        """
        start = self.offset
        condition = self._any_of()
        if condition is not None:
            return condition
        self.offset = start
        item = self.item()
        if item is None:
            raise invalid_select(f"{self.text[start : start + 20]!r} cannot be understood", start)
        return item

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

    # Conditions

    def _any_of(self) -> Condition | None:
        first = self._all_of()
        found = [] if first is None else [first]
        while found and (match := OR.match(self.text, self.offset)):
            before, self.offset = self.offset, match.end()
            self.skip_space()
            following = None if self.begins_clause(self.offset) else self._all_of()
            if following is not None:
                found.append(following)
            elif "|" in match[0] or (alternative := self._alternative(found[-1])) is None:
                self.offset = before
                if "|" not in match[0]:
                    suggestion = "Write e.g. type=call or strike>=200."
                    raise invalid_select("or needs a condition on each side", before, suggestion)
                break
            else:
                found[-1] = alternative
        return AnyOf(tuple(found)) if len(found) > 1 else first and found[0]

    def _all_of(self) -> Condition | None:
        first = self._negated()
        found = [] if first is None else [first]
        while found and (match := AND.match(self.text, self.offset)):
            before, self.offset = self.offset, match.end()
            self.skip_space()
            following = None if self.begins_clause(self.offset) else self._negated()
            if following is None:
                self.offset = before
                break
            found.append(following)
        return All(tuple(found)) if len(found) > 1 else first

    def _negated(self) -> Condition | None:
        start = self.offset
        if match := _NOT.match(self.text, start):
            self.offset = match.end()
            self.skip_space()
            self._descend()
            condition = self._negated()
            self._depth -= 1
            if condition is not None:
                return Not(condition)
            self.offset = start
            return None
        period = self.period()
        if period is not None:
            return period
        return self._in_parentheses() or self._comparison()

    def _in_parentheses(self) -> Condition | None:
        start = self.offset
        if self.text[start : start + 1] != "(":
            return None
        self._descend()
        self.offset += 1
        self.skip_space()
        condition = self._any_of()
        self.skip_space()
        self._depth -= 1
        if condition is not None and self.text[self.offset : self.offset + 1] == ")":
            self.offset += 1
            return condition
        self.offset = start
        return None

    def _comparison(self) -> Condition | None:
        start = self.offset
        left = self.expression()
        condition = None
        if left is not None:
            self.skip_space()
            condition = self._null_test(left) or self._date_comparison(left) or self._compared(left)
        if condition is None:
            self.offset = start
        return condition

    def _null_test(self, left: Expression) -> Condition | None:
        match = NULL_TEST.match(self.text, self.offset)
        if match is None:
            return None
        self.offset = match.end()
        return Not(IsNull(left)) if match["negated"] else IsNull(left)

    def _date_comparison(self, left: Expression) -> Condition | None:
        """Return ``date after Jan 9 2026``; behind the name of anything else, these words begin a period."""
        if not isinstance(left, Column) or not DATE_LIKE.search(left.name.text):
            return None
        match = DATE_OPERATORS.match(self.text, self.offset)
        date = None if match is None else DATE_PATTERN.match(self.text, match.end())
        if match is None or date is None:
            return None
        self.offset = date.end()
        operands = [Operand(date[0], date.start())]
        joint = TO_DATE.match(self.text, date.end())
        if joint and (high := DATE_PATTERN.match(self.text, joint.end())):
            self.offset = high.end()
            return Comparison(left, "between", (*operands, Operand(high[0], high.start())))
        return Comparison(left, _DATE_WORDS.get(match["word"].lower(), "="), tuple(operands))

    def _compared(self, left: Expression) -> Condition | None:
        found = ((one.match(self.text, self.offset), meaning) for one, meaning in OPERATORS)
        match, operator = next(((match, meaning) for match, meaning in found if match), (None, ""))
        if match is None:
            return None
        before, self.offset = self.offset, match.end()
        self.skip_space()
        if operator == ":" and (self.begins_clause(self.offset) or not self.text[self.offset :].strip()):
            self.offset = before
            return None
        if operator == ":" and self._is_calculation_next():  # annual: revenue - cost as profit
            self.offset = before
            return None
        negated, operator = operator.startswith("not "), operator.removeprefix("not ")
        operands = self._operands(operator)
        comparison = Comparison(left, "=" if operator == "in" else operator, operands)
        return Not(comparison) if negated else comparison

    def _is_calculation_next(self) -> bool:
        start = self.offset
        try:
            item = self.item()
        except InvalidArguments:
            return False
        finally:
            self.offset = start
        return item is not None and (bool(item.alias) or isinstance(item.expression, Arithmetic | Call))

    def _operands(self, operator: str) -> tuple[Operand, ...]:
        listed = LIST.match(self.text, self.offset) if operator in ("in", "=", "!=", "contains") else None
        if listed and (operator == "in" or "," in listed["items"] or listed[0].lstrip()[0] == "["):
            self.offset = listed.end()
            items = [
                Operand((match[1] or match[2] or match[3] or "").strip(), listed.start("items") + match.start())
                for match in LIST_ITEM.finditer(listed["items"])
                if match[0].strip()
            ]
            if not items:
                raise invalid_select("the list of values is empty", listed.start("items"))
            return tuple(items)
        operands = [self._operand(operator)]
        if operator == "between":
            pair = _PAIR.match(self.text, self.offset)
            if pair is None:
                raise invalid_select("between needs two values", self.offset, "Write e.g. strike between 100 and 200.")
            self.offset = pair.end()
            operands.append(self._operand(operator))
        while operator in ("=", "!=", "contains", "in") and (match := _NEXT_ALTERNATIVE.match(self.text, self.offset)):
            if self._is_compared_name(match.end()):
                break
            self.offset = match.end()
            operands.append(self._operand(operator))
        return tuple(operands)

    def _alternative(self, condition: Condition) -> Condition | None:
        """Return ``type=call`` extended by the value that follows ``or``: ``type=call or put``."""
        if not isinstance(condition, Comparison) or condition.operator not in ("=", "!=", "contains"):
            return None
        operand = self._operand(condition.operator)
        return Comparison(condition.left, condition.operator, (*condition.operands, operand))

    # Values

    def _operand(self, operator: str) -> Operand:
        """Return the value of a comparison: a quoted text, or the longest of a number, a calculation and words."""
        start = self.offset
        if match := QUOTED.match(self.text, start):
            self.offset = match.end()
            text = match[match.lastindex or 0]
            return Operand(text, start, Column(Name(text, start)) if text else None)
        if match := THOUSANDS.match(self.text, start):
            if operator in ("=", "!=", "in") and match[0].count(",") == 1:
                number, values = match[0].replace(",", ""), match[0].replace(",", "|")
                raise invalid_select(f"{match[0]} can be one number or two", start, f"Write {number} or {values}.")
            self.offset = match.end()
            return Operand(match[0], start)
        expression, expression_end = self._try_expression()
        words_end = self._words_end(start)
        date = DATE_PATTERN.match(self.text, start)
        end = max(expression_end, words_end, date.end() if date else start)
        if end == start:
            raise invalid_select("a value is missing", start, "Write e.g. strike>=200 or type=call.")
        self.offset = end
        is_whole = expression_end == end and not (date and date.end() == end and date.end() - start > 4)
        return Operand(self.text[start:end].strip(), start, expression if is_whole else None)

    def _try_expression(self) -> tuple[Expression | None, int]:
        start, depth = self.offset, self._depth
        was_in_operand, self._in_operand = self._in_operand, True
        try:
            expression = self.expression()
            end = self.offset
        except InvalidArguments:
            expression, end, self._depth = None, start, depth
        self.offset, self._in_operand = start, was_in_operand
        return expression, end

    def _words_end(self, start: int) -> int:
        """Return where the words of a value end: ``Chief Financial Officer``."""
        match = BARE.match(self.text, start)
        if match is None:
            return start
        end = match.end()
        if parse_amount(match[0]) is not None:
            return end
        while True:
            offset = _SPACE.match(self.text, end).end()  # type: ignore[union-attr]
            match = BARE.match(self.text, offset)
            if match is None or offset == end or STOP.match(self.text, offset) or self._begins_part(offset):
                return end
            if self._is_compared_name(offset):
                return end
            end = match.end()

    def _is_compared_name(self, offset: int) -> bool:
        word = QUOTED.match(self.text, offset) or WORD.match(self.text, offset)
        return word is not None and self._operator_at(_SPACE.match(self.text, word.end()).end())  # type: ignore[union-attr]

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
        after = _SPACE.match(text, word.end()).end()  # type: ignore[union-attr]
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
            after = _SPACE.match(self.text, match.end()).end()  # type: ignore[union-attr]
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
