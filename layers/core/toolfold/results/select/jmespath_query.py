"""JMESPath expressions over JSON answers: https://jmespath.org/specification.html.

The library is imported where it is used. The language has no loops, but its lists of expressions multiply what they
are given; how often is bounded before anything is evaluated.
"""

from __future__ import annotations

from typing import Any

from toolfold.results.select.parser import refused

MOST_COPIES = 200
"""How many times an expression may multiply its input: ten fields of which one has twenty, and more than any needs."""


def search(expression: str, data: Any) -> Any:
    """What ``expression`` finds in ``data``.

    Raises:
        InvalidArguments: not an expression, one that multiplies too often, or one that finds nothing.
    """
    import jmespath
    from jmespath.exceptions import JMESPathError

    if isinstance(data, dict) and len(data) == 1 and "rows" in data and expression.startswith("["):
        data = data["rows"]  # of a table that came as CSV, `[0]` is the first row
    try:
        compiled = jmespath.compile(expression)
        if _copies(compiled.parsed) > MOST_COPIES:
            raise refused(f"the expression multiplies its input more than {MOST_COPIES} times", None, "Ask for less.")
        found = compiled.search(data)
    except JMESPathError as error:
        at = getattr(error, "lex_position", None)
        reason = str(error).partition("\n")[0].partition(": Parse error")[0]
        raise refused(f"this is no JMESPath: {reason[:120]}", at if isinstance(at, int) else None) from None
    except (RecursionError, TypeError, ValueError, ArithmeticError):
        raise refused("the expression cannot be evaluated on this answer", None) from None
    if found is None:
        there = ", ".join(list(data)[:40]) if isinstance(data, dict) else f"a list of {_first_keys(data)}"
        raise refused("the expression finds nothing", None, f"The answer holds: {there}.")
    return found


def _first_keys(data: Any) -> str:
    first = data[0] if isinstance(data, list) and data else None
    return "objects with " + ", ".join(list(first)[:40]) if isinstance(first, dict) else "values"


def _copies(node: dict[str, Any]) -> int:
    """How often the expression can repeat what it is applied to: lists of expressions one after the other multiply."""
    copies = 1
    if node["type"] in ("multi_select_list", "multi_select_dict"):
        copies = max(1, len(node["children"]))
    for child in node["children"]:
        if isinstance(child, dict) and "type" in child:
            copies *= _copies(child)
    return copies
