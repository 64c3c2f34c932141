"""Parse the conditions of a ``select``: ``strike>=200 or type=call``, ``date after Jan 9 2026``, ``close is null``."""

from __future__ import annotations

import re

from toolfold.errors import InvalidArguments
from toolfold.results.select.amounts import parse_amount
from toolfold.results.select.comparison_words import (
    AND,
    BARE,
    DATE_LIKE,
    DATE_OPERATORS,
    LEFT_VALUE,
    LIST,
    LIST_ITEM,
    NULL_TEST,
    OPERATORS,
    OR,
    ORDER_SIGN,
    STOP,
    THOUSANDS,
    TO_DATE,
)
from toolfold.results.select.dates import DATE_PATTERN
from toolfold.results.select.expressions import QUOTED, ExpressionParser
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
    Operand,
    invalid_select,
    parts_of,
)

_NOT = re.compile(r"not\b(?!\s++null)|!(?!=)", re.I)
_PAIR = re.compile(r"\s*+(?:and\b|to\b|\.\.|,|-|&+)\s*+", re.I)
_NEXT_ALTERNATIVE = re.compile(r"\|(?!\|)(?=\S)")
_OTHER_SIGNS = {"≤": "<=", "=<": "<=", "≥": ">=", "=>": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DATE_WORDS = {"after": ">", "since": ">=", "from": ">=", "before": "<", "until": "<=", "by": "<=", "to": "<="}


class ConditionParser(ExpressionParser):
    """Reads conditions beside calculations."""

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
        if (between := self._bounded()) is not None:
            return between
        period = self.period()
        if period is not None:
            return period
        return self._in_parentheses() or self._comparison()

    def _bounded(self) -> Condition | None:
        """Return ``250 <= close <= 260`` or ``2026-01-05 <= date``: comparisons whose first value is on the left."""
        start = self.offset
        value = DATE_PATTERN.match(self.text, start) or LEFT_VALUE.match(self.text, start)
        sign = ORDER_SIGN.match(self.text, value.end()) if value else None
        if value is None or sign is None:
            return None
        self.offset = sign.end()
        middle = self.expression()
        if middle is None or not any(isinstance(part, Column) for part in parts_of(middle)):
            self.offset = start
            return None
        written = self.text[sign.end() : self.offset].strip()
        low = _OTHER_SIGNS.get(sign[1], sign[1])
        first = Comparison(middle, _TURNED[low], (Operand(value[0], start),))
        second = ORDER_SIGN.match(self.text, self.offset)
        if second is None:
            return first
        high, self.offset = _OTHER_SIGNS.get(second[1], second[1]), second.end()
        operand = self._operand(high)
        if high[0] != low[0]:
            suggestion = f"Write {written}{_TURNED[low]}{value[0]} and {written}{high}{operand.text}."
            raise invalid_select("the two signs have different directions", second.start(1), suggestion)
        return All((first, Comparison(middle, high, (operand,))))

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
            offset = self.behind_space(end)
            match = BARE.match(self.text, offset)
            if match is None or offset == end or STOP.match(self.text, offset) or self._begins_part(offset):
                return end
            if self._is_compared_name(offset):
                return end
            end = match.end()
