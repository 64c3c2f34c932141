"""Evaluate JMESPath within a budget.

Every visit of a node is a step; every list and object is reserved before it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jmespath.visitor import Options, TreeInterpreter

from toolfold.results.select.expression_budget import CHARS_PER_STEP, ITEMS_PER_STEP, ExpressionBudget
from toolfold.results.select.jmespath_functions import BoundedFunctions
from toolfold.results.select.json_values import are_equal

Node = Mapping[str, Any]
"""A node of a parsed expression: ``{"type", "children", "value"}``."""


class BoundedInterpreter(TreeInterpreter):  # type: ignore[misc]  # the library has no types
    """Evaluate one expression.

    Args:
        budget: what the evaluation may cost.
    """

    def __init__(self, budget: ExpressionBudget) -> None:
        super().__init__(Options(custom_functions=BoundedFunctions(budget)))
        self._budget = budget
        self._methods: dict[str, Callable[[Node, Any], Any]] = {}

    def visit(self, node: Node, value: Any) -> Any:
        """Count a step, and evaluate ``node`` on ``value``."""
        budget = self._budget
        budget.steps_left -= 1
        if budget.steps_left < 0:
            budget.check()
        kind = node["type"]
        method = self._methods.get(kind)
        if method is None:
            method = self._methods[kind] = getattr(self, f"visit_{kind}")
        return method(node, value)

    def visit_comparator(self, node: Node, value: Any) -> Any:
        """Compare two values; two structures in bounded time."""
        left, right = (self.visit(child, value) for child in node["children"])
        operator = node["value"]
        if operator in self._EQUALITY_OPS and isinstance(left, list | dict) and isinstance(right, list | dict):
            return are_equal(left, right, self._budget) is (operator == "eq")
        if isinstance(left, str) and len(left) > CHARS_PER_STEP:
            self._budget.spend(len(left) // CHARS_PER_STEP)
        if operator in self._EQUALITY_OPS or (_has_order(left) and _has_order(right)):
            return self.COMPARATOR_FUNC[operator](left, right)
        return None

    def visit_filter_projection(self, node: Node, value: Any) -> Any:
        """Evaluate ``base[?condition].right``."""
        base_node, right, condition = node["children"]
        base = self.visit(base_node, value)
        if not isinstance(base, list):
            return None
        self._budget.allocate_list(len(base))
        return self._project(right, (item for item in base if self._is_true(self.visit(condition, item))))

    def visit_projection(self, node: Node, value: Any) -> Any:
        """Evaluate ``base[*].right``."""
        base_node, right = node["children"]
        base = self.visit(base_node, value)
        if not isinstance(base, list):
            return None
        self._budget.allocate_list(len(base))
        return self._project(right, base)

    def visit_value_projection(self, node: Node, value: Any) -> Any:
        """Evaluate ``base.*.right``."""
        base_node, right = node["children"]
        base = self.visit(base_node, value)
        if not isinstance(base, dict):
            return None
        self._budget.allocate_list(len(base))
        return self._project(right, base.values())

    def _project(self, right: Node, items: Iterable[Any]) -> list[Any]:
        visit = self.visit
        return [found for item in items if (found := visit(right, item)) is not None]

    def visit_flatten(self, node: Node, value: Any) -> Any:
        """Evaluate ``base[]``."""
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        self._budget.spend(len(base) // ITEMS_PER_STEP)
        self._budget.allocate_list(sum(len(item) if isinstance(item, list) else 1 for item in base))
        return super().visit_flatten({"children": [_literal(base)]}, None)

    def visit_slice(self, node: Node, value: Any) -> Any:
        """Evaluate ``[start:stop:step]``."""
        if isinstance(value, list):
            self._budget.allocate_list(len(range(*slice(*node["children"]).indices(len(value)))))
        return super().visit_slice(node, value)

    def visit_multi_select_list(self, node: Node, value: Any) -> Any:
        """Evaluate ``[first, second]``."""
        self._budget.allocate_list(len(node["children"]))
        return super().visit_multi_select_list(node, value)

    def visit_multi_select_dict(self, node: Node, value: Any) -> Any:
        """Evaluate ``{name: value}``."""
        self._budget.allocate_dict(len(node["children"]))
        return super().visit_multi_select_dict(node, value)


def _literal(value: Any) -> Node:
    return {"type": "literal", "value": value, "children": []}


def _has_order(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
