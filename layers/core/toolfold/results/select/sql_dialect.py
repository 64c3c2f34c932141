"""Rewrite other dialects of SQL as SQLite.

``TOP 5``, ``FETCH FIRST 5 ROWS ONLY``, ``x::date``, ``CAST(x AS DATE)`` (which is 2026 in SQLite), ``EXTRACT(YEAR FROM
x)``, ``INTERVAL '30 days'``, ``ILIKE``, and the functions of :data:`_RENAMED`. What has no form in SQLite is an error
that names the one to use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from toolfold.results.select.sql_errors import invalid_sql
from toolfold.results.select.sql_tokens import (
    Token,
    arguments,
    at,
    closing,
    operand_start,
    parse,
    tokenize,
    top_level,
    untokenize,
)

_MAX_REWRITES = 200
"""Of one kind in a statement, which has four thousand characters."""

_REFUSED = {
    "qualify": "Write SELECT * FROM (SELECT *, row_number() OVER (ORDER BY close DESC) AS n FROM data) WHERE n = 1.",
    "regexp": "Write LIKE '%text%', where % is any text.",
    "rlike": "Write LIKE '%text%', where % is any text.",
    "similar": "Write LIKE '%text%', where % is any text.",
    "unnest": "Write FROM data, json_each(data.list) AS j, and j.value for the items.",
    "pivot": "Write sum(CASE WHEN type = 'call' THEN volume END) AS call for each column.",
    "match": "Write LIKE '%text%', where % is any text.",
    "~": "Write LIKE '%text%', where % is any text.",
    "~*": "Write LIKE '%text%', where % is any text.",
    "!~": "Write NOT LIKE '%text%', where % is any text.",
    "!~*": "Write NOT LIKE '%text%', where % is any text.",
}
"""Word of another dialect → what to write."""

_REPLACED = {"ilike": "LIKE", "&&": "AND", "<=>": "IS"}

_RENAMED = {
    **dict.fromkeys(("len", "char_length", "character_length"), "length"),
    **dict.fromkeys(("nvl", "isnull"), "ifnull"),
    **dict.fromkeys(("mean", "average"), "avg"),
    **dict.fromkeys(("std", "stdev", "stdev_s", "stdevp"), "stddev"),
    **dict.fromkeys(("var", "var_s"), "variance"),
    **dict.fromkeys(("string_agg", "listagg"), "group_concat"),
    **dict.fromkeys(("array_agg", "json_agg", "collect_list"), "json_group_array"),
    **dict.fromkeys(("percent_change", "change_percent", "pct_chg"), "pct_change"),
    **dict.fromkeys(("quantile", "percentile_approx", "approx_percentile", "approx_quantile"), "percentile"),
    **dict.fromkeys(("dayofweek", "day_of_week"), "weekday"),
    **dict.fromkeys(("weekofyear", "isoweek"), "week"),
    **dict.fromkeys(("dateadd", "timestampadd"), "date_add"),
    **dict.fromkeys(("timestampdiff", "datetime_diff"), "date_diff"),
    **dict.fromkeys(("to_date", "dateonly"), "date"),
    **dict.fromkeys(("strpos", "charindex"), "instr"),
    "datepart": "date_part",
    "datetrunc": "date_trunc",
    "any_value": "min",
    "if": "iif",
    "left": "left_part",
    "right": "right_part",
    "format": "printf",
}
_TODAY = ("curdate", "getdate", "today", "current_date", "now", "sysdate", "localtimestamp", "current_timestamp")
_UNITS = "year|quarter|month|week|day|hour|minute|second"
_UNIT = re.compile(rf"(?P<unit>{_UNITS})s?", re.I)
_INTERVAL = re.compile(rf"(?P<count>[+-]?\d{{1,6}})\s*(?P<unit>{_UNITS})s?", re.I)
_DAYS, _MONTHS = {"week": 7}, {"quarter": 3}

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("int", "integer", "bigint", "smallint", "int64", "int4", "int8", "signed"), "INTEGER"),
    **dict.fromkeys(("real", "float", "double", "float64", "float8", "number", "money"), "REAL"),
    **dict.fromkeys(("numeric", "decimal", "bignumeric"), "REAL"),
    **dict.fromkeys(("text", "varchar", "char", "string", "nvarchar", "character"), "TEXT"),
}


def rewrite(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a statement as SQLite spells it.

    Raises:
        InvalidArguments: it has a form that SQLite does not have.
    """
    _refuse(tokens)
    tokens = [token._replace(text=_REPLACED.get(token.word, token.text)) for token in tokens]
    tokens = _limits(tokens)
    for step in (_now, _date_literal, _interval_argument, _interval, _cast_sign, _cast, _extract, _within_group):
        tokens = _repeat(step, tokens)
    return _functions(tokens)


def _repeat(step: Callable[[list[Token], int], list[Token] | None], tokens: list[Token]) -> list[Token]:
    """Apply a step to every token, from the last to the first, so that inner parts come before outer ones."""
    rewrites = 0
    for index in range(len(tokens) - 1, -1, -1):
        if index < len(tokens) and (changed := step(tokens, index)) is not None:
            tokens = changed
            rewrites += 1
            if rewrites > _MAX_REWRITES:
                raise invalid_sql("the SQL is too long", None, "Ask for less in one statement.")
    return tokens


def _refuse(tokens: Sequence[Token]) -> None:
    for index, token in enumerate(tokens):
        suggestion = _REFUSED.get(token.word)
        is_operator = token.kind == "sign" or at(tokens, index + 1).kind in ("string", "name") or token.word == "unnest"
        is_operator = is_operator or at(tokens, index + 1).text == "("
        if suggestion and is_operator and at(tokens, index - 1).text not in (".", "", "select", ","):
            raise invalid_sql(f"{token.text.upper()} is not available here", token.offset, suggestion)
        if token.word == "distinct" and at(tokens, index + 1).word == "on":
            raise invalid_sql("DISTINCT ON is not available here", token.offset, "Write GROUP BY and max(date).")


# LIMIT


def _limits(tokens: list[Token]) -> list[Token]:
    """Write ``TOP n``, ``FETCH FIRST n ROWS ONLY`` and ``OFFSET n ROWS`` as LIMIT and OFFSET."""
    index = 0
    while index < len(tokens):
        word, following = tokens[index].word, at(tokens, index + 1)
        if word == "top" and at(tokens, index - 1).word in ("select", "distinct", "all"):
            tokens = _top(tokens, index)
        elif word == "fetch" and following.word in ("first", "next"):
            count = at(tokens, index + 2)
            stop = index + 3
            while at(tokens, stop).word in ("row", "rows", "only", "with", "ties"):
                stop += 1
            limit = parse(f"LIMIT {count.text if count.kind == 'number' else '1'}")
            if count.kind != "number":
                stop -= 1
            tokens = _before_offset([*tokens[:index], *tokens[max(stop, index + 2) :]], index, limit)
        elif word == "offset" and at(tokens, index + 2).word in ("row", "rows"):
            tokens = [*tokens[: index + 2], *tokens[index + 3 :]]
        elif word == "limit" and following.word == "all":
            tokens = [*tokens[:index], *tokens[index + 2 :]]
        index += 1
    return tokens


def _before_offset(tokens: list[Token], index: int, limit: list[Token]) -> list[Token]:
    """Insert a LIMIT at ``index``, or before the OFFSET that ends there."""
    place = index - 2 if at(tokens, index - 2).word == "offset" else index
    return [*tokens[:place], *limit, *tokens[place:]]


def _top(tokens: list[Token], index: int) -> list[Token]:
    has_parentheses = at(tokens, index + 1).text == "("
    count, stop = at(tokens, index + 1 + has_parentheses), index + 2 + 2 * has_parentheses
    if count.kind != "number":
        return tokens
    if at(tokens, stop).word == "percent":
        raise invalid_sql("TOP … PERCENT is not available here", tokens[index].offset, "Write LIMIT and a number.")
    rest = tokens[stop:]
    depth, end = 0, len(rest)
    for position, token in enumerate(rest):
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0 or (not depth and token.text == ";"):
            end = position
            break
    return [*tokens[:index], *rest[:end], *parse(f"LIMIT {count.text}"), *rest[end:]]


# Dates


def _date_literal(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``DATE '2026-01-05'`` as the text."""
    if tokens[index].word in ("date", "timestamp", "datetime") and at(tokens, index + 1).kind == "string":
        literal = tokens[index + 1]._replace(space=tokens[index].space)
        return [*tokens[:index], literal, *tokens[index + 2 :]]
    return None


def _now(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``CURRENT_DATE`` as ``date('now')``: dates of the answer have no other form."""
    if tokens[index].word in ("current_date", "current_timestamp") and at(tokens, index + 1).text != "(":
        return [*tokens[:index], *parse("date('now')", tokens[index].space), *tokens[index + 1 :]]
    return None


def _modifier(tokens: Sequence[Token], index: int, sign: str) -> tuple[str, bool, int] | None:
    """Return the modifier of an INTERVAL, whether it has hours, and the index after it."""
    text, stop = at(tokens, index + 1).name.strip(), index + 2
    if at(tokens, index + 1).text == "-":
        text, stop = f"-{at(tokens, index + 2).name}", index + 3
    if _UNIT.fullmatch(at(tokens, stop).word):
        text, stop = f"{text} {at(tokens, stop).word}", stop + 1
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return None
    count, unit = int(found["count"]), found["unit"].lower()
    count *= _DAYS.get(unit, 1) * _MONTHS.get(unit, 1)
    unit = "day" if unit in _DAYS else "month" if unit in _MONTHS else unit
    count = -count if sign == "-" else count
    return f"'{count:+d} {unit}s'", unit in ("hour", "minute", "second"), stop


def _interval(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``x - INTERVAL '30 days'`` as ``date(x, '-30 days')``."""
    if tokens[index].word != "interval" or at(tokens, index - 1).text not in ("+", "-") or index < 2:
        return None
    modifier = _modifier(tokens, index, tokens[index - 1].text)
    if modifier is None:
        raise invalid_sql("this INTERVAL cannot be understood", tokens[index].offset, "Write date('now', '-30 days').")
    start = operand_start(tokens, index - 2)
    operand = untokenize(tokens[start : index - 1])
    function = "datetime" if modifier[1] else "date"
    return [
        *tokens[:start],
        *parse(f"{function}({operand}, {modifier[0]})", tokens[start].space),
        *tokens[modifier[2] :],
    ]


def _interval_argument(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``DATE_SUB(x, INTERVAL 30 DAY)`` as ``date(x, '-30 days')``."""
    word = tokens[index].word
    if word not in ("date_sub", "date_add", "datetime_sub", "datetime_add", "timestamp_sub", "timestamp_add"):
        return None
    stop = closing(tokens, index + 1)
    parts = arguments(tokens[index + 2 : stop])
    if len(parts) != 2 or not parts[1] or parts[1][0].word != "interval":
        return None
    modifier = _modifier(parts[1], 0, "-" if word.endswith("sub") else "+")
    if modifier is None:
        return None
    function = "datetime" if modifier[1] else "date"
    text = f"{function}({untokenize(parts[0])}, {modifier[0]})"
    return [*tokens[:index], *parse(text, tokens[index].space), *tokens[stop + 1 :]]


def _extract(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``EXTRACT(YEAR FROM x)`` as ``date_part('year', x)``."""
    if tokens[index].word == "extract" and at(tokens, index + 3).word == "from" and at(tokens, index + 1).text == "(":
        unit = tokens[index + 2].name.replace("'", "")
        return [*tokens[:index], *parse(f"date_part('{unit}',", tokens[index].space), *tokens[index + 4 :]]
    return None


# Types


def _cast_sign(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``x::date`` as a cast."""
    if tokens[index].text != "::":
        return None
    stop = index + 2
    if at(tokens, index + 1).word == "double" and at(tokens, stop).word == "precision":
        stop += 1
    scale: list[Token] = []
    if at(tokens, stop).text == "(":
        end = closing(tokens, stop)
        scale, stop = list(tokens[stop : end + 1]), end + 1
    start = operand_start(tokens, index - 1)
    text = _cast_text(untokenize(tokens[start:index]), at(tokens, index + 1).word, scale)
    return [*tokens[:start], *parse(text, at(tokens, start).space), *tokens[stop:]]


def _cast(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``CAST(x AS DATE)``, and the other types that SQLite does not have."""
    if tokens[index].word not in ("cast", "try_cast", "safe_cast") or at(tokens, index + 1).text != "(":
        return None
    stop = closing(tokens, index + 1)
    inner = tokens[index + 2 : stop]
    places = [place for place, token in top_level(inner) if token.word == "as"]
    if not places:
        return None
    target = inner[places[-1] + 1 :]
    if tokens[index].word == "cast" and target and target[0].text in ("INTEGER", "REAL", "TEXT"):
        return None
    text = _cast_text(untokenize(inner[: places[-1]]), target[0].word if target else "", target[1:])
    return [*tokens[:index], *parse(text, tokens[index].space), *tokens[stop + 1 :]]


def _cast_text(operand: str, kind: str, scale: Sequence[Token]) -> str:
    if not operand:
        operand = "NULL"
    if kind in ("date", "time"):
        return f"{kind}({operand})"
    if kind in ("timestamp", "datetime", "timestamptz", "datetime2"):
        return f"datetime({operand})"
    numbers = [token.text for token in scale if token.kind == "number"]
    if kind in ("numeric", "decimal") and numbers:
        return f"round(CAST({operand} AS REAL), {numbers[1] if len(numbers) > 1 else 0})"
    return f"CAST({operand} AS {_TYPES[kind]})" if kind in _TYPES else f"({operand})"


# Functions


def _within_group(tokens: list[Token], index: int) -> list[Token] | None:
    """Rewrite ``PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`` as ``percentile(x, 50)``."""
    if tokens[index].word not in ("percentile_cont", "percentile_disc") or at(tokens, index + 1).text != "(":
        return None
    stop = closing(tokens, index + 1)
    share = untokenize(tokens[index + 2 : stop])
    words = [at(tokens, stop + offset).word for offset in range(1, 6)]
    if words != ["within", "group", "(", "order", "by"]:
        return [*tokens[:index], tokens[index]._replace(text="percentile"), *tokens[index + 1 :]]
    end = closing(tokens, stop + 3)
    ordered = tokens[stop + 6 : end]
    is_descending = bool(ordered) and ordered[-1].word == "desc"
    if ordered and ordered[-1].word in ("asc", "desc"):
        ordered = ordered[:-1]
    share = f"1-({share})" if is_descending else share
    text = f"percentile({untokenize(ordered)}, 100*({share}))"
    return [*tokens[:index], *parse(text, tokens[index].space), *tokens[end + 1 :]]


def _functions(tokens: list[Token]) -> list[Token]:
    return _repeat(_function, tokens)


def _function(tokens: list[Token], index: int) -> list[Token] | None:
    """Write one function as SQLite has it."""
    token, word = tokens[index], tokens[index].word
    if token.kind != "name" or at(tokens, index + 1).text != "(" or at(tokens, index - 1).text == ".":
        return None
    stop = closing(tokens, index + 1)
    parts = arguments(tokens[index + 2 : stop])
    if word in _TODAY and not parts:
        return [*tokens[:index], *parse("date('now')", token.space), *tokens[stop + 1 :]]
    word = _RENAMED.get(word, word)
    texts = [untokenize(part) for part in parts]
    rewritten = _rewritten_call(word, texts, len(parts))
    if rewritten is None:
        if word == token.word:
            return None
        return [*tokens[:index], token._replace(text=word), *tokens[index + 1 :]]
    return [*tokens[:index], *parse(rewritten, token.space), *tokens[stop + 1 :]]


def _rewritten_call(word: str, texts: list[str], count: int) -> str | None:
    """Return a call whose arguments SQLite takes in another way, or None."""
    if word == "datetime":
        return f"strftime('%Y-%m-%dT%H:%M:%S', {', '.join(texts) or chr(39) + 'now' + chr(39)})"
    if word in ("greatest", "least") and count:
        function = "max" if word == "greatest" else "min"
        return f"{function}({', '.join(texts)})" if count > 1 else f"({texts[0]})"
    if word in ("safe_divide", "divide", "div0") and count == 2:
        return f"(({texts[0]}) / ({texts[1]}))"
    if word == "datediff" and count == 2:
        return f"date_diff('day', {texts[1]}, {texts[0]})"
    if word in ("datediff", "date_diff") and count == 3:
        if _UNIT.fullmatch(texts[2]):  # of BigQuery, end first and the unit last
            texts = [texts[2], texts[1], texts[0]]
        return f"date_diff({_unit(texts[0])}, {texts[1]}, {texts[2]})"
    if word == "date_add" and count == 3:
        return f"date_add({_unit(texts[0])}, {texts[1]}, {texts[2]})"
    if word in ("date_trunc", "date_part", "trunc_date", "datetime_trunc", "timestamp_trunc") and count == 2:
        if _UNIT.fullmatch(texts[1]):
            texts.reverse()
        return f"{'date_part' if word == 'date_part' else 'date_trunc'}({_unit(texts[0])}, {texts[1]})"
    if word in ("format_date", "format_datetime", "format_timestamp") and count == 2:
        return f"strftime({texts[0]}, {texts[1]})"
    if word == "group_concat" and count == 2 and len(texts[1].lower().split(" order by ")) == 2:
        return f"group_concat({texts[0]}, {texts[1].lower().split(' order by ')[0]})"
    return None


def _unit(text: str) -> str:
    """Return a unit of time as a text."""
    return f"'{text}'" if _UNIT.fullmatch(text) or text.isidentifier() else text


__all__ = ["rewrite", "tokenize"]
