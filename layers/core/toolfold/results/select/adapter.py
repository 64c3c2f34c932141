"""Refuse or adapt what does not fit in an expression of a select: texts and numbers are never compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time

from sqlglot import exp

from toolfold.dates import MONTHS, WEEKDAYS, parse_date
from toolfold.results.select.dialect import (
    ARITHMETIC,
    COMPARISONS,
    MIRRORED,
    OF_NUMBERS,
    OF_ONE_NUMBER,
    OF_ORDERED,
    argument_of,
    call_of,
    column_of,
    date_text,
    function_of,
    is_condition,
    kind_of,
    shown,
    transformed,
)
from toolfold.results.select.names import invalid
from toolfold.results.types import Kind, number_of
from toolfold.results.values import has_decimal_comma
from toolfold.text_safety import quoted_name

_OF_DATES = frozenset(("date_part", "dayname", "monthname"))
_OF_TIMES = _OF_DATES | {"date", "datetime", "strftime", "date_trunc", "date_add", "date_diff", "date_format"}
_NAMES_OF_PARTS: Mapping[str, Sequence[str]] = {"dayname": WEEKDAYS, "monthname": MONTHS}
_MAY_BE_TRUE = (Kind.BOOLEAN, Kind.ANY, Kind.EMPTY)
TRUTHS = {**dict.fromkeys(("true", "yes", "y", "1"), True), **dict.fromkeys(("false", "no", "n", "0"), False)}
"""Word in lower case → whether it is true."""


def _require_counted(tree: exp.Expr) -> None:
    """Refuse to count a condition, of which false is a value as well, and ``countif`` of another expression."""
    for one in tree.find_all(exp.Count):
        require_flat(None if isinstance(one.this, exp.Distinct) else one.this)
        if one.this is not None and is_condition(one.this):
            problem = f"{shown(one)} counts each row in which the condition has a value, true or false"
            next_step = "Write sum, or the condition as a step before count."
            raise invalid(problem, next_step, replaces=[(r"\bcount\((?!\*)", "sum(")])
    for counted in tree.find_all(exp.CountIf):  # sqlglot takes a second argument for another setting
        if not is_condition(counted.this):
            raise invalid("countif needs a condition", "Write the condition as a step before count.")


@dataclass(frozen=True)
class Adapter:
    """Check an expression against the kinds of its columns, and write literals as values of these kinds.

    Attributes:
        today: the day of relative dates.
        folds: whether texts are compared without regard to letter case.
        puts_nulls_first: whether a statement says that nulls come first in its order; else they come last.
    """

    today: date
    folds: bool = True
    puts_nulls_first: bool = False

    def adapt(self, tree: exp.Expr) -> exp.Expr:
        """Return the tree with adapted parts.

        Raises:
            InvalidSelect: parts do not fit each other.
        """
        _require_counted(tree)
        if any(isinstance(side, COMPARISONS) for one in tree.find_all(*COMPARISONS) for side in one.iter_expressions()):
            raise invalid("two comparisons in a row are not read", "Write each alone, as in x > 2 and x < 5.")
        for one in tree.find_all(*COMPARISONS, exp.In, exp.Between):
            require_flat(one.this)
        for distinct in tree.find_all(exp.Distinct):
            for value in distinct.expressions:
                require_flat(value)
        handlers: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
            **dict.fromkeys(COMPARISONS, self._comparison),
            **dict.fromkeys((*ARITHMETIC, exp.Neg), self._arithmetic),
            exp.Between: self._between,
            exp.In: self._in,
            exp.Like: self._like,
            exp.Is: self._is,
            exp.Ordered: self._ordered,
            **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.Where, exp.Having), self._logic),
        }
        return transformed(tree, lambda node: handlers.get(type(node), self._function)(node))

    # Comparisons

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        left, right = node.this, node.expression
        has_nulls = kind_of(left).is_date or kind_of(left).is_number  # where an empty cell is null
        for side in (left, right):
            if isinstance(side, exp.Null) or (has_nulls and isinstance(side, exp.Literal) and not side.name):
                is_not = "not " if isinstance(node, exp.NEQ) else ""
                replaces = [(r"\s*(?:!=|<>|=+)\s*(?:null\b|''|\"\")", f" is {is_not}null")]
                raise invalid("nothing is equal to null", f"Write {shown(left)} is {is_not}null.", replaces=replaces)
        is_mirrored = _is_value(left) and not _is_value(right)
        if is_mirrored or (kind_of(left).is_number and _may_be_digits(right)):
            return self._compared(MIRRORED[type(node)], right, left)
        return self._compared(type(node), left, right)  # type: ignore[arg-type]

    def _compared(self, operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        kind = kind_of(left)
        if kind.is_date and function_of(right) in ("date", "strftime"):
            right = _beside_date(right, kind)
        if isinstance(right, exp.Literal) and (names := _NAMES_OF_PARTS.get(function_of(left))):
            right = _name_in(names, left, right.name)
        if kind_of(right).is_number and _may_be_digits(left, Kind.ANY, Kind.TEXT):
            return operator(this=call_of("as_number", left), expression=right)
        is_equality = operator in (exp.EQ, exp.NEQ)
        for side in (left, right):
            if kind_of(side) is Kind.MIXED and not is_equality:
                raise _mixed(side)
        if function_of(right.this if isinstance(right, exp.Neg) else right) == "_percent":
            return operator(this=left, expression=self._percent(left, right))
        are_numbers = kind.is_number and (_is_value(right) or kind_of(right).is_number)
        columns = [column for column in map(column_of, (left, right)) if column is not None]
        if are_numbers and any(column.index is None and column.kind is Kind.NUMBER for column in columns):
            # With the twelve digits that are shown it equals what a reader copies.
            left, right = (side if _is_value(side) else call_of("shown", side) for side in (left, right))
        if kind.is_date and _is_value(right):
            return self._with_date(operator, left, right)
        if kind.is_number and isinstance(right, exp.Literal) and right.is_string:
            return operator(this=left, expression=self._as_number(left, right))
        if kind is Kind.BOOLEAN and isinstance(right, exp.Literal):
            if (truth := TRUTHS.get(right.name.lower())) is None:
                problem = f"{shown(left)} is true or false, and {quoted_name(right.name)} is neither"
                raise invalid(problem, f"Write {shown(left)} = true or {shown(left)} = false.")
            return operator(this=left, expression=exp.Boolean(this=truth))
        if kind in (Kind.TEXT, Kind.MIXED):
            return self._with_text(operator, left, right)
        _require_alike(left, right)
        return operator(this=left, expression=right)

    def _with_text(self, operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        if isinstance(right, exp.Boolean):
            right = exp.Literal.string(str(right.this).lower())
        if (column := column_of(right)) is not None and column.kind.is_number and operator in (exp.EQ, exp.NEQ):
            word = rf"(?<![\w'\"]){re.escape(column.name)}(?![\w'\"])"
            problem = f"{quoted_name(column.name)} is a column of numbers, and {shown(left)} is text"
            raise invalid(problem, f"Write '{column.name}' for the text.", replaces=[(word, f"'{column.name}'")])
        if (isinstance(right, exp.Literal) and not right.is_string) or kind_of(right).is_number:
            if operator not in (exp.EQ, exp.NEQ) or not isinstance(right, exp.Literal):
                raise invalid(f"{shown(left)} is text, which is not compared with a number", _equality_form(left))
            right = exp.Literal.string(right.name)
        if operator not in (exp.EQ, exp.NEQ) and isinstance(right, exp.Literal) and parse_date(right.name):
            raise invalid(f"{shown(left)} is text, which is not compared with a date")
        if not self.folds:
            return operator(this=left, expression=right)
        if isinstance(right, exp.Literal) and not right.name.isascii():
            return operator(this=call_of("fold", left), expression=exp.Literal.string(right.name.casefold()))
        return operator(this=exp.Collate(this=left, expression=exp.var("NOCASE")), expression=right)

    def _with_date(self, operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        text = right.name
        readings = parse_date(text, self.today)
        if len(readings) > 1:
            days = [str(reading.low.date()) for reading in readings]
            replaces = [(re.escape(text), day) for day in days]
            raise invalid(f"{text} can be two dates", f"Write {' or '.join(days)}.", replaces=replaces, is_choice=True)
        if not readings:
            raise invalid(f"{shown(left)} is a date, and {quoted_name(text)} is not", "Write e.g. 2025-06-30.")
        # Midnight is that of a day without a time; the last moment of a day is after each of its times.
        (reading,) = readings
        has_time = reading.has_time and reading.low.time() != time()
        low = exp.Literal.string(reading.low.strftime("%Y-%m-%dT%H:%M:%S" if has_time else "%Y-%m-%d"))
        high = exp.Literal.string(reading.high.strftime("%Y-%m-%dT%H:%M:%S.999999"))
        if operator in (exp.EQ, exp.NEQ):
            within = exp.paren(exp.Between(this=left, low=low, high=high))
            return within if operator is exp.EQ else exp.Not(this=within)
        return operator(this=left, expression=high if operator in (exp.GT, exp.LTE) else low)

    def _as_number(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        text = right.name
        unit = left.expressions[0].name if function_of(left) == "date_part" else ""
        number = number_of(text.lower().removeprefix("q") if unit == "quarter" else text)
        if unit == "month":
            number = next((at for at, name in enumerate(MONTHS, 1) if text.lower() in (name, name[:3])), number)
        if number is None:
            column, readings = column_of(left), parse_date(text, self.today)
            factor = {"s": 1, "ms": 1000}.get(column.unit if column is not None else "", 0) * (len(readings) == 1)
            numbers = [f"{int(reading.low.timestamp()) * factor}" for reading in readings if factor]
            numbers += [str(int(TRUTHS[text.lower()]))] if text.lower() in TRUTHS else []
            problem = f"{shown(left)} is a number, and {quoted_name(text)} is not"
            replaces = [(rf"(?<!\w)'?{re.escape(text)}'?(?!\w)", one) for one in numbers]
            raise invalid(problem, f"Write a number, as in {shown(left)} > 10.", replaces=replaces)
        return exp.Literal.number(number) if number >= 0 else exp.Neg(this=exp.Literal.number(-number))

    def _percent(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        is_negative = isinstance(right, exp.Neg)
        number: exp.Expr = (right.this if is_negative else right).expressions[0]
        number = exp.Neg(this=number) if is_negative else number
        column = column_of(left)
        if column is not None and (column.unit == "%" or "percent" in column.name.lower()):
            return number
        share = f"{float(number.sql().replace(' ', '')) / 100:g}"
        problem = f"whether {shown(left)} has percentages or fractions is not known"
        next_step = f"Write {share}, where 1 is everything, or {shown(number)}, where 100 is."
        replaces = [(rf"{re.escape(number.name)}(?:\.0)? ?%", text) for text in (share.lstrip("-"), number.name)]
        raise invalid(problem, next_step, replaces=replaces, is_choice=True)

    def _between(self, node: exp.Expr) -> exp.Expr:
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
        return exp.paren(exp.and_(self._comparison(low), self._comparison(high), copy=False))

    def _is(self, node: exp.Expr) -> exp.Expr:
        """Return whether a cell is null, as a list without values is; or true, as no text is but one for that."""
        kind = kind_of(node.this)
        if isinstance(node.expression, exp.Boolean) and kind not in _MAY_BE_TRUE and not kind.is_number:
            if kind.is_date:
                raise invalid(
                    f"{shown(node.this)} is a date, neither true nor false", f"Write {shown(node.this)} is null."
                )
            equal = self._comparison(exp.EQ(this=node.this.copy(), expression=node.expression))
            return exp.paren(exp.and_(exp.Not(this=exp.Is(this=node.this, expression=exp.Null())), equal, copy=False))
        if kind is not Kind.NESTED or not isinstance(node.expression, exp.Null):
            return node
        return exp.paren(exp.or_(node, exp.EQ(this=node.this.copy(), expression=exp.Literal.string("[]"))))

    def _like(self, node: exp.Expr) -> exp.Expr:
        """Lower letters that LIKE does not: it ignores the case of ASCII alone."""
        pattern = node.expression
        if not self.folds or not isinstance(pattern, exp.Literal) or pattern.name.isascii():
            return node
        return exp.Like(this=call_of("fold", node.this), expression=exp.Literal.string(pattern.name.casefold()))

    def _in(self, node: exp.Expr) -> exp.Expr:
        if (found := node.find(exp.Select)) is not None:
            left, right = node.this, found.expressions[0].unalias()
            for one, other in ((left, right), (right, left)):
                if _may_be_digits(one) and kind_of(other).is_number:
                    one.replace(call_of("as_number", one.copy()))
        if not node.expressions:
            return node
        equal = [self._comparison(exp.EQ(this=node.this.copy(), expression=value)) for value in node.expressions]
        if all(isinstance(one, exp.EQ) and one.this == equal[0].this for one in equal):
            return exp.In(this=equal[0].this, expressions=[one.expression for one in equal])
        return exp.paren(exp.or_(*equal, copy=False))

    def _logic(self, node: exp.Expr) -> exp.Expr:
        takes_numbers, is_not = isinstance(node, exp.Where | exp.Having), isinstance(node, exp.Not)
        for side in (node.this, node.expression):
            kind = kind_of(side.unnest()) if isinstance(side, exp.Expr) else Kind.ANY
            fits = kind in _MAY_BE_TRUE or (takes_numbers and kind.is_number)
            if not fits and not isinstance(side, exp.Subquery):
                name = shown(side)
                word = rf"{r'not ' * is_not}(?<![\w'\".]){re.escape(name)}(?![\w'\".])"
                words = ("no", "No", "N", "n", "false", 0) if is_not else ("yes", "Yes", "Y", "y", "true", 1)
                replaces = [(word, f"{name} = {value!r}") for value in words]
                next_step = f"Write what it is compared with, as in {name} = 1."
                raise invalid(f"{name} is a value, and a condition is needed", next_step, replaces=replaces)
        return node

    # Values

    def _arithmetic(self, node: exp.Expr) -> exp.Expr:
        left, right = node.this, node.expression
        kinds = kind_of(left), kind_of(right)
        if kinds[0].is_date and isinstance(node, exp.Sub):
            return call_of("date_minus", left, right)
        if kinds[0].is_date and isinstance(node, exp.Add) and kinds[1].is_number:
            return call_of("date_add", "day", right, left)
        for side in list(node.iter_expressions()):
            if function_of(side) == "_percent" and isinstance(node, exp.Binary):
                side.replace(exp.Literal.number(float(side.expressions[0].name) / 100))
            else:
                _require_number(side)
        return node

    def _function(self, node: exp.Expr) -> exp.Expr:
        name = function_of(node)
        arguments: Sequence[exp.Expr] = [node.this] if isinstance(node.this, exp.Expr) else node.expressions
        if not arguments and name in OF_NUMBERS | OF_ORDERED:
            raise invalid(f"{name} needs a column", f"Write e.g. {name}(close).")
        if name == "length" and kind_of(arguments[0]) is Kind.NESTED:
            return call_of("item_count", arguments[0])
        if name in OF_ORDERED or (name == "cast_number" and _has_decimal_comma(arguments[0])):
            _require_order(arguments[0])
        for argument in arguments if name in OF_NUMBERS | OF_ONE_NUMBER else ():
            if name in OF_NUMBERS or column_of(argument) is not None:  # digits of a text may be computed
                _require_number(argument)
        if name in _OF_TIMES:
            _require_times(node)
        if name == "strftime" and arguments and re.search("%[aAbB]", arguments[0].name):  # SQLite has no names
            return call_of("date_format", *reversed(arguments))
        is_column = name in _OF_DATES and column_of(arguments[-1]) is not None
        if is_column and kind_of(arguments[-1]) not in (Kind.DATE, Kind.DATETIME, Kind.EMPTY, Kind.ANY):
            raise invalid(f"{shown(arguments[-1])} is no column of dates")
        return node

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        _require_order(node.this)
        column = column_of(node.this)
        written = column.written.strip('"').partition("(")[0] if column is not None else function_of(node.this)
        if written == "weekday" or written in _NAMES_OF_PARTS:
            node.set("this", call_of("calendar_place", node.this))
        if not self.folds and not self.puts_nulls_first:
            node.set("nulls_first", False)
        return node


def _beside_date(call: exp.Expr, kind: Kind) -> exp.Expr:
    """Return the text in ``date('2026-02')``, which is null in SQLite; beside a day, a computed midnight as a day."""
    has_time = kind is Kind.DATE and function_of(call) == "strftime"
    text = date_text(call)
    return call_of("replace", call, "T00:00:00", "") if has_time and text is call else text


def _require_alike(left: exp.Expr, right: exp.Expr) -> None:
    """Refuse a date or a text beside a number, and a number beside true or false."""
    kind, other = kind_of(left), kind_of(right)
    if (kind.is_date and other.is_number) or (kind.is_number and other.is_date):
        written = [shown(side).replace(" ", "") for side in (left, right)]
        dates = [text for text in written if parse_date(text)]
        replaces = [(rf"(?<!['\w]){re.escape(text)}(?!['\w])", f"'{text}'") for text in dates]
        raise invalid(f"{shown(left)} and {shown(right)} are a date and a number", replaces=replaces)
    if kind.is_number and isinstance(right, exp.Boolean):
        next_step, replaces = f"Write a number, as in {shown(left)} > 10.", [(r"\btrue\b", "1"), (r"\bfalse\b", "0")]
        raise invalid(f"{shown(left)} is a number, which is not true or false", next_step, replaces=replaces)
    if kind.is_number and other is Kind.TEXT:
        raise invalid(f"{shown(right)} is text, and {shown(left)} a number")


def _name_in(names: Sequence[str], part: exp.Expr, text: str) -> exp.Expr:
    """Return the name of a day or a month that a text begins: ``Fri``, ``Mondays``."""
    begin = text.lower().removesuffix("s")
    meant = next((name for name in names if begin[:3] == name[:3] and name.startswith(begin)), "")
    if not meant:
        problem = f"{shown(part)} has the names {names[0].title()} to {names[-1].title()}, not {quoted_name(text)}"
        raise invalid(problem, f"Write e.g. {shown(part)} = {names[0].title()}.")
    return exp.Literal.string(meant.title())


def _may_be_digits(node: exp.Expr, *kinds: Kind) -> bool:
    """Return whether a computed value may be a text of digits, as ``strftime('%m', date)`` and a part of JSON are."""
    is_computed = column_of(node) is None and isinstance(node, exp.Func | exp.Column) and not _is_value(node)
    return is_computed and kind_of(node) in (kinds or (Kind.ANY,))


def _is_value(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg):
        return _is_value(node.this)
    return isinstance(node, exp.Literal | exp.Boolean) or function_of(node) == "_percent"


def _require_order(node: exp.Expr) -> None:
    if kind_of(node) is Kind.MIXED:
        raise _mixed(node)
    require_flat(node)


def _require_number(node: exp.Expr) -> None:
    _require_order(node)
    kind = kind_of(node)
    if kind in (Kind.TEXT, Kind.DATE, Kind.DATETIME):
        raise invalid(f"{shown(node)} is {'text' if kind is Kind.TEXT else 'a date'}, not a number")


def _require_times(node: exp.Expr) -> None:
    """Refuse seconds since 1970 in a function of dates, which takes them for days, and is null."""
    parts = list(node.iter_expressions())
    is_told = any(isinstance(part, exp.Literal) and part.name in ("unixepoch", "auto") for part in parts)
    for part in parts:
        unit = column.unit if (column := column_of(part)) is not None else ""
        if unit == "ms" or (unit == "s" and not is_told):
            name, count = shown(part), "milliseconds" if unit == "ms" else "seconds"
            form = f"{name}{' / 1000' if unit == 'ms' else ''}"
            form = form if is_told else f"datetime({form}, 'unixepoch')"
            problem = f"{name} may be {count} since 1970, and is no date"
            raise invalid(problem, f"Write {form}.")


def _mixed(node: exp.Expr) -> Exception:
    node = node if column_of(node) is not None else argument_of(node) or node
    column, name = column_of(node), shown(node)
    misfit = column.misfit if column is not None else ""
    problem = f"the values of {name} are not of one kind of numbers or dates, as {quoted_name(misfit)} shows"
    number = f"replace(replace({name}, '.', ''), ',', '.')" if _has_decimal_comma(node) else name
    cast = f"CAST({number} AS REAL) reads each text as a number, or refuses it; replace({name}, ' kg', '') has no unit."
    return invalid(problem, f"{_equality_form(node)} {cast}")


def _has_decimal_comma(node: exp.Expr) -> bool:
    column = column_of(node)
    return column is not None and has_decimal_comma(re.sub(r"[^\d.,]", "", column.misfit))


def _equality_form(node: exp.Expr) -> str:
    return f"{shown(node)} can be shown, and compared with =, in, like and contains."


def require_flat(node: exp.Expr | None) -> None:
    """Refuse cells that are lists or objects where these are compared, counted, sorted or grouped."""
    if node is not None and kind_of(node) is Kind.NESTED:
        name = shown(node)
        sql = f"SELECT x.value FROM data, json_each(data.{name}) AS x."
        next_step = f"{name} can be compared with like and contains; SQL has its values: {sql}"
        raise invalid(f"the cells of {name} are lists or objects", next_step)
