"""JMESPath expressions over JSON answers: https://jmespath.org/specification.html.

The library is imported by the first query. The language has no loops, but lists of expressions multiply their input;
how often is limited before anything is evaluated.
"""

from __future__ import annotations

from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.select.parser import invalid_select

MAX_COPIES = 200
"""How often an expression may multiply its input: ten fields of which one has twenty fields."""


def search(expression: str, data: Any, budget: WorkBudget) -> Any:
    """Apply an expression to a JSON value.

    Raises:
        InvalidArguments: it is not an expression, multiplies its input too often, or finds nothing.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    import jmespath
    from jmespath.exceptions import JMESPathError

    if isinstance(data, dict) and len(data) == 1 and "rows" in data and expression.startswith("["):
        data = data["rows"]  # for a table from CSV, `[0]` is the first row
    try:
        compiled = jmespath.compile(expression)
        if _copies(compiled.parsed) > MAX_COPIES:
            raise invalid_select(
                f"the expression multiplies its input more than {MAX_COPIES} times", None, "Ask for less."
            )
        found = compiled.search(data)
    except JMESPathError as error:
        offset = getattr(error, "lex_position", None)
        reason = str(error).partition("\n")[0].partition(": Parse error")[0]
        raise invalid_select(
            f"this is not JMESPath: {reason[:120]}", offset if isinstance(offset, int) else None
        ) from None
    except (RecursionError, TypeError, ValueError, ArithmeticError):
        raise invalid_select("the expression cannot be evaluated on this answer", None) from None
    if found is None:
        members = ", ".join(list(data)[:40]) if isinstance(data, dict) else f"a list of {_first_keys(data)}"
        raise invalid_select("the expression finds nothing", None, f"The answer holds: {members}.")
    return found


def _first_keys(data: Any) -> str:
    first = data[0] if isinstance(data, list) and data else None
    return "objects with " + ", ".join(list(first)[:40]) if isinstance(first, dict) else "values"


def _copies(node: dict[str, Any]) -> int:
    """Return how often an expression can repeat its input: nested lists of expressions multiply."""
    copies = 1
    if node["type"] in ("multi_select_list", "multi_select_dict"):
        copies = max(1, len(node["children"]))
    for child in node["children"]:
        if isinstance(child, dict) and "type" in child:
            copies *= _copies(child)
    return copies
