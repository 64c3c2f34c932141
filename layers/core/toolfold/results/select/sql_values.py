"""Write calculations and comparisons so that SQLite makes of dates and their parts what other databases make.

SQLite takes ``max(date) - 30`` as 2026 - 30, and ``strftime('%m', date) = 12`` as a text that equals no number, without
a word. Nulls come last in the result, as in most databases for ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from toolfold.results import values
from toolfold.results.select import sql_names
from toolfold.results.select.sql_names import Names
from toolfold.results.select.sql_tokens import (
    Token,
    arguments,
    at,
    closing,
    operand_start,
    parse,
    top_level,
    untokenize,
)
from toolfold.results.tables import as_number

_DATES = frozenset(("date", "date_trunc", "date_add"))
"""Functions that return a date."""

_OF_CELLS = frozenset(("max", "min", "first", "last", "lag", "lead", "first_value", "last_value", "coalesce", "ifnull"))
"""Functions that return a date where their first argument is one."""

_TEXTS = frozenset(("strftime", "date_format", "to_char", "substr", "substring", "left_part", "right_part"))
"""Functions that return the digits of a part of a date as a text."""

_NUMBERS = frozenset(("year", "quarter", "month", "week", "day", "weekday", "hour", "minute", "date_part"))
_NAMES = frozenset(("dayname", "monthname"))
_SHORT_NAME = 3

_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", ">", "<=", ">=", "in", "between", "not"))
_END_OF_ORDER = ("limit", "offset", ";", "union", "intersect", "except")


def resolve(tokens: list[Token], names: Names) -> list[Token]:
    """Return the tokens with names as in the answer, and what compares or calculates with dates as SQLite takes it.

    Raises:
        InvalidArguments: as ``sql_names.resolve``.
    """
    tokens = _each(_days, sql_names.resolve(tokens, names), names)
    tokens = _each(_compared, tokens, names)
    return _nulls_last(tokens)


def _each(
    step: Callable[[list[Token], int, Names], list[Token] | None], tokens: list[Token], names: Names
) -> list[Token]:
    index = 0
    while index < len(tokens):
        tokens = step(tokens, index, names) or tokens
        index += 1
    return tokens


# Days


def _days(tokens: list[Token], index: int, names: Names) -> list[Token] | None:
    """Write ``max(date) - 30`` as ``date_minus(max(date), 30)``, which takes a date or a number of days."""
    sign = tokens[index].text
    if sign not in ("-", "+") or at(tokens, index - 1).text in ("(", ",", "") or index == 0:
        return None
    start, stop = _window_start(tokens, index - 1), _operand_stop(tokens, index + 1)
    if stop == index + 1 or not _is_date(tokens[start:index], names):
        return None
    left, right = untokenize(tokens[start:index]), untokenize(tokens[index + 1 : stop])
    text = f"date_minus({left}, {right})" if sign == "-" else f"date_add('day', {right}, {left})"
    return [*tokens[:start], *parse(text, tokens[start].space), *tokens[stop:]]


def _window_start(tokens: Sequence[Token], last: int) -> int:
    """Return where the operand that ends at ``last`` starts, with the function before OVER."""
    start = operand_start(tokens, last)
    return operand_start(tokens, start - 2) if at(tokens, start - 1).word == "over" else start


def _operand_stop(tokens: Sequence[Token], start: int) -> int:
    """Return the index behind the operand, or the product of operands, that starts at ``start``."""
    stop = start
    if at(tokens, stop).text == "(":
        stop = closing(tokens, stop) + 1
    elif at(tokens, stop).kind in ("number", "string") or at(tokens, stop).is_name:
        stop += 1
        while at(tokens, stop).text == "." and at(tokens, stop + 1).is_name:
            stop += 2
        if at(tokens, stop).text == "(":
            stop = closing(tokens, stop) + 1
        if at(tokens, stop).word == "over" and at(tokens, stop + 1).text == "(":
            stop = closing(tokens, stop + 1) + 1
    if stop > start and at(tokens, stop).text in ("*", "/") and (further := _operand_stop(tokens, stop + 1)) > stop + 1:
        return further
    return min(stop, len(tokens))


def _is_date(operand: Sequence[Token], names: Names) -> bool:
    """Return whether an operand is a date: a column of dates, a function of one, a query for one."""
    first = at(operand, 0)
    if len(operand) == 1 and first.kind == "string":
        return values.is_date(first.name)
    if operand and all(token.is_name or token.text == "." for token in operand):
        column = names.column(operand[-1].name)
        kinds = names.kinds(column) if column is not None else frozenset()
        return bool(kinds) and kinds <= {"date", "time"}
    if first.text == "(":
        inner = list(operand[1 : closing(operand, 0)])
        if at(inner, 0).word == "select":
            places = [index for index, token in top_level(inner) if token.word == "from"]
            inner = inner[1 : places[0]] if places else inner[1:]
        return bool(inner) and _is_date(inner, names)
    if first.kind != "name" or at(operand, 1).text != "(":
        return False
    parts = arguments(operand[2 : closing(operand, 1)])
    return first.word in _DATES or (first.word in _OF_CELLS and bool(parts) and _is_date(parts[0], names))


# Comparisons


def _compared(tokens: list[Token], index: int, names: Names) -> list[Token] | None:
    """Compare parts of dates with numbers as numbers, and with texts as texts."""
    if tokens[index].word not in _COMPARISONS or index == 0 or at(tokens, index - 1).word == "not":
        return None
    start = operand_start(tokens, index - 1)
    function, place = at(tokens, start).word, index + 1
    while at(tokens, place).word in ("in", "between", "("):
        place += 1
    value = at(tokens, place)
    is_text = function in _TEXTS and at(tokens, start + 1).text == "("
    if value.kind == "number" and (is_text or _is_text_alias(tokens, start, index, names)):
        return [*tokens[:index], *parse("+ 0"), *tokens[index:]]
    if value.kind != "string" or at(tokens, start + 1).text != "(":
        return None
    if function in _NUMBERS and as_number(value.name) is not None:
        end = closing(tokens, place - 1) if at(tokens, place - 1).text == "(" else place + 1
        end = place + 3 if at(tokens, place + 1).word == "and" and tokens[place - 1].word == "between" else end
        return [*tokens[:place], *map(_as_number, tokens[place:end]), *tokens[end:]]
    if function in _NAMES and value.name.isalpha() and tokens[index].text in ("=", "=="):
        call, name = untokenize(tokens[start:index]), value.name.capitalize()
        text = f"substr({call}, 1, {_SHORT_NAME})" if len(name) == _SHORT_NAME else call
        return [*tokens[:start], *parse(text, tokens[start].space), tokens[index],
                value._replace(text=f"'{name}'"), *tokens[place + 1 :]]  # fmt: skip
    return None


def _as_number(token: Token) -> Token:
    is_number = token.kind == "string" and as_number(token.name) is not None
    return token._replace(kind="number", text=token.name) if is_number else token


def _is_text_alias(tokens: Sequence[Token], start: int, stop: int, names: Names) -> bool:
    """Return whether an operand is the name that the statement gives to a part of dates."""
    operand = tokens[start:stop]
    if not operand or not operand[-1].is_name or operand[-1].name.lower() in names.columns:
        return False
    return operand[-1].name.lower() in _text_aliases(tokens)


def _text_aliases(tokens: Sequence[Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        if token.word in _TEXTS and at(tokens, index + 1).text == "(":
            place = closing(tokens, index + 1) + 1
            alias = at(tokens, place + (at(tokens, place).word == "as"))
            if alias.is_name:
                yield alias.name.lower()


# Order


def _nulls_last(tokens: list[Token]) -> list[Token]:
    places = [index for index, token in top_level(tokens) if token.word == "order"]
    if not places or at(tokens, places[-1] + 1).word != "by":
        return tokens
    start = places[-1] + 2
    stop = next((index for index, token in top_level(tokens) if index > start and token.word in _END_OF_ORDER),
                len(tokens))  # fmt: skip
    result = list(tokens[:start])
    for number, term in enumerate(arguments(tokens[start:stop])):
        result += [Token("sign", ",", -1, "")] if number else []
        has_nulls = any(token.word == "nulls" for token in term)
        result += term if has_nulls or not term else [*term, *parse("NULLS LAST")]
    return [*result, *tokens[stop:]]


__all__ = ["resolve"]
