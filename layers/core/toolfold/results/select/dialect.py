"""Write expressions that sqlglot has read as SQLite has them, and know what each returns and how it is written.

What sqlglot writes for SQLite is not repeated here. A form that there is not is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, UnsupportedError

from toolfold.dates import parse_date
from toolfold.fuzzy import did_you_mean
from toolfold.results.select.functions import AGGREGATES, DATE_PARTS, FUNCTION_NAMES
from toolfold.results.select.names import Column, invalid, written_name
from toolfold.results.select.sandbox import CALLABLE
from toolfold.results.types import Kind, number_of
from toolfold.text_safety import quoted_name


class _Sqlite(SQLite):
    """SQLite with names in backticks: in double quotes it takes an unknown name for text."""

    class Tokenizer(SQLite.Tokenizer):
        """Reads names in backticks."""

        IDENTIFIERS = ["`"]  # noqa: RUF012 - as the base class declares it


def sql_of(tree: exp.Expr) -> str:
    """Return a tree as SQL for SQLite.

    Raises:
        InvalidSelect: it has a part that SQLite does not have, which would be left out.
    """
    try:
        return str(tree.sql(dialect=_Sqlite, unsupported_level=ErrorLevel.RAISE))
    except UnsupportedError as error:
        raise invalid(f"a part of the SQL is not available here: {quoted_name(str(error))}") from None


_OTHER_NAMES = {
    "mean": "avg", "average": "avg", "std": "stddev", "stdev": "stddev", "stddev_samp": "stddev", "var": "variance",
    "var_samp": "variance", "variance_pop": "var_pop", "quantile": "percentile", "percent_change": "pct_change",
    "change_percent": "pct_change", "ceiling": "ceil", "pow": "power", "len": "length", "isnull": "ifnull",
    "nvl": "ifnull", "to_char": "date_format", "datepart": "date_part", "datetrunc": "date_trunc",
    "dateadd": "date_add", "timestampadd": "date_add",
    "weekday": "dayname", "getdate": "now", "curdate": "now", "sysdate": "now", "today": "now", "greatest": "max",
    "least": "min", "any_value": "min", "array_agg": "json_group_array", "left": "left_part", "right": "right_part",
    "week_of_year": "week", "day_of_month": "day", "day_of_week": "dow", "day_of_week_iso": "isodow",
    "day_of_year": "doy",
}  # fmt: skip
"""Names of functions in other dialects, and those of sqlglot → their name here, with the same arguments."""

_OURS = FUNCTION_NAMES | set(_OTHER_NAMES) | DATE_PARTS
_OF_UNITS = frozenset(("date_add", "date_part", "date_trunc"))
_ROW_FUNCTIONS = frozenset(("_percent", "change", "pct_change"))
_REFUSED = (exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Pivot, exp.Unnest, exp.Lateral, exp.TableSample,
            exp.Placeholder, exp.Parameter)  # fmt: skip
"""What sqlglot reads and SQLite does not have."""

_AGGREGATES = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count, exp.CountIf, exp.GroupConcat, exp.ArrayAgg)
_NAMES_OF_AGGREGATES = AGGREGATES | {"total", "json_group_array"}
"""Functions of rows that sqlglot has as any function."""

MOMENT = "%Y-%m-%dT%H:%M:%S"
"""How times are written, so that they compare as texts: ``datetime`` of SQLite has a blank."""

_MOST_SQL_FUNCTIONS = (
    "avg, count, sum, min, max, median, stddev, percentile(x, 90), first, last, change, pct_change, lag"
)


COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
NEIGHBOURS = frozenset(("lag", "change", "pct_change"))
"""Functions that look at the row before."""

_WRAPPERS = (exp.Paren, exp.Alias, exp.Window, exp.Ordered, exp.Collate, exp.Distinct, exp.Subquery, exp.Select)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_CONDITIONS = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.Escape)
MIRRORED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
OF_NUMBERS = AGGREGATES - {"first", "last"} | {"sum", "total", "avg", "change", "pct_change"}
OF_ORDERED = frozenset(("min", "max"))
"""Functions whose argument is a number, and one that has an order."""

OF_ONE_NUMBER = frozenset(("abs", "sqrt", "ln", "log", "exp", "power", "floor", "ceil", "round", "sign", "mod"))
"""Functions of the number in a row: of 5 kg SQLite rounds the 5, of a date the year."""

_KINDS: tuple[tuple[Kind, str], ...] = (
    (Kind.INTEGER, "count date_part date_diff item_count length instr"),
    (Kind.NUMBER, "cast_number abs sqrt ln log exp power floor ceil round"),
    (Kind.TEXT, "lower upper concat substr substring left_part right_part replace dayname monthname"),
    (Kind.TEXT, "date_format strftime"),
    (Kind.DATE, "date date_trunc date_add"),
)
_KINDS_OF_CALLS = dict.fromkeys(OF_NUMBERS, Kind.NUMBER) | {
    name: kind for kind, names in _KINDS for name in names.split()
}
_LIKE_ARGUMENT = OF_ORDERED | {
    "first", "last", "lag", "lead", "coalesce", "ifnull", "first_value", "last_value", "shown",
}  # fmt: skip


def call_of(name: str, *arguments: exp.Expr | str | float) -> exp.Anonymous:
    """Return a call of a function; texts and numbers become literals."""
    return exp.Anonymous(this=name, expressions=[exp.convert(argument) for argument in arguments])


def function_of(node: exp.Expr) -> str:
    """Return the name of the function that a node calls, in lower case; empty: it calls none."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else ""


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is a function of rows that is not a window."""
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False
    if isinstance(node, _AGGREGATES):
        return not (isinstance(node, exp.Max | exp.Min) and node.expressions)
    return function_of(node) in _NAMES_OF_AGGREGATES


def to_sqlite(tree: exp.Expr) -> exp.Expr:
    """Return a tree in which every node is one that SQLite has, or a function of ``functions``.

    Raises:
        InvalidSelect: it has a form that there is not.
    """
    return transformed(tree, _changed)


def transformed(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a tree in which ``change`` has replaced each node, the innermost first."""
    for node in reversed(list(tree.walk(bfs=False))):
        tree = replaced(tree, node, change(node))
    return tree


def replaced(tree: exp.Expr, node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return a tree with another node in place of one of its nodes."""
    if node is tree:
        return other
    if other is not node:
        node.replace(other)
    return tree


def _changed(node: exp.Expr) -> exp.Expr:
    if isinstance(node, _REFUSED):
        raise invalid(f"{quoted_name(node.key.upper())} is not available here")
    if node.args.get("negate"):
        # sqlglot 30 marks NOT LIKE on the operator: what makes a new node of it would lose the mark.
        return exp.Not(this=_changed(type(node)(this=node.this, expression=node.expression)))
    if (handler := _FORMS.get(type(node))) is not None:
        return handler(node)
    name = function_of(node)
    if not isinstance(node, exp.Anonymous) and name not in _OURS:
        return node
    return _called(name, list(node.iter_expressions()))


def _called(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    name = _OTHER_NAMES.get(name, name)
    if name == "avg":
        return exp.Avg(this=arguments[0] if arguments else None)
    if name == "now":
        return call_of("date", "now")
    if name in DATE_PARTS and len(arguments) == 1:
        return call_of("date_part", name, arguments[0])
    units = [one for one in arguments[:2] if _unit(one) in DATE_PARTS]
    if name in _OF_UNITS and units:  # DATEPART(year, date), or the other way round
        return call_of(name, _unit(units[0]), *(one for one in arguments if one is not units[0]))
    if name not in CALLABLE | _ROW_FUNCTIONS:
        known = sorted(CALLABLE | _ROW_FUNCTIONS)
        next_step = f"{did_you_mean(name, known)}There are {_MOST_SQL_FUNCTIONS}, …"
        raise invalid(f"there is no function {quoted_name(name)}", next_step)
    return call_of(name, *arguments)


def _unit(node: exp.Expr | None) -> str:
    return (node.name if node is not None else "").lower()


def _moved(sign: int, default: str = "") -> Callable[[Any], exp.Expr]:
    """Return the handler of a date plus or minus an INTERVAL, or a number of the ``default`` unit."""

    def handle(node: exp.Expr) -> exp.Expr:
        count, unit = node.expression, _unit(node.args.get("unit")) or default
        if isinstance(count, exp.Interval):
            count, unit = count.this, _unit(count.args.get("unit"))
            count = exp.Literal.number(count.name or 0) if isinstance(count, exp.Literal) else count
            unit = unit.removesuffix("s") or "day"
        elif not default:
            return node
        return call_of("date_add", unit, count if sign > 0 else exp.Neg(this=exp.paren(count)), node.this)

    return handle


def _difference(node: exp.Expr) -> exp.Expr:
    """Return the units between two dates; sqlglot has the end first."""
    unit, end, start = node.args.get("unit"), node.this, node.expression
    if unit is not None and end.name.lower().removesuffix("s") in DATE_PARTS:  # DATEDIFF(day, start, end)
        return call_of("date_diff", _unit(end), start, exp.column(unit.name) if isinstance(unit, exp.Var) else unit)
    return call_of("date_diff", _unit(unit) or "day", start, end)


def _truncated(node: exp.Expr) -> exp.Expr:
    unit, moment = node.args.get("unit"), node.this
    if _unit(moment) in DATE_PARTS and unit is not None and _unit(unit) not in DATE_PARTS:  # DATE_TRUNC(date, MONTH)
        unit, moment = moment, exp.column(unit.name)
    return call_of("date_trunc", _unit(unit), moment)


def date_text(node: exp.Expr) -> exp.Expr:
    """Return the text of a date in ``date('2026-02')`` or ``DATE '2026-02-01'``; of anything else ``node`` itself."""
    is_call = function_of(node) in ("date", "strftime")
    parts = [part for part in node.iter_expressions() if part.name != MOMENT] if is_call else []
    is_text = len(parts) == 1 and isinstance(parts[0], exp.Literal) and bool(parse_date(parts[0].name))
    return parts[0] if is_text else node


def _moment(*arguments: exp.Expr | str) -> exp.Expr:
    return call_of("strftime", MOMENT, *arguments)


def _converted(node: exp.Cast) -> exp.Expr:
    """Return a cast: dates and times are functions in SQLite, where CAST makes 2026 of them, and 1 of 1,234 kg."""
    kind = node.to.this
    if kind in exp.DataType.TEMPORAL_TYPES and isinstance(node.this, exp.Literal) and node.this.is_string:
        return node.this  # DATE '2026-03-01': a comparison reads it
    if kind in exp.DataType.TEMPORAL_TYPES:
        is_day = kind in (exp.DataType.Type.DATE, exp.DataType.Type.DATE32)
        return call_of("date", node.this) if is_day else _moment(node.this)
    kinds = ((exp.DataType.INTEGER_TYPES, "INTEGER"), (exp.DataType.TEXT_TYPES, "TEXT"))
    target = next((name for types, name in kinds if kind in types), "REAL")
    value = node.this if target == "TEXT" else call_of("cast_number", node.this)
    cast = exp.Cast(this=value, to=exp.DataType.build(target, dialect="sqlite"))
    scale = [part.this.name for part in node.to.expressions if isinstance(part, exp.DataTypeParam)]
    return call_of("round", cast, int(scale[1])) if target == "REAL" and len(scale) > 1 else cast


def _item(node: exp.Bracket) -> exp.Expr:
    """Refuse the place of an item in a list; one with a name in brackets is not a column."""
    if not any(one.is_int for one in node.expressions):
        return node
    raise invalid("the place of an item in a list is not read", "Write json_extract(list, '$[0]'), or '$[#-1]'.")


def _share(node: exp.WithinGroup) -> exp.Expr:
    """Return ``PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`` as a function of x."""
    ordered = node.expression.expressions[0]
    share = node.this.this
    if not isinstance(share, exp.Literal):
        raise invalid("PERCENTILE_CONT needs a number", "Write percentile(close, 90).")
    percent = float(share.name) * 100
    return call_of("percentile", ordered.this, 100 - percent if ordered.args.get("desc") else percent)


_FORMS: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Add: _moved(1),
    exp.Sub: _moved(-1),
    **dict.fromkeys((exp.DateAdd, exp.TsOrDsAdd, exp.TimestampAdd, exp.DatetimeAdd), _moved(1, "day")),
    **dict.fromkeys((exp.DateSub, exp.TimestampSub, exp.DatetimeSub), _moved(-1, "day")),
    **dict.fromkeys((exp.DateDiff, exp.DatetimeDiff, exp.TimestampDiff), _difference),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc), _truncated),
    **dict.fromkeys((exp.Cast, exp.TryCast), _converted),
    **dict.fromkeys((exp.CurrentTimestamp, exp.CurrentDatetime), lambda _node: _moment("now")),
    exp.Datetime: lambda node: _moment(*node.iter_expressions()),
    exp.CurrentDate: lambda _node: call_of("date", "now"),
    exp.Bracket: _item,
    exp.Extract: lambda node: call_of("date_part", _unit(node.this), node.expression),
    exp.WithinGroup: _share,
    exp.JSONExtract: lambda node: exp.JSONExtractScalar(this=node.this, expression=node.expression),
    exp.Mod: lambda node: call_of("mod", node.this, node.expression),
}


# What expressions return, and how they are written


def node_of(column: Column) -> exp.Column:
    """Return a column as part of a tree."""
    node = exp.column(column.sql, quoted=True)
    node.meta["column"] = column
    return node


def column_of(node: exp.Expr | None) -> Column | None:
    """Return the column that a node is, perhaps in parentheses; None: it is another expression."""
    found = node.unnest() if node is not None else None
    return found.meta.get("column") if found is not None else None


def is_condition(node: exp.Expr) -> bool:
    """Return whether an expression is true or false."""
    return isinstance(node.unnest(), _CONDITIONS)


def argument_of(node: exp.Expr) -> exp.Expr | None:
    """Return the first argument of a function, or what is inside another node."""
    return node.this if isinstance(node.this, exp.Expr) else next(iter(node.expressions), None)


def kind_of(node: exp.Expr | None) -> Kind:
    """Return what an expression returns, as far as that is known."""
    if node is None:
        return Kind.ANY
    if (column := node.meta.get("column")) is not None:
        return Kind(column.kind)
    name = function_of(node)
    if name == "strftime" and any(part.name == MOMENT for part in node.expressions):
        return Kind.DATETIME
    if isinstance(node, _WRAPPERS) or name in _LIKE_ARGUMENT:
        return kind_of(argument_of(node))
    if isinstance(node, exp.Literal):
        return Kind.TEXT if node.is_string else Kind.INTEGER if node.is_int else Kind.NUMBER
    if isinstance(node, _CONDITIONS):
        return Kind.BOOLEAN
    if isinstance(node, (*ARITHMETIC, exp.Neg)):
        operands = (node.this, node.expression) if isinstance(node, exp.Binary) else (node.this,)
        is_whole = all(kind_of(operand) is Kind.INTEGER for operand in operands) and not isinstance(node, exp.Div)
        return Kind.INTEGER if is_whole else Kind.NUMBER
    return _KINDS_OF_CALLS.get(name, Kind.ANY)


def count_of(window: exp.Window) -> int:
    """Return the rows of ``over 20``; 0 for other windows."""
    spec = window.args.get("spec")
    return 0 if spec is None or not str(spec.args["start"]).isdecimal() else int(spec.args["start"].name) + 1


def _as_written(node: exp.Expr) -> exp.Expr:
    """Return what a caller writes for a function that is added here."""
    name = function_of(node)
    if name == "date_part":
        return exp.column(node.expressions[0].name)
    return node.expressions[0] if name in ("shown", "as_number", "cast_number", "fold") else node


def shown(node: exp.Expr) -> str:
    """Return an expression as it is written in a step."""
    tree = transformed(node.copy(), _as_written)
    for one in list(tree.find_all(exp.Column)):
        column = one.meta.get("column")
        name = column.name if column is not None else one.name
        is_call = column is not None and column.index is None
        one.set("this", exp.to_identifier(name, quoted=not is_call and not name.isidentifier()))
    text = str(tree.sql(normalize_functions="lower"))
    return text if text.isprintable() else quoted_name(text)


def note_on_texts(tree: exp.Expr) -> str:
    """Return a note on texts of numbers that are compared, as 1.1 and 1.10, or that A10 is before A9; or nothing."""
    compared = (list(one.iter_expressions()) for one in tree.find_all(exp.EQ, exp.NEQ, exp.In))
    sides = filter(None, (column_of(side) for both in compared if not all(map(column_of, both)) for side in both))
    mixed = (one for one in sides if one.kind is Kind.MIXED and number_of(one.misfit) is not None)
    if (column := next(mixed, None)) is not None:  # of versions, which have no order
        name = written_name(column.name)
        return f"{name} is compared as text; CAST({name} AS REAL) is compared as a number."
    ordered = (argument_of(one) for one in tree.find_all(exp.Ordered, *COMPARISONS, exp.Between, exp.Max, exp.Min)
               if not isinstance(one, exp.EQ | exp.NEQ))  # fmt: skip
    columns = filter(None, map(column_of, ordered))
    column = next((one for one in columns if one.kind is Kind.TEXT and one.misfit), None)
    return f"{quoted_name(column.name)} is compared as text, in which {column.misfit}." if column is not None else ""
