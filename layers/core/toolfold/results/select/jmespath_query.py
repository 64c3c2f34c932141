"""JMESPath expressions over JSON answers: https://jmespath.org/specification.html.

The library is imported by the first query. The language has no loops, but lists of expressions multiply their input,
and functions make texts of it; ``jmespath_interpreter`` bounds what an expression may cost, and the result is measured
before it is returned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge
from toolfold.fuzzy import normalize
from toolfold.results.select.expression_budget import ExpressionBudget
from toolfold.results.select.json_values import text_size
from toolfold.results.select.parser import invalid_select
from toolfold.text_safety import quoted_name

MAX_COPIES = 200
"""How often an expression may multiply its input: ten fields of which one has twenty fields."""

MAX_DEPTH = 100
"""Levels of an expression with its JSON literals. The evaluation recurses, by six calls of a level at most."""

MAX_RESULT_CHARS = 25 << 20
"""Characters of a result as JSON: as many as the largest answer of an upstream has."""

MAX_REPEATED_CHARS = 8 << 20
"""Characters of a result that may have a part of the answer twice: more than any part that is of use."""

_SMALL_RESULT_BYTES = 8 << 20
"""Memory of new lists and objects up to which a result is short. One object takes 340 bytes, and its names are in the
expression."""

_MAX_MEMBERS = 40
"""Members of the answer that the error for an empty result names."""

_MULTIPLYING_FUNCTIONS = ("join", "merge", "to_string")
"""Functions whose result may be longer than their arguments, or have parts of two arguments."""

ROOT_NAMES = frozenset(("data", "items", "records", "result", "results", "rows", "table"))
"""Names by which a model may call the only list of an answer."""

_ALL_FROM_ROOT = ("function_expression", "key_val_pair", "multi_select_dict", "multi_select_list")
_FROM_ROOT = (
    *("subexpression", "index_expression", "projection", "filter_projection", "value_projection", "flatten", "pipe"),
    *_ALL_FROM_ROOT,
)
"""Nodes whose first child is evaluated on the answer; of the former every child."""

_TAKES_EXPRESSION = {"map": 0, "max_by": 1, "min_by": 1, "sort_by": 1}
"""Function → position of the argument that is an expression."""


def search(expression: str, data: Any, budget: WorkBudget) -> Any:
    """Apply an expression to a JSON value.

    Raises:
        InvalidArguments: it is not an expression, cannot be evaluated on these values, or finds nothing.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    if isinstance(data, dict) and len(data) == 1 and "rows" in data and expression.startswith("["):
        data = data["rows"]  # for a table from CSV, `[0]` is the first row
    found = _evaluate(_with_known_root(parse(expression), data, budget), data, budget)
    if found is None:
        members = _names(data) if isinstance(data, dict) else f"a list of {_first_keys(data)}"
        raise invalid_select("the expression finds nothing", None, f"The answer holds: {members}.")
    return found


def parse(expression: str) -> Mapping[str, Any]:
    """Return an expression as the tree of ``jmespath``.

    Raises:
        InvalidArguments: it is not JMESPath, or too large.
    """
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        parsed: Mapping[str, Any] = jmespath.compile(expression).parsed
    except JMESPathError as error:
        offset = getattr(error, "lex_position", None)
        reason = str(error).partition("\n")[0].partition(": Parse error")[0]
        raise invalid_select(
            f"this is not JMESPath: {reason[:120]}", offset if isinstance(offset, int) else None
        ) from None
    except (ValueError, RecursionError, PendingDeprecationWarning):
        raise invalid_select("this is not JMESPath", None) from None
    _check(parsed)
    if _copies(parsed) > MAX_COPIES:
        raise invalid_select(f"the expression multiplies its input more than {MAX_COPIES} times", None, "Ask for less.")
    return parsed


def _with_known_root(node: Mapping[str, Any], data: Any, budget: WorkBudget) -> Mapping[str, Any]:
    """Return an expression in which the names of members of the answer are those that it has.

    ``data[0]`` and ``rows[0]`` mean the only list of an answer, and ``"Global Quote"`` means ``global_quote``.
    """
    if node["type"] == "field":
        name = node["value"]
        if isinstance(data, list) and name.lower() in ROOT_NAMES:
            return {"type": "identity", "children": []}
        if isinstance(data, dict) and name not in data and (member := _member(name, data, budget)) is not None:
            return {**node, "value": member}
        return node
    if node["type"] not in _FROM_ROOT:
        return node
    is_chain = node["type"] not in _ALL_FROM_ROOT
    children = [
        _with_known_root(child, data, budget) if isinstance(child, dict) and not (is_chain and position) else child
        for position, child in enumerate(node["children"])
    ]
    return {**node, "children": children}


def _member(name: str, data: Mapping[str, Any], budget: WorkBudget) -> str | None:
    """Return the member that a name means in another spelling, or None."""
    normalized = normalize(name)
    lists = []
    for key, value in budget.checked(data.items()):
        if normalized and normalize(key) == normalized:
            return key
        if isinstance(value, list):
            lists.append(key)
    return lists[0] if len(lists) == 1 and name.lower() in ROOT_NAMES else None


def _check(parsed: Mapping[str, Any]) -> None:
    """Reject what is an expression, but has no result in JSON."""
    stack: list[tuple[Any, int]] = [(parsed, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise invalid_select(f"the expression is nested deeper than {MAX_DEPTH} levels", None)
        if node["type"] == "literal" or isinstance(node.get("value"), str):
            _check_literal(node["value"], depth)
        expression_at = _TAKES_EXPRESSION.get(node["value"]) if node["type"] == "function_expression" else None
        for position, child in enumerate(node["children"]):
            if not isinstance(child, dict):
                continue  # a number of a slice
            if child["type"] == "expref" and position != expression_at:
                raise invalid_select("& is for the expression that map, sort_by, max_by and min_by take", None)
            stack.append((child, depth + 1))
    if parsed["type"] == "expref":
        raise invalid_select("& is for the expression that map, sort_by, max_by and min_by take", None)


def _check_literal(value: Any, depth: int) -> None:
    stack = [(value, depth)]
    while stack:
        part, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise invalid_select(f"the expression is nested deeper than {MAX_DEPTH} levels", None)
        if isinstance(part, float) and not math.isfinite(part):
            raise invalid_select("a number in the expression is too large", None)
        if any(map(_has_lone_surrogate, [part] if isinstance(part, str) else part if isinstance(part, dict) else ())):
            raise invalid_select("a text in the expression has half of a surrogate pair", None)
        if isinstance(part, list | dict):
            stack.extend((member, depth + 1) for member in (part if isinstance(part, list) else part.values()))


def _has_lone_surrogate(text: str) -> bool:
    """Return whether ``text`` has a character that JSON can spell and UTF-8 cannot."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _copies(node: Mapping[str, Any]) -> int:
    """Return how often an expression can repeat its input: nested lists of expressions multiply."""
    copies = max(1, len(node["children"])) if node["type"] in ("multi_select_list", "multi_select_dict") else 1
    for child in node["children"]:
        if isinstance(child, dict):
            copies *= _copies(child)
    return copies


def _evaluate(parsed: Mapping[str, Any], data: Any, budget: WorkBudget) -> Any:
    from jmespath.exceptions import JMESPathError, JMESPathTypeError

    from toolfold.results.select.jmespath_interpreter import BoundedInterpreter

    own_budget = ExpressionBudget(budget)
    try:
        found = BoundedInterpreter(own_budget).visit(parsed, data)
    except JMESPathTypeError as error:
        # Not its text, which repeats the value.
        expected = " or ".join(error.expected_types)
        raise invalid_select(f"{error.function_name} takes {expected}, and this is {error.actual_type}", None) from None
    except JMESPathError as error:
        raise invalid_select(f"this is not JMESPath: {str(error)[:120]}", None) from None
    except (RecursionError, TypeError, ValueError, ArithmeticError):
        raise invalid_select("the expression cannot be evaluated on this answer", None) from None
    multiplies = _multiplies(parsed)
    max_chars = MAX_REPEATED_CHARS if multiplies else MAX_RESULT_CHARS
    may_be_long = multiplies or own_budget.allocated > _SMALL_RESULT_BYTES
    if may_be_long and text_size(found, own_budget) > max_chars:
        raise AnswerTooLarge(
            f"What the select makes of this answer is longer than {max_chars:,} characters.",
            "Ask for less: fewer repetitions in the expression.",
        )
    own_budget.check()
    return found


def _multiplies(parsed: Mapping[str, Any]) -> bool:
    """Return whether the result may be longer than the data: a part may be in it twice, or a literal for each item."""
    stack = [parsed]
    while stack:
        node = stack.pop()
        children = [child for child in node["children"] if isinstance(child, dict)]
        if node["type"] == "filter_projection":
            children = children[:2]  # the condition is not part of the result
        if node["type"] == "literal" or (
            node["type"] == "function_expression" and node["value"] in _MULTIPLYING_FUNCTIONS
        ):
            return True
        if node["type"] in ("multi_select_list", "multi_select_dict"):
            fields = [_first_field(child) for child in children]
            if None in fields or len(set(fields)) < len(fields):
                return True
        stack.extend(children)
    return False


def _first_field(node: Mapping[str, Any]) -> str | None:
    """Return the field of its input from which an expression makes its whole result, or None."""
    while node["type"] != "field":
        if node["type"] not in (
            *("key_val_pair", "subexpression", "index_expression", "pipe", "flatten"),
            *("projection", "filter_projection", "value_projection"),
        ):
            return None
        node = node["children"][0]
    return str(node["value"])


def _first_keys(data: Any) -> str:
    first = data[0] if isinstance(data, list) and data else None
    return f"objects with {_names(first)}" if isinstance(first, dict) else "values"


def _names(members: Mapping[str, Any]) -> str:
    return ", ".join(quoted_name(name) for name, _ in zip(members, range(_MAX_MEMBERS), strict=False))
