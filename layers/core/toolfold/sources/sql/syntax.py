"""The nodes of a syntax tree that a statement may have. Every other node is refused.

What is not here: statements that change something (also inside ``WITH``), ``SELECT INTO``, ``FOR UPDATE``, hints, and
everything that sqlglot reads as a command without understanding it.
"""

from __future__ import annotations

from sqlglot import exp

__all__ = ["is_allowed", "refused_syntax"]

_ALLOWED: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for line in (
        # queries
        "Select Union Intersect Except Subquery With CTE From Join Where Group Having Order Ordered Limit Offset Fetch",
        "LimitOptions Distinct Values Tuple Table TableAlias TableSample Lateral Unnest Window WindowSpec Cube Rollup",
        "GroupingSets",
        # names and values
        "Column Identifier Alias Aliases Star Literal Null Boolean Paren Var Placeholder Parameter HexString BitString",
        "ByteString RawString National UnicodeString Interval IntervalSpan DataType DataTypeParam ColumnDef Dot Kwarg",
        # operators
        "In Between Like ILike SimilarTo Escape Is Not Any All Case If Bracket Slice Array Filter WithinGroup",
        "IgnoreNulls RespectNulls AtTimeZone Collate Variadic Operator Distance Opclass JSONPath",
    )
    for name in line.split()
    if hasattr(exp, name)  # versions of sqlglot differ in a few
)

_ALLOWED_BASES = (exp.Binary, exp.Unary, exp.Predicate, exp.Func, exp.JSONPathPart)
"""Operators, and functions: whether a function may be called is decided by the name that is written."""

_REFUSED_FUNCTIONS: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in ("CurrentUser", "CurrentRole", "SessionUser", "CurrentCatalog", "CurrentSchema", "ConnectByRoot")
    if hasattr(exp, name)
)
"""Functions that are called without parentheses, and say something about the role or the server."""

_NAMES: dict[str, str] = {
    "Into": "SELECT INTO creates a table",
    "Lock": "FOR UPDATE and FOR SHARE lock rows",
    "Insert": "INSERT changes data",
    "Update": "UPDATE changes data",
    "Delete": "DELETE changes data",
    "Merge": "MERGE changes data",
    "Hint": "a hint",
}


def is_allowed(node: exp.Expr) -> bool:
    """Return whether a statement may have ``node``."""
    return isinstance(node, _ALLOWED + _ALLOWED_BASES) and not isinstance(node, _REFUSED_FUNCTIONS)


def refused_syntax(node: exp.Expr) -> str:
    """Return what is refused, for an error."""
    name = type(node).__name__
    return _NAMES.get(name) or f"{node.key.upper()} is not available"
