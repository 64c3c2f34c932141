"""JMESPath over the answer of a tool: https://jmespath.org/specification.html.

The language has no loops, but lists of expressions repeat their input, and functions make texts of it. The interpreter
of the library is therefore bounded: a visit of a node is a step, what a node makes is reserved from the memory of the
call, and a text is measured before it is made. The number of steps does not depend on the speed of the machine.

Numbers that JSON cannot represent are refused in an expression, and null where a function makes one.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import TYPES_MAP, Functions, signature
from jmespath.visitor import TreeInterpreter

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, InvalidSelect
from toolfold.fuzzy import normalize
from toolfold.results.select.names import invalid, listed
from toolfold.results.types import Kind, column_type
from toolfold.text_safety import quoted_name

Node = Mapping[str, Any]
"""A node of a parsed expression: ``{"type", "children", "value"}``."""

MAX_CHARS = 500
"""Characters of an expression: enough for twenty fields and ten conditions, and a bound on the time to parse it."""

MAX_DEPTH = 100
"""Levels of an expression. The evaluation recurses, by six calls of a level at most."""

MAX_STEPS = 3_000_000
"""Steps of one evaluation: twice what a filter with two fields takes on the 200,000 objects of a 25 MB answer."""

MAX_RESULT_CHARS = 25 << 20
"""Characters of a result as JSON: as many as the largest answer of an upstream has."""

MAX_REPEATED_CHARS = 8 << 20
"""Characters of a text that a function makes, and of a result in which a list or an object is repeated."""

_CHECK_STEPS = 2_000
"""Steps between two looks at the clock: some milliseconds."""

_ITEMS_PER_STEP, _CHARS_PER_STEP, _BYTES_PER_STEP = 4, 256, 1024
"""Items that are checked and sorted, characters that are searched, bytes that are filled in a step: a microsecond."""

_MAX_READ, _READ_STEPS = 300, 5
"""Texts whose order is looked at, and steps that reading one takes."""

_ITEM_BYTES, _ENTRY_BYTES, _NUMBER_CHARS, _ESCAPE_CHARS = 8, 100, 24, 12
"""At most: memory of a place in a list and in a dict, characters of a double and of an escaped surrogate pair."""

_CONTAINERS, _ORDERED = (list, dict), (int, float, str)
_CONSTRUCTORS = frozenset(("multi_select_dict", "multi_select_list"))
_MAKES = _CONSTRUCTORS.union(
    ("filter_projection", "flatten", "function_expression", "projection", "slice", "value_projection")
)
"""Nodes that make a list, an object or a text."""

_LENGTHENS = _CONSTRUCTORS.union(("join", "literal", "merge", "to_string"))
"""Nodes and functions that can make a result longer than the answer."""

_TAKES_EXPRESSION = frozenset(("map", "max_by", "min_by", "sort_by"))
_BY_ORDER = frozenset(("max", "max_by", "min", "min_by", "sort", "sort_by"))
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "a text"}

ROOT_NAMES = frozenset(("data", "items", "records", "result", "results", "rows", "table"))
"""Names by which a model may call the only list of an answer."""

EXAMPLE = "rows[?close > `300` && type == 'call'].date"


def search(expression: str, data: Any, budget: WorkBudget) -> Any:
    """Apply an expression to a JSON value.

    Args:
        expression: the expression. A name that the value does not have means the one of its members that is spelled
            alike, and ``rows``, ``data`` and the like its only list.
        data: the value; not changed.
        budget: what the call may cost.

    Raises:
        InvalidSelect: it is not an expression, cannot be evaluated on this value, or finds nothing.
        AnswerTooLarge: evaluating it would exceed the budget, or the result is too long.
    """
    budget.check_time()
    if isinstance(data, dict) and data.keys() == {"rows"} and expression.startswith("["):
        data = data["rows"]  # of a table that came as CSV
    found = BoundedInterpreter(data, budget).evaluate(parse(expression))
    if found is None:
        kind, first = ("a list of objects with ", data[0]) if isinstance(data, list) and data else ("", data)
        names = listed(first) if isinstance(first, dict) else ""
        raise _invalid("the expression finds nothing", f"The answer holds: {kind + names if names else 'values'}.")
    return found


def parse(expression: str) -> Node:
    """Return an expression as the tree of ``jmespath``.

    Raises:
        InvalidSelect: it is not JMESPath, has no result in JSON, or is too large.
    """
    if len(expression) > MAX_CHARS:
        raise _invalid(f"the expression is longer than {MAX_CHARS} characters", "Ask for less in one call.")
    try:
        parsed: Node = jmespath.compile(expression).parsed
        nodes = list(nodes_of(parsed))
        json.dumps(parsed, allow_nan=False, ensure_ascii=False).encode()
    except JMESPathError as error:
        reason = str(error).partition("\n")[0].partition(": Parse error")[0]
        raise _invalid(f"this is not JMESPath: {reason[:120]}", offset=getattr(error, "lex_position", None)) from None
    except (ValueError, RecursionError, PendingDeprecationWarning):
        raise _invalid("this is not JMESPath, nested too deeply, or has a value that JSON cannot have") from None
    taken = [id(child) for node in nodes if kind_of(node) in _TAKES_EXPRESSION for child in node["children"]]
    if any(node["type"] == "expref" and id(node) not in taken for node in nodes):
        raise _invalid("& is for the expression that map, sort_by, max_by and min_by take")
    return parsed


def nodes_of(parsed: Node, *, of_result: bool = False) -> Iterator[Node]:
    """Yield the nodes of an expression, level by level; ``of_result``: without the conditions of filters.

    Raises:
        InvalidSelect: it is nested too deeply.
    """
    level = [parsed]
    for _ in range(MAX_DEPTH):
        yield from level
        parts = [(node, 2 if of_result and node["type"] == "filter_projection" else None) for node in level]
        level = [child for node, end in parts for child in node["children"][:end] if isinstance(child, dict)]
    if level:
        raise _invalid(f"the expression is nested deeper than {MAX_DEPTH} levels")


def kind_of(node: Node) -> str:
    """Return the function that a node calls, or the type of another node."""
    return str(node["value"] if node["type"] == "function_expression" else node["type"])


def _invalid(problem: str, next_step: str = "", offset: int | None = None) -> InvalidSelect:
    return invalid(problem, next_step or f"Write jmespath: {EXAMPLE}, numbers in ` and texts in '.", offset=offset)


def _require_short(chars: int, max_chars: int) -> None:
    if chars > max_chars:
        problem = f"What the select makes of this answer is longer than {max_chars:,} characters."
        next_step = "Ask for less: fewer repetitions in the expression, and join or to_string on fewer values."
        raise AnswerTooLarge(problem, next_step)


class BoundedInterpreter(TreeInterpreter, Functions):  # type: ignore[misc]  # the library has no types
    """Evaluate one expression on ``root``; also the functions that it calls."""

    def __init__(self, root: Any, budget: WorkBudget) -> None:
        super().__init__()
        self._root, self._budget = root, budget
        self._steps = self._next_check = self._reserved = 0
        self._unlike: dict[int, tuple[Node, str]] = {}  # comparison → the kinds that it compared, which are never equal
        self._alike: dict[int, Node] = {}

    def evaluate(self, parsed: Node) -> Any:
        """Return the result of an expression.

        Raises:
            InvalidSelect: it cannot be evaluated on the root.
            AnswerTooLarge: the budget is used up, or the result is too long.
        """
        try:
            found = self.visit(parsed, self._root)
            if not _LENGTHENS.isdisjoint(map(kind_of, nodes_of(parsed, of_result=True))):
                sizes: dict[int | None, int] = {}
                size = self._text_size(found, sizes)
                _require_short(size, MAX_REPEATED_CHARS if None in sizes else MAX_RESULT_CHARS)
        except JMESPathTypeError as error:
            # Not its text, which repeats the value.
            expected, actual = " or ".join(error.expected_types), TYPES_MAP.get(error.actual_type, error.actual_type)
            problem = f"{error.function_name} takes {expected}, and this is {actual}"
            raise _invalid(problem, "Convert texts by to_number(…), and leave null out: rows[?close].close.") from None
        except JMESPathError as error:
            raise _invalid(f"this is not JMESPath: {str(error)[:120]}") from None
        except (RecursionError, TypeError, ValueError, ArithmeticError):
            raise _invalid("the expression cannot be evaluated on this answer") from None
        self._check()
        alike = [(node["value"], node["children"][0]) for node in self._alike.values()]
        for node, problem in self._unlike.values():  # a == '1' || a == `1` is for either kind
            if (node["value"], node["children"][0]) not in alike:
                raise _invalid(problem)
        return found

    def _spend(self, steps: int, size: int = 0) -> None:
        """Count steps, and ``size`` bytes that are allocated and filled."""
        self._reserved += size
        self._steps += steps + size // _BYTES_PER_STEP
        if self._steps > self._next_check:
            self._check()

    def _check(self) -> None:
        self._next_check = self._steps + _CHECK_STEPS
        if self._steps > MAX_STEPS:
            problem = f"The select takes more than {MAX_STEPS:,} steps on this answer."
            raise AnswerTooLarge(problem, "Use a simpler select, without lists of lists and functions of functions.")
        reserved, self._reserved = self._reserved, 0
        self._budget.reserve(reserved)

    def visit(self, node: Node, value: Any) -> Any:
        """Count a step, evaluate ``node`` on ``value``, and count what it makes."""
        self._steps += 1
        if self._steps > self._next_check:
            self._check()
        kind = node["type"]
        method = self._method_cache.get(kind)
        if method is None:  # once for each type: the visit of the library takes twice as long
            method = self._method_cache[kind] = getattr(BoundedInterpreter, f"visit_{kind}")
        found = method(self, node, value)
        if kind in _MAKES:
            self._spend(0, sys.getsizeof(found))
        if type(found) is str and len(found) >= _CHARS_PER_STEP:
            self._spend(len(found) // _CHARS_PER_STEP)
        return found

    def visit_field(self, node: Node, value: Any) -> Any:
        """Return a member; of the root, also the one that the name means."""
        name = node["value"]
        if value is self._root and not (isinstance(value, dict) and name in value):
            return self._root_members.get(normalize(name))
        return value.get(name) if isinstance(value, dict) else None

    @cached_property
    def _root_members(self) -> Mapping[str, Any]:
        """The members of the root by their normalized names, without those that are spelled alike."""
        root = self._root if isinstance(self._root, dict) else {}
        self._spend(len(root), len(root) * _ENTRY_BYTES)
        spelled = Counter(map(normalize, root))
        lists = [one for one in (self._root, *root.values()) if isinstance(one, list)]
        only_list = dict.fromkeys(ROOT_NAMES, lists[0]) if len(lists) == 1 else {}
        return only_list | {name: value for key, value in root.items() if spelled[name := normalize(key)] == 1 and name}

    def visit_flatten(self, node: Node, value: Any) -> Any:
        """Evaluate ``base[]``, whose result may be much longer than ``base``."""
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        items = sum(len(item) if isinstance(item, list) else 1 for item in base)
        self._spend(len(base) // _ITEMS_PER_STEP, _ITEM_BYTES * items)
        return [part for item in base for part in (item if isinstance(item, list) else (item,))]

    def visit_comparator(self, node: Node, value: Any) -> Any:
        """Compare two values; lists and objects in bounded time."""
        left, right = (self.visit(child, value) for child in node["children"])
        operator = node["value"]
        if operator in self._EQUALITY_OPS and isinstance(left, _CONTAINERS) and isinstance(right, _CONTAINERS):
            self._spend(self._text_size(left, {}) // _CHARS_PER_STEP)
        kinds = [_KINDS.get(type(side), "") for side in (left, right)]
        if all(kinds) and kinds[0] == kinds[1]:
            self._alike[id(node)] = node
        elif all(kinds) and "" not in (left, right):  # no number is an empty text
            self._unlike[id(node)] = node, f"{kinds[0]} is compared with {kinds[1]}"
        if operator in self._EQUALITY_OPS:
            return self.COMPARATOR_FUNC[operator](left, right)
        if kinds[0] == kinds[1] and type(left) in _ORDERED:
            self._require_order([left, right])
            return self.COMPARATOR_FUNC[operator](left, right)
        return None

    def visit_function_expression(self, node: Node, value: Any) -> Any:
        """Call a function, and count what it does with each item of a list or an object."""
        arguments = [self.visit(child, value) for child in node["children"]]
        lists = [one for one in arguments if isinstance(one, _CONTAINERS)]
        chars = sum(len(item) for one in lists for item in one if isinstance(item, str))
        self._spend(sum(map(len, lists)) // _ITEMS_PER_STEP + chars // _CHARS_PER_STEP)
        if node["value"] in _BY_ORDER and isinstance(arguments[0], list):
            items, *by = arguments
            self._require_order([by[0].visit(by[0].expression, item) for item in items] if by else items)
        found = self.call_function(node["value"], arguments)
        return None if isinstance(found, int | float) and not abs(found) <= sys.float_info.max else found

    def _require_order(self, values: list[Any]) -> None:
        """Refuse texts whose order is not that of what they say: numbers, amounts, dates without the year first."""
        texts = [one for one in values[:_MAX_READ] if isinstance(one, str) and len(one) <= _CHARS_PER_STEP]
        if texts:
            self._spend(_READ_STEPS * len(texts))
            found = column_type(texts)
            if found.kind not in (Kind.TEXT, Kind.BOOLEAN, Kind.EMPTY) and found.values != texts:
                problem = f"texts such as {quoted_name(texts[0])} are compared letter by letter"
                raise _invalid(problem, "Write steps without jmespath:, as in top 1 by amount, which read them.")

    @signature({"types": ["array", "string"]}, {"types": []})  # type: ignore[untyped-decorator]
    def _func_contains(self, subject: list[Any] | str, searched: Any) -> bool:
        if isinstance(searched, _CONTAINERS):
            self._spend(self._text_size(subject, {}) // _CHARS_PER_STEP)
        return searched in subject

    @signature({"types": ["string"]}, {"types": ["array-string"]})  # type: ignore[untyped-decorator]
    def _func_join(self, separator: str, texts: list[str]) -> str:
        _require_short(sum(map(len, texts)) + len(separator) * len(texts), MAX_REPEATED_CHARS)
        return separator.join(texts)

    @signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_to_string(self, value: Any) -> Any:
        if not isinstance(value, str):
            _require_short(self._text_size(value, {}), MAX_REPEATED_CHARS)
        return super()._func_to_string(value)

    def _text_size(self, value: Any, sizes: dict[int | None, int]) -> int:
        """Return the characters that a value has as compact JSON, at most.

        ``[@, @]``, repeated by pipes, makes a few small lists that are long as text: each is read once. ``sizes`` gets
        the characters of each list and object by its ``id()``, and None where one is repeated.
        """
        if isinstance(value, str):
            escaped = value.count('"') + value.count("\\")
            return 2 + (len(value) + escaped if value.isascii() and value.isprintable() else _ESCAPE_CHARS * len(value))
        if not isinstance(value, _CONTAINERS):
            return max(_NUMBER_CHARS, value.bit_length() // 3 + 2) if isinstance(value, int) else _NUMBER_CHARS
        if id(value) in sizes:
            sizes[None] = 0
            return sizes[id(value)]
        self._spend(1 + len(value) // _ITEMS_PER_STEP, _ENTRY_BYTES)
        size = 2 + 2 * len(value)
        for member in chain(value, value.values() if isinstance(value, dict) else ()):
            size += self._text_size(member, sizes)
        sizes[id(value)] = size
        return size
