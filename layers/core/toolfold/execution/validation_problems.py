"""Say what is wrong with an argument, and what a parameter takes, in words for the model that sent it.

The verdict is ``jsonschema_rs``'s; its errors are translated here, because a model needs to know which parameter, what
came and what was expected. Values of unknown arguments are never repeated: one may be an API key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from toolfold.catalog import json_schema
from toolfold.fuzzy import did_you_mean
from toolfold.text_safety import counted, quoted, shortened
from toolfold.wording import Text


class Problem(TypedDict):
    """One thing that is wrong with the arguments."""

    parameter: str
    problem: str
    expected: str


def parameter_of(problem: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return which of ``names`` a problem is about, whose place may be inside a value; names may have dots, too."""
    place = problem["parameter"]
    return max((name for name in names if f"{place}.".startswith((f"{name}.", f"{name}["))), key=len, default=place)


class ResolvedArguments(NamedTuple):
    """Arguments that can be sent, or what is wrong with them.

    Attributes:
        arguments: in the schema's order and types.
        problems: what is wrong; empty: nothing.
        notes: what was read in a way that the caller may not expect.
        next_step: what would work, where it is known.
    """

    arguments: dict[str, Any]
    problems: list[Problem]
    notes: tuple[str, ...] = ()
    next_step: Text | None = None


QUOTED_CHARACTERS = 60
"""Characters of a wrong value or name that are repeated to the caller: enough to recognise it."""

MAX_UNKNOWN = 20
"""Unknown arguments that are named. Their number is the caller's choice; the size of the answer must not be."""

_MAX_OPTIONS, _MAX_PATTERN = 50, 100
"""Allowed values that are listed, and characters of a pattern that are shown."""

UNKNOWN, MISSING = "is not a parameter of this tool", "is missing"
"""Problems by which an argument is known as one that the tool does not have, or that it needs."""

_ROOT = "arguments"
"""The parameter named in a problem of all arguments together."""

_PHRASES = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}
_PHRASES |= {"array": "an array", "object": "an object", "null": "null"}

_NAMES = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "an array", dict: "an object"}

_TEXTS: dict[str, Callable[[Any, Any], str]] = {
    "enum": lambda _, value: f"{quoted(value)} is not an allowed value",
    "const": lambda _, value: f"{quoted(value)} is not an allowed value",
    "pattern": lambda _, value: f"{quoted(value)} does not match the format",
    "format": lambda _, value: f"{quoted(value)} does not match the format",
    "minimum": lambda _, value: f"{shortened(str(value))} is too small",
    "exclusiveMinimum": lambda _, value: f"{shortened(str(value))} is too small",
    "maximum": lambda _, value: f"{shortened(str(value))} is too large",
    "exclusiveMaximum": lambda _, value: f"{shortened(str(value))} is too large",
    "multipleOf": lambda kind, value: f"{shortened(str(value))} is not a multiple of {kind.multiple_of}",
    "minItems": lambda _, value: f"has {counted(len(value), 'item')}",
    "maxItems": lambda _, value: f"has {counted(len(value), 'item')}",
    "uniqueItems": lambda *_: "has an item twice",
    "minLength": lambda kind, value: f"has {counted(len(value), 'character')}, at least {kind.limit} are needed",
    "maxLength": lambda kind, value: f"has {counted(len(value), 'character')}, at most {kind.limit} are allowed",
}
"""Keyword of JSON Schema → what is wrong with a value, from the error's kind and the value."""


_SIGNS = (
    *json_schema.BOUNDS,
    ("multipleOf", "a multiple of "),
    ("minLength", "characters ≥"),
    ("maxLength", "characters ≤"),
    ("format", "format "),
)


def describe_expected(schema: Any, root: Any = None) -> str:
    """Return what a parameter takes, in a few words: type, allowed values, bounds, pattern, an example.

    Args:
        schema: the JSON Schema of the parameter.
        root: the schema that its references point into; ``schema`` itself where it is not given.
    """
    root = schema if root is None else root
    words = json_schema.value_words(root, schema, _shown, _SIGNS, _MAX_OPTIONS)
    if (pattern := json_schema.keyword(root, schema, "pattern")) is not None:
        words.append(f"matching {str(pattern)[:_MAX_PATTERN]}")
    examples = json_schema.keyword(root, schema, "examples")
    if isinstance(examples, list) and examples:
        words.append(f"e.g. {examples[0]}")
    return ", ".join(words) if words != ["any"] else "any value"


def _shown(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def type_problem(phrase: str, value: Any) -> str:
    """Return the problem of a value of another type than ``phrase`` says."""
    named = "null" if value is None else _NAMES.get(type(value), "something else")
    if isinstance(value, str | int | float):
        named = f"{named} ({quoted(value)})"
    return f"must be {phrase}, not {named}"


class Translator:
    """Translates errors of ``jsonschema_rs`` about ``arguments``, whose schema is ``root``."""

    def __init__(self, root: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        self._root = root
        self._arguments = arguments
        self._properties = json_schema.properties(root)

    def problems(self, error: Any) -> Iterator[Problem]:
        """Yield the problems that a ``jsonschema_rs.ValidationError`` stands for."""
        path, kind = list(error.instance_path), error.kind
        if not path and (unknown := self._unknown(error)):
            takes = "takes " + (", ".join(self._properties) or "no arguments")
            for name in unknown[:MAX_UNKNOWN]:
                hint = did_you_mean(name, self._properties).strip() or takes
                yield {"parameter": name[:QUOTED_CHARACTERS], "problem": UNKNOWN, "expected": hint}
        elif kind.name == "required":
            yield self._problem([*path, kind.property], MISSING)
        elif kind.name == "falseSchema":
            yield {**self._problem(path, self._text(error)), "expected": "no value"}
        elif kind.name in ("anyOf", "oneOf"):
            yield from self._alternatives(error)
        else:
            yield self._problem(path, self._text(error))

    def _problem(self, path: Sequence[str | int], text: str) -> Problem:
        # An item is identified by its value or its index, a nested value by its path.
        path = path[:1] if len(path) == 2 and isinstance(path[1], int) else path
        expected = describe_expected(rule_at(self._root, path), self._root)
        steps = (f"[{key}]" if isinstance(key, int) else f".{key[:QUOTED_CHARACTERS]}" for key in path)
        label = "".join(steps).removeprefix(".") or _ROOT  # filter.items[0].price
        return {"parameter": label, "problem": text, "expected": expected}

    def _text(self, error: Any) -> str:
        path, kind = list(error.instance_path), error.kind
        value = value_at(self._arguments, path)
        if kind.name in ("additionalProperties", "unevaluatedProperties"):
            named = ", ".join(quoted(name) for name in kind.unexpected[:MAX_UNKNOWN])
            return f"has keys that are not allowed: {named}"
        if kind.name in ("type", "falseSchema"):
            is_type = kind.name == "type"
            text = type_problem(self._phrase(path, kind.types), value) if is_type else "must not be given"
            return f"item {path[1] + 1} {text}" if len(path) == 2 and isinstance(path[1], int) else text
        try:
            return _TEXTS[kind.name](kind, value)
        except (LookupError, TypeError, AttributeError):
            return f"does not fit the schema ({kind.name[:QUOTED_CHARACTERS]})"

    def _phrase(self, path: Sequence[str | int], given: Sequence[str]) -> str:
        rule = rule_at(self._root, path)
        types = json_schema.type_words(self._root, rule) or list(given)
        if types == ["array"]:
            items = json_schema.type_words(self._root, json_schema.keyword(self._root, rule, "items"))
            return f"an array of {' or '.join(f'{name}s' for name in items)}" if items else "an array"
        return " or ".join(_PHRASES.get(name, name) for name in types)

    def _unknown(self, error: Any) -> list[str]:
        kind, no_others = error.kind, ("additionalProperties", "unevaluatedProperties")
        names_all = kind.name == "falseSchema" and error.schema_path[-1:] in [[keyword] for keyword in no_others]
        if kind.name == "additionalProperties":  # of very many the library names the first
            names_all = json_schema.keyword(self._root, self._root, "patternProperties") is None
        if names_all:
            return [name for name in self._arguments if name not in self._properties]
        return list(kind.unexpected) if kind.name in no_others else []

    def _alternatives(self, error: Any) -> Iterator[Problem]:
        """Yield what is wrong with a value that fits no alternative, or more than one."""
        path = list(error.instance_path)
        context: list[list[Any]] = getattr(error.kind, "context", [])
        failed = [branch for branch in context if branch]
        if not failed or len(failed) < len(context):
            yield self._problem(path, "fits more than one of the alternatives, and may fit one only")
        elif all(one.kind.name == "required" and one.instance_path == path for branch in failed for one in branch):
            choices = dict.fromkeys(" and ".join(one.kind.property for one in branch) for branch in failed)
            first = failed[0][0].kind.property
            others = " or ".join(choice for choice in choices if choice != first)
            yield self._problem([*path, first], f"{MISSING}, or {others} instead" if others else MISSING)
        elif all(branch[0].kind.name == "type" and branch[0].instance_path == path for branch in failed):
            given = [name for branch in failed for name in branch[0].kind.types]
            yield self._problem(
                path, type_problem(self._phrase(path, list(dict.fromkeys(given))), value_at(self._arguments, path))
            )
        else:

            def distance(branch: list[Any]) -> tuple[bool, int, int]:
                """Return how far a value is from an alternative: the farthest where it, or a member, is of another."""
                others = [("const", "enum") if one.instance_path != path else ("type",) for one in branch]
                is_other = any(one.kind.name in kinds for one, kinds in zip(branch, others, strict=True))
                return is_other, -max(len(one.instance_path) for one in branch), len(branch)

            yield from self.problems(min(failed, key=distance)[0])


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at ``path``; None where the path ends before."""
    try:
        for key in path:
            value = value[key]
    except (LookupError, TypeError):
        return None
    return value


def rule_at(root: Any, path: Sequence[str | int]) -> Any:
    """Return the schema of the value at ``path``; ``{}`` where it cannot be followed so far."""
    rule: Any = root
    for key in path:
        if isinstance(key, str):
            rule = json_schema.property_rule(root, rule, key)
        else:
            first = json_schema.keyword(root, rule, "prefixItems")
            listed = isinstance(first, list) and key < len(first)
            rule = first[key] if listed else json_schema.keyword(root, rule, "items")
        if rule is None:
            return {}
    return rule
