"""Decide whether policies of IAM allow a call: action, ARN and the values of condition keys.

Conditions are evaluated, which moto does not do. An element or operator that is not implemented here is an error, so
that nothing passes unseen. Source of the rules: https://docs.aws.amazon.com/IAM/latest/UserGuide/
reference_policies_evaluation-logic.html and reference_policies_elements_condition_operators.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Statement = Mapping[str, Any]

_ELEMENTS = {"Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition"}


@dataclass(frozen=True)
class Call:
    """A request as IAM sees it.

    Attributes:
        action: ``service:Operation``.
        resource: an ARN, or ``*`` for an action without a resource.
        context: condition key → its values. A request does not have every key.
    """

    action: str
    resource: str
    context: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        context = ", ".join(f"{key}={'|'.join(values)}" for key, values in sorted(self.context.items()))
        return f"{self.action} {self.resource}{f' ({context})' if context else ''}"


def is_allowed(statements: Iterable[Statement], call: Call) -> bool:
    """Return whether a statement allows the call and none denies it."""
    effects = {statement["Effect"] for statement in statements if applies(statement, call)}
    return effects == {"Allow"}


def applies(statement: Statement, call: Call) -> bool:
    """Return whether a statement is about the call, and its condition holds.

    Raises:
        NotImplementedError: The statement has an element or an operator that is not implemented.
    """
    if unknown := statement.keys() - _ELEMENTS:
        raise NotImplementedError(f"element {', '.join(sorted(unknown))}")
    return (
        _is_listed(statement, "Action", call.action.lower(), str.lower)
        and _is_listed(statement, "Resource", call.resource, str)
        and all(
            _holds(operator, key, _list(values), call.context)
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def _is_listed(statement: Statement, element: str, value: str, normalize: Callable[[str], str]) -> bool:
    """Return whether ``value`` matches the element, or does not match its opposite, ``Not…``."""
    if f"Not{element}" in statement:
        return not any(_is_like(normalize(one), value) for one in _list(statement[f"Not{element}"]))
    # The policy of a role's trust has no resource.
    return any(_is_like(normalize(one), value) for one in _list(statement.get(element, "*")))


def _holds(operator: str, key: str, wanted: list[str], context: Mapping[str, tuple[str, ...]]) -> bool:
    qualifier, _, name = operator.rpartition(":")
    found = next((values for one, values in context.items() if one.lower() == key.lower()), None)
    if name == "Null":
        return (found is None) == (wanted == ["true"])
    if_exists = name.endswith("IfExists")
    name = name.removesuffix("IfExists")
    is_negated = "Not" in name
    test = _TESTS.get(name.replace("Not", "", 1))
    if test is None or qualifier not in ("", "ForAnyValue", "ForAllValues"):
        raise NotImplementedError(f"operator {operator}")
    if found is None:
        # A negated operator holds for a key that the request does not have.
        return if_exists or qualifier == "ForAllValues" or (is_negated and not qualifier)

    def matches(value: str) -> bool:
        return any(test(one, value) for one in wanted) != is_negated

    return all(map(matches, found)) if qualifier == "ForAllValues" else any(map(matches, found))


def _is_like(pattern: str, value: str) -> bool:
    """Return whether ``value`` matches a pattern in which ``*`` stands for any text, and ``?`` for one character."""
    if "${" in pattern:
        raise NotImplementedError(f"policy variable in {pattern}")
    parts = (".*" if part == "*" else "." if part == "?" else re.escape(part) for part in re.split(r"([*?])", pattern))
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


def _is_like_arn(pattern: str, value: str) -> bool:
    """Compare the six parts of two ARNs: a wildcard does not extend over a colon of the first five."""
    patterns, values = pattern.split(":", 5), value.split(":", 5)
    return len(patterns) == len(values) and all(map(_is_like, patterns, values))


_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda wanted, value: wanted == value,
    "StringEqualsIgnoreCase": lambda wanted, value: wanted.lower() == value.lower(),
    "StringLike": _is_like,
    "ArnEquals": _is_like_arn,
    "ArnLike": _is_like_arn,
    "Bool": lambda wanted, value: wanted.lower() == value.lower(),
    "NumericEquals": lambda wanted, value: float(wanted) == float(value),
    "NumericLessThan": lambda wanted, value: float(value) < float(wanted),
    "NumericLessThanEquals": lambda wanted, value: float(value) <= float(wanted),
    "NumericGreaterThan": lambda wanted, value: float(value) > float(wanted),
    "NumericGreaterThanEquals": lambda wanted, value: float(value) >= float(wanted),
}
"""Operator, without ``Not`` and ``IfExists`` → test of the policy's value and the request's."""


def _list(value: Any) -> list[str]:
    """Return the values of an element; JSON may have a boolean where IAM compares texts."""
    values = value if isinstance(value, list) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in values]
