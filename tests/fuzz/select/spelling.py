"""Write expressions, steps and whole pipelines as the text of a ``select``."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.fuzz.select import pipeline

_RESERVED = """
    all and any as asc avg before between bottom by case cast columns contains count create cross data date day
    default desc distinct during else end ends except exists filter first following for from full group having head
    highest in inner into interval is isnull join key last latest left like limit lowest max mean median min month
    natural newest next not notnull null of offset oldest on or order outer over partition past per preceding
    quarter range right row rows select set since starts sum table tail then this to top true false union unique
    until update using values week weekday when where window with year ytd mtd qtd index desc current e
    after show sort sorted recent most inf nan change lag corr std stddev variance percentile"""

RESERVED = frozenset(_RESERVED.split())
"""Names that are written in quotes, because they mean something in the language or in SQL."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name(text: str) -> str:
    """Return the name of a column as it is written: with quotes unless it is a plain word."""
    if _PLAIN.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def spell(expression: pipeline.Expression) -> str:
    """Return the text of an expression. It is also the name of the column that it makes."""
    return _SPELL[type(expression)](expression)


def _operand(expression: pipeline.Expression) -> str:
    if isinstance(expression, pipeline.Arithmetic | pipeline.Negative | pipeline.Logic):
        return f"({spell(expression)})"
    return spell(expression)


def _part(expression: pipeline.Part) -> str:
    return f"{expression.unit}({spell(expression.operand)})" if expression.operand else expression.unit


def _aggregate(expression: pipeline.Aggregate) -> str:
    if expression.operand is None:
        return expression.function
    distinct = "distinct " if expression.distinct else ""
    second = f", {spell(expression.second)}" if expression.second is not None else ""
    return f"{expression.function}({distinct}{spell(expression.operand)}{second})"


def _neighbour(expression: pipeline.Neighbour) -> str:
    distance = f", {expression.distance}" if expression.distance != 1 else ""
    return f"{expression.function}({spell(expression.operand)}{distance})"


def _between(expression: pipeline.Between) -> str:
    word = "not between" if expression.negated else "between"
    return f"{_operand(expression.operand)} {word} {spell(expression.low)} and {spell(expression.high)}"


def _among(expression: pipeline.Among) -> str:
    items = ", ".join(map(spell, expression.items))
    return f"{_operand(expression.operand)} {'not in' if expression.negated else 'in'} ({items})"


def _matches(expression: pipeline.Matches) -> str:
    word = f"not {expression.way}" if expression.negated else expression.way
    return f"{_operand(expression.operand)} {word} {spell(expression.pattern)}"


def _is_null(expression: pipeline.IsNull) -> str:
    return f"{_operand(expression.operand)} is {'not ' if expression.negated else ''}null"


_SPELL: dict[type, Callable[[Any], str]] = {
    pipeline.Ref: lambda ref: ref.name if ref.as_written else name(ref.name),
    pipeline.Number: lambda number: number.text,
    pipeline.Text: lambda text: text.text,
    pipeline.Period: lambda period: period.text,
    pipeline.Boolean: lambda boolean: str(boolean.value).lower(),
    pipeline.Arithmetic: lambda one: f"{_operand(one.left)} {one.operator} {_operand(one.right)}",
    pipeline.Negative: lambda one: f"-{_operand(one.operand)}",
    pipeline.Part: _part,
    pipeline.Aggregate: _aggregate,
    pipeline.Neighbour: _neighbour,
    pipeline.Window: lambda one: f"{one.function}({spell(one.operand)}) over {one.size}",
    pipeline.Compare: lambda one: f"{_operand(one.left)} {one.operator} {_operand(one.right)}",
    pipeline.Between: _between,
    pipeline.Among: _among,
    pipeline.Matches: _matches,
    pipeline.IsNull: _is_null,
    pipeline.Logic: lambda one: f" {one.operator} ".join(map(_operand, one.operands)),
    pipeline.Not: lambda one: f"not ({spell(one.operand)})",
}


def items_text(items: Sequence[pipeline.Item]) -> str:
    """Return a list of columns."""
    return ", ".join(spell(item.expression) + (f" as {name(item.alias)}" if item.alias else "") for item in items)


def _condition(action: pipeline.Condition) -> list[str]:
    text = spell(action.expression)
    return [text, text, text, f"where {text}", f"filter {text}"]


def _during(action: pipeline.During) -> list[str]:
    return [action.period.text]


def _columns(action: pipeline.Columns) -> list[str]:
    text = items_text(action.items)
    return [text, text, text, f"columns: {text}", f"show {text}", f"select {text}"]


def _order(action: pipeline.Order) -> list[str]:
    text = ", ".join(spell(key) + (" desc" if down else "") for key, down in action.keys)
    return [f"order by {text}", f"sort by {text}", f"sorted by {text}"]


def _by_date(action: pipeline.ByDate) -> list[str]:
    return ["newest first" if action.newest else "oldest first"]


def _ends(action: pipeline.Ends) -> list[str]:
    if action.count == 1:
        return ["last 1", "latest", "newest"] if action.last else ["first 1", "oldest"]
    return [f"last {action.count}" if action.last else f"first {action.count}"]


def _top(action: pipeline.Top) -> list[str]:
    by = spell(action.by)
    texts = [f"{'top' if action.largest else 'bottom'} {action.count} by {by}"]
    if action.count == 1 and isinstance(action.by, pipeline.Ref):
        texts.append(f"{'highest' if action.largest else 'lowest'} {by}")
    return texts


def _slice(action: pipeline.Slice) -> list[str]:
    start, stop = action.start, action.stop
    brackets = f"[{'' if start is None else start}:{'' if stop is None else stop}]"
    if action.brackets or stop is None:
        return [brackets]
    if start:
        return [f"limit {stop - start} offset {start}", brackets]
    return [f"limit {stop}", f"head {stop}", brackets]


def _summary(action: pipeline.Summary) -> list[str]:
    text = items_text(action.items)
    if not action.by:
        return [text]
    keys = ", ".join(by if isinstance(by, str) else spell(by) for by in action.by)
    return [f"{text} by {keys}", f"{text} by {keys}", f"{text} per {keys}", f"{text} group by {keys}"]


def _sql(action: pipeline.Sql) -> list[str]:
    text = f"SELECT {', '.join(map(_sql_item, action.items))} FROM data"
    if action.where is not None:
        text += f" WHERE {spell(action.where)}"
    if action.by:
        text += f" GROUP BY {', '.join(map(spell, action.by))}"
    if action.order:
        keys = [f"{place} DESC" if down else str(place) for place, down in action.order]
        text += f" ORDER BY {', '.join(keys)}"
    if action.limit is not None:
        text += f" LIMIT {action.limit}"
    return [text]


def _sql_item(item: pipeline.Item) -> str:
    text = spell(item.expression)
    return ("count(*)" if text == "count" else text) + (f" AS {name(item.alias)}" if item.alias else "")


_TEXTS: dict[type, Callable[[Any], list[str]]] = {
    pipeline.Columns: _columns,
    pipeline.Except: lambda action: [f"* except {', '.join(map(name, action.names))}"],
    pipeline.Condition: _condition,
    pipeline.During: _during,
    pipeline.Recent: lambda action: [action.text],
    pipeline.Calendar: lambda action: [action.text],
    pipeline.Order: _order,
    pipeline.ByDate: _by_date,
    pipeline.Ends: _ends,
    pipeline.Top: _top,
    pipeline.Slice: _slice,
    pipeline.Summary: _summary,
    pipeline.Sql: _sql,
    pipeline.Distinct: lambda action: [f"distinct {', '.join(map(name, action.names))}"],
}


def step_text(step: pipeline.Step) -> str:
    """Return the text of a step. ``spelling`` 0 is its plain spelling."""
    if step.action is None:
        return name(step.table) if step.table else "all"
    texts = _TEXTS[type(step.action)](step.action)
    text = Random(step.spelling).choice(texts) if step.spelling else texts[0]
    return f"{name(step.table)}: {text}" if step.table else text


def select_of(case: pipeline.Case) -> str | list[str]:
    texts = [f"from {name(case.first)}"] if case.first else []
    texts += map(step_text, case.steps)
    return texts if case.is_list else "; ".join(texts)
