"""Know what an expression of a select returns, as far as its columns tell, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from toolfold.results.select.dialect import function_of, transformed
from toolfold.results.select.functions import AGGREGATES
from toolfold.results.select.names import Column
from toolfold.results.types import Kind, number_of
from toolfold.text_safety import quoted_name

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
NEIGHBOURS = frozenset(("lag", "change", "pct_change"))
"""Functions that look at the row before."""

_WRAPPERS = (exp.Paren, exp.Alias, exp.Window, exp.Ordered, exp.Collate, exp.Distinct, exp.Subquery, exp.Select)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_CONDITIONS = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.Escape)
MIRRORED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
OF_NUMBERS = AGGREGATES - {"first", "last"} | {"sum", "avg", "change", "pct_change"}
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


def may_be_cast(node: exp.Expr) -> bool:
    """Return whether the text that shows that a column is mixed is a number; as of versions, which have no order."""
    column = column_of(node)
    return column is not None and number_of(column.misfit) is not None


def note_on_texts(tree: exp.Expr) -> str:
    """Return a note on texts of numbers that are compared, as 1.1 and 1.10, or that A10 is before A9; or nothing."""
    compared = (list(one.iter_expressions()) for one in tree.find_all(exp.EQ, exp.NEQ, exp.In))
    sides = (side for both in compared if not all(map(column_of, both)) for side in both)
    name = next((shown(side) for side in sides if kind_of(side) is Kind.MIXED and may_be_cast(side)), "")
    if name:
        return f"{name} is compared as text; CAST({name} AS REAL) is compared as a number."
    ordered = (argument_of(one) for one in tree.find_all(exp.Ordered, *COMPARISONS, exp.Between, exp.Max, exp.Min)
               if not isinstance(one, exp.EQ | exp.NEQ))  # fmt: skip
    columns = (column_of(one) for one in ordered if one is not None)
    column = next((one for one in columns if one is not None and one.kind is Kind.TEXT and one.misfit), None)
    return f"{quoted_name(column.name)} is compared as text, in which {column.misfit}." if column is not None else ""
