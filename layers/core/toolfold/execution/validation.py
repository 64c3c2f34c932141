"""Check arguments against a tool's JSON Schema before anything is sent.

The verdict is that of ``jsonschema_rs`` (JSON Schema 2020-12 and the drafts before it). Arguments are brought into the
schema's types first, where they cannot be misread: models send numbers and booleans as text, an enum in another case,
one text for a list, JSON text for an object, and null for "not given". What is converted follows from the errors of the
library: a value that the schema accepts is never changed, and one that cannot be converted stays as it is. What is
wrong is worded for the model (``validation_problems``).

Schemas come from catalogs, arguments from models; neither may do harm. No reference is fetched. Patterns run on the
linear engine of the ``regex`` crate; one with lookaround or back references, which that engine refuses, runs on the
backtracking one with a limit. Nesting is bounded, because the library recurses without a limit.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.contract import max_nesting
from toolfold.catalog.json_schema import TYPES, allowed_types, json_type, keyword, properties
from toolfold.dates import impossible_date, parse_date
from toolfold.errors import InvalidArguments
from toolfold.execution.argument_values import spelled_options
from toolfold.execution.validation_problems import (
    MAX_UNKNOWN,
    MISSING,
    UNKNOWN,
    Problem,
    ResolvedArguments,
    Translator,
    describe_expected,
    parameter_of,
    rule_at,
    type_problem,
    value_at,
)
from toolfold.messages import CORRECT_ARGUMENTS, INVALID_ARGUMENT, INVALID_OF_SEVERAL
from toolfold.text_safety import load_json, quoted
from toolfold.wording import Text

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

    from toolfold.catalog.entries import Tool

MAX_NESTING = 64
"""Levels of objects and arrays in arguments. The library recurses: 50,000 levels overflow its stack."""

_MANY_VALUES = 5_000
"""Values in arguments from which on only the first error is looked for: collecting 100,000 errors takes seconds."""

_MAX_ERRORS = 100
_BACKTRACK_LIMIT = 100_000
"""Steps of a pattern with lookaround or back references, some milliseconds."""

_MAX_ROUNDS = 8
"""Times that errors are looked for: what was text has errors of its own once it is parsed."""

_LARGEST_EXACT = 2**53
"""Integers from here on have no exact float."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")

_WRAPPED, _OTHER_ERROR, _OTHER_VALUE = 1, 100, 101
"""How far an alternative is from a value: for a list that is made of it, an error that remains, another constant. What
remains counts more than all that can be converted."""


class SchemaError(ValueError):
    """A schema that cannot be used: not JSON Schema, an unresolvable or remote reference, or too large a pattern.

    Attributes:
        path: where in the schema the mistake is, as far as it is known.
    """

    def __init__(self, problem: str, path: Sequence[str | int] = ()) -> None:
        super().__init__(problem)
        self.path = path


class ArgumentValidator:
    """Check the arguments of one tool. The schema is compiled once. Safe to use from many threads.

    Args:
        schema: the tool's ``parameters``.
        call: the tool's ``call``: ``lists`` describes lists that are sent as one string, ``blank_allowed`` names the
            parameters for which blank text is a value, ``sends`` has what no argument replaces without a parameter.

    Raises:
        SchemaError: the schema cannot be used.
    """

    def __init__(self, schema: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        self.schema, self.properties, self._call = schema, properties(schema), call
        self._single: dict[str, ArgumentValidator] = {}
        self._rules: dict[int, tuple[frozenset[str], Any, Mapping[str, Any]]] = {}
        self._lists: Mapping[str, Mapping[str, Any]] = call.get("lists", {})
        self._blank_allowed = frozenset(call.get("blank_allowed", ()))
        self._always_sent = frozenset(call.get("sends", ())) - self.properties.keys()
        self._validator = compile_schema(schema)

    @cached_property
    def _max_nesting(self) -> int:
        try:
            # A schema that refers to itself in several alternatives takes exponential time in the depth.
            return max_nesting(self.schema, MAX_NESTING)
        except ValueError:  # refused where a catalog is read; the library follows it no further than the value goes
            return MAX_NESTING

    def accepts(self, name: str, value: Any) -> bool:
        """Return whether the parameter ``name`` takes ``value``."""
        single = self._single.get(name)
        if single is None:
            schema = {**{key: self.schema[key] for key in ("$defs", "definitions") if key in self.schema},
                      "properties": {name: self.properties[name]}}  # fmt: skip
            single = self._single.setdefault(name, ArgumentValidator(schema, self._call))
        return not single.validate({name: value})[1]

    def separator(self, name: str) -> str:
        """Return what separates the items of a list that is sent as one string, or an empty text."""
        return str(self._lists[name]["separator"]) if name in self._lists else ""

    def validate(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
        """Check ``arguments`` as the caller sent them.

        Returns:
            The arguments in the schema's order and types, and what is wrong with them (empty: nothing).
        """
        if problem := self.unsafe(arguments):
            return {}, [problem]
        given, own = dict(arguments), dict[str, str]()
        for name, listed in self._lists.items():
            if isinstance(value := given.get(name), list):
                if all(isinstance(item, str) for item in value):
                    given[name] = listed["separator"].join(value)
                else:
                    own[name] = type_problem("a string or an array of strings", value)
        # Arguments that fit as they are stay as they are.
        coerced = given if self._validator.is_valid(given) else _coerce(self.schema, given, self._errors)
        coerced = {name: self._whole_numbers(self.properties.get(name), coerced[name]) for name in coerced}
        checked = {name: coerced[name] for name in [*(n for n in self.properties if n in coerced), *coerced]}
        errors = [] if self._validator.is_valid(checked) else self._errors(checked)
        wrong = own.keys() | {error.instance_path[0] for error in errors if error.instance_path}
        for name, value in checked.items():
            if name not in wrong:
                checked[name], problem_text = self._beyond_schema(name, value)
                if problem_text:
                    own[name] = problem_text
        if not own and not errors:
            return checked, []
        return checked, self._problems(checked, own, errors)

    def _whole_numbers(self, rule: Any, value: Any) -> Any:
        """Return ``value`` with integers for its whole numbers with a fraction: 20.0 is 20 as text of a query.

        A large one has the digits of its text: 1e30 is a one with zeros, not the nearest power of two.
        """
        if type(value) not in (float, list, dict) or not isinstance(rule, Mapping):
            return value
        known = self._rules.get(id(rule))
        if known is None:  # once for a million items; the schema holds each rule, so that its id stays its own
            known = allowed_types(self.schema, rule), keyword(self.schema, rule, "items"), properties(self.schema, rule)
            self._rules[id(rule)] = known
        types, items, declared = known
        if isinstance(value, dict):
            return {key: self._whole_numbers(declared.get(key), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._whole_numbers(items, inner) for inner in value]
        is_integer = value.is_integer() and "integer" in types
        is_exact = is_integer and (abs(value) < _LARGEST_EXACT or "number" not in types)
        return int(Decimal(repr(value))) if is_exact else value

    def _beyond_schema(self, name: str, value: Any) -> tuple[Any, str]:
        """Return ``value`` tidied, and what is wrong with it that the schema does not say."""
        if name in self._always_sent:  # an open schema has no place for it, and the caller's must not replace it
            return value, UNKNOWN
        if isinstance(value, str) and not value.strip() and name in self.properties:
            options = self.properties[name].get("enum", ())
            return value, "" if name in self._blank_allowed or value in options else "is empty"
        if name in self._lists and isinstance(value, str):
            # Items may have options: NAME(option=value).
            listed = self._lists[name]
            items = [item.strip() for item in value.split(listed["separator"])]
            if not all(items):
                return value, "has an empty item"
            most = listed.get("max_items", len(items))
            if len(items) > most:
                return value, f"has {len(items)} items, at most {most} are allowed"
            allowed = {item.lower(): item for item in listed.get("items", ())}
            for index, item in enumerate(items):
                word, bracket, options = item.partition("(")
                if allowed and word.strip().lower() not in allowed:
                    return value, f"{quoted(item)} is not one of {', '.join(allowed.values())}"
                items[index] = allowed.get(word.strip().lower(), word) + bracket + options
            return listed["separator"].join(items), ""
        return value, self._wrong_date(name, value)

    def _wrong_date(self, name: str, value: Any) -> str:
        """Return what is wrong with a date: no calendar has it, or it is not written as RFC 3339 does.

        The form is that of ``format``. Parameters whose description or pattern may ask for another form are not checked
        for it, nor words such as today. What only looks like a date is wrong where the parameter takes no other text.
        """
        rule = self.properties.get(name)
        if rule is None:
            return ""
        has_own_form = "pattern" in rule or "/" in str(rule.get("description", "")) or isinstance(value, list)
        is_date = rule.get("format") in ("date", "date-time") and not has_own_form
        for text in value if isinstance(value, list) else [value]:
            is_long = isinstance(text, str) and text[:4].isdecimal() and len(text.strip()) > 8
            if not is_long and not (is_date and isinstance(text, str)):
                continue
            other = ["not-a-date"] if isinstance(value, list) else "not-a-date"
            if (found := impossible_date(text)) and (is_date or not self.accepts(name, other)):
                return f"{quoted(text)} {found.problem}"
            readings = [] if text[:4].isdecimal() or not is_date else parse_date(text)
            if readings and not any(reading.is_relative for reading in readings):
                return f"{quoted(text)} is no date as 2025-06-30"
        return ""

    def _errors(self, arguments: dict[str, Any]) -> list[ValidationError]:
        if sum(map(len, _levels(arguments))) < _MANY_VALUES:
            return list(self._validator.iter_errors(arguments))
        try:
            self._validator.validate(arguments)
        except ValueError as error:  # jsonschema_rs.ValidationError, the only one for a value that is JSON
            return [error]  # type: ignore[list-item]  # it is a ValidationError
        return []

    def _problems(
        self, arguments: dict[str, Any], own: Mapping[str, str], errors: list[ValidationError]
    ) -> list[Problem]:
        """Return one problem for each place: unknown arguments first, then by the order of the schema."""
        translator = Translator(self.schema, arguments)
        known = {name: describe_expected(self.properties[name], self.schema) for name in own if name in self.properties}
        found = [Problem(parameter=name, problem=own[name], expected=known.get(name, "no value")) for name in own]
        for error in errors[:_MAX_ERRORS]:
            found += translator.problems(error)
        order = {name: index for index, name in enumerate(self.properties)}
        first: dict[str, Problem] = {}
        for problem in found:
            first.setdefault(problem["parameter"], problem)

        def place(problem: Problem) -> tuple[int, int]:
            group = {UNKNOWN: 0, MISSING: 2}.get(problem["problem"], 1)  # what is missing comes after what is wrong
            return group, order.get(parameter_of(problem, order), len(order))

        return sorted(first.values(), key=place)[: MAX_UNKNOWN + _MAX_ERRORS]

    def unsafe(self, arguments: Mapping[str, Any]) -> Problem | None:
        """Return the problem of a value that must not reach the library, or None."""
        for name, value in arguments.items():
            is_nested = isinstance(value, dict | list)
            if is_nested and sum(1 for _ in islice(_levels(value), self._max_nesting + 1)) > self._max_nesting:
                return self._unsafe(name, f"is nested too deeply: {self._max_nesting} levels are allowed")
            try:
                _encode([name, value])
            except UnicodeEncodeError:
                return self._unsafe(name, "holds text that is not valid Unicode")
            except ValueError:
                continue  # an integer of thousands of digits
        return None

    def _unsafe(self, name: str, problem: str) -> Problem:
        expected = describe_expected(self.properties.get(name, {}), self.schema)
        return {"parameter": quoted(name)[1:-1], "problem": problem, "expected": expected}


def invalid_arguments(tool: Tool, resolved: ResolvedArguments) -> InvalidArguments:
    """Return the error for arguments with problems."""
    problems = resolved.problems
    text = INVALID_ARGUMENT if len(problems) == 1 else INVALID_OF_SEVERAL
    first = problems[0]
    stop = "" if first["expected"].endswith("?") else "."
    fields = {**first, "others": len(problems) - 1, "stop": stop}
    if tool.source:
        fields["called"] = f"{tool.name}: "
    elif (name := fields["parameter"]) in tool.parameters["properties"]:
        fields["parameter"] = Text(f"{{{name}}}")  # of a meta-tool it may be an option of a command
    return InvalidArguments(
        text.filled(tool=tool.name, **fields),
        resolved.next_step or CORRECT_ARGUMENTS,
        problems=problems,
        schema=tool.parameters,
    )


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Compile ``schema``.

    Raises:
        SchemaError: it cannot be used; the text says why.
    """
    import jsonschema_rs  # loads a compiled library, which only calls need

    linear = jsonschema_rs.RegexOptions()
    bounded = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT)
    problem, path = "", list[str | int]()
    for engine in (linear, bounded):
        try:
            return jsonschema_rs.validator_for(
                dict(schema), pattern_options=engine, offline=True, validate_formats=False
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            problem = str(getattr(error, "message", error)).partition("\n")[0]
            path = list(getattr(error, "instance_path", ()))
    raise SchemaError(problem, path)


def _levels(value: Any) -> Iterator[list[Any]]:
    """Yield the values in ``value``, one level of nesting after the other, without recursion."""
    level = [value]
    while level:
        yield level
        nested = [
            outer.values() if isinstance(outer, dict) else outer for outer in level if isinstance(outer, dict | list)
        ]
        level = [inner for values in nested for inner in values]


def _encode(value: Any) -> None:
    """Encode every text in ``value``: JSON may contain half of a surrogate pair.

    Raises:
        UnicodeEncodeError: it does.
        ValueError: it contains an integer of thousands of digits.
    """
    json.dumps(value, ensure_ascii=False, default=str).encode()


class _Change(NamedTuple):
    path: tuple[str | int, ...]
    value: Any


def _coerce(
    root: Mapping[str, Any], given: Mapping[str, Any], errors_of: Callable[[dict[str, Any]], Iterable[Any]]
) -> dict[str, Any]:
    """Return ``given``, which the schema ``root`` refuses, with converted values, without nulls for "not given"."""
    arguments = copy.deepcopy(dict(given))
    for _ in range(_MAX_ROUNDS):
        changes = [change for error in errors_of(arguments) for change in _changes(root, arguments, error)[1]]
        chosen = {change.path: change.value for change in reversed(changes)}
        for path in sorted(chosen, key=len, reverse=True):  # before the value that they are in is replaced
            parent, last, value = value_at(arguments, path[:-1]), path[-1], chosen[path]
            if value is None:
                del parent[last]
            else:
                parent[last] = value
        if not changes:
            break
    return arguments


def _changes(root: Mapping[str, Any], arguments: Any, error: Any) -> tuple[int, list[_Change]]:
    """Return the changes after which a value has not this error, and how far the value is from that."""
    path, kind = tuple(error.instance_path), error.kind
    value = value_at(arguments, path)
    if value is None:
        is_declared = path[-1] in properties(root, rule_at(root, path[:-1]))
        return (0, [_Change(path, None)]) if is_declared else (_OTHER_ERROR, [])
    if kind.name in ("enum", "const") and path:
        given = kind.options if kind.name == "enum" else [kind.expected_value]
        found = next(spelled_options(value, [option for option in given if option is not None]), None)
        return (0, [_Change(path, found.value)]) if found else (_OTHER_VALUE, [])
    if kind.name == "type" and path:
        types = frozenset(kind.types)
        if (converted := _converted(types, value)) is not None:
            return 0, [_Change(path, converted)]
        item = _item(root, path, value) if "array" in types else None
        return (_OTHER_ERROR, []) if item is None else (_WRAPPED, [_Change(path, [item])])
    alternatives: Sequence[Sequence[Any]] = getattr(kind, "context", ())
    if not alternatives or not all(alternatives):  # of the latter it fits more than one
        return _OTHER_ERROR, []
    plans = [[_changes(root, arguments, inner) for inner in errors] for errors in alternatives]
    closest = min(plans, key=lambda plan: sum(distance for distance, _ in plan))
    return sum(distance for distance, _ in closest), [change for _, changes in closest for change in changes]


def _converted(types: frozenset[str], value: Any) -> Any:
    """Return the value of one of ``types`` that a text spells; None for every other one."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _number_in(text) if types & {"integer", "number"} else None
    if number is not None and (isinstance(number, int) or "number" in types):
        return number
    if types & {"array", "object"} and text[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            parsed = load_json(text)
            return parsed if json_type(parsed) in types else None
    return None


def _item(root: Mapping[str, Any], path: Sequence[str | int], value: Any) -> Any:
    """Return ``value`` as the only item of the list that is expected at ``path``; None where it cannot be one."""
    types = allowed_types(root, rule_at(root, [*path, 0]))
    item = value if json_type(value) in types else _converted(types, value)
    is_item = not isinstance(value, list) and (isinstance(value, str) or len(types) < len(TYPES))
    return item if is_item else None


def _number_in(text: str) -> int | float | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < _LARGEST_EXACT else number
