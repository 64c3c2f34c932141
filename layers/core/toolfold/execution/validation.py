"""Arguments held against a tool's JSON Schema, before anything is sent.

The schemas of a catalog use a small part of JSON Schema (type, enum, pattern, bounds, required, anyOf of required,
arrays of strings), and a model needs more than a verdict: which parameter, what was expected, what came. So this is
ours; a property test holds its verdicts against ``jsonschema``'s.

What cannot be misread is mended rather than refused: numbers and booleans sent as strings, letters of an enum in the
wrong case, a list for a comma-separated string, one string for a list, null for "not given".
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Problem = dict[str, Any]
    """``{"parameter", "problem", "expected"}``, for the answer."""

_TOLD = 20
"""Unknown arguments that are spelled out. Their number is the caller's choice; the size of the answer must not be."""

_TRUE_FALSE = {"true": True, "false": False}
_SHOWN = 60
"""Characters of a wrong value that are repeated to the caller: enough to recognise it."""


def validate_arguments(
    schema: Mapping[str, Any], call: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Problem]]:
    """Hold ``arguments`` against ``schema``.

    Args:
        schema: the tool's ``parameters``.
        call: the tool's ``call``; its ``lists`` describe lists that are sent as one string.
        arguments: as the caller sent them.

    Returns:
        The arguments in the schema's order and types, and what is wrong with them (empty: nothing).
    """
    properties: Mapping[str, Any] = schema["properties"]
    unknown = (name for name in arguments if name not in properties)
    problems = [_unknown(name, properties) for name in itertools.islice(unknown, _TOLD)]
    checked: dict[str, Any] = {}
    for name, rule in properties.items():
        value = arguments.get(name)
        if value is None:
            continue
        value, problem = _value(rule, value, call.get("lists", {}).get(name))
        if problem is None:
            checked[name] = value
        else:
            problems.append({"parameter": name, "problem": problem, "expected": describe_expected(rule)})
    refused = {problem["parameter"] for problem in problems}
    for name in schema.get("required", ()):
        if name not in checked and name not in refused:
            problems.append(
                {"parameter": name, "problem": "is missing", "expected": describe_expected(properties[name])}
            )
    choices = [choice["required"][0] for choice in schema.get("anyOf", ())]
    if choices and not any(name in checked or name in refused for name in choices):
        problem = f"one of {' or '.join(choices)} must be given"
        problems.append(
            {"parameter": choices[0], "problem": problem, "expected": describe_expected(properties[choices[0]])}
        )
    return checked, problems


def describe_expected(rule: Mapping[str, Any]) -> str:
    """What a parameter takes, in a few words: type, allowed values, bounds, pattern, an example."""
    if rule["type"] == "array":
        return f"array of 1 to {rule['maxItems']} strings, e.g. {rule['examples'][0]}"
    words = [rule["type"]]
    if "enum" in rule:
        words.append("one of " + ", ".join(map(str, rule["enum"])))
    for keyword, text in (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most")):
        if keyword in rule:
            words.append(f"{text} {rule[keyword]}")
    if "pattern" in rule:
        words.append(f"matching {rule['pattern']}")
    if rule.get("examples"):
        words.append(f"e.g. {rule['examples'][0]}")
    return ", ".join(words)


def _unknown(name: str, properties: Mapping[str, Any]) -> Problem:
    from toolfold.fuzzy import closest_matches  # for mistakes alone

    # The value is not repeated: a stray argument may well be an API key.
    close = closest_matches(name, properties)
    hint = f"did you mean {close[0]}?" if close else "takes " + (", ".join(properties) or "no arguments")
    return {"parameter": name[:_SHOWN], "problem": "is not a parameter of this tool", "expected": hint}


def _value(rule: Mapping[str, Any], value: Any, joined: Mapping[str, Any] | None) -> tuple[Any, str | None]:
    """The value in the rule's type, and what is wrong with it. ``joined`` describes a list sent as one string."""
    if rule["type"] == "array":
        return _array(rule, value)
    if joined is not None and isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            return value, f"must be a string or an array of strings, not {_named(value)}"
        value = joined["separator"].join(value)
    value, problem = _typed(rule["type"], value)
    if problem is None:
        value, problem = _constrained(rule, value)
    if problem is None and joined is not None:
        value, problem = _items(joined, value)
    return value, problem


def _array(rule: Mapping[str, Any], value: Any) -> tuple[Any, str | None]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return value, f"must be an array of strings, not {_named(value)}"
    if not rule["minItems"] <= len(items) <= rule["maxItems"]:
        return value, f"has {len(items)} items"
    for item in items:
        _, problem = _constrained(rule["items"], item)
        if problem is not None:
            return value, problem
    return items, None


def _typed(kind: str, value: Any) -> tuple[Any, str | None]:
    """``value`` as ``kind``; strings that spell a number or a boolean count as one."""
    if kind == "string":
        if not isinstance(value, str):
            return value, f"must be a string, not {_named(value)}"
        return (value, None) if value.strip() else (value, "is empty")
    spelled = value.strip().lower() if isinstance(value, str) else value
    if kind == "boolean":
        mended = _TRUE_FALSE.get(spelled) if isinstance(spelled, str) else spelled
        return (mended, None) if isinstance(mended, bool) else (value, f"must be true or false, not {_named(value)}")
    number = _number(spelled)
    if number is None or (kind == "integer" and not number.is_integer()):
        article = "an integer" if kind == "integer" else "a number"
        return value, f"must be {article}, not {_named(value)}"
    return (int(number) if kind == "integer" else number), None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _constrained(rule: Mapping[str, Any], value: Any) -> tuple[Any, str | None]:
    """``value`` in the enum's spelling, and which constraint it breaks."""
    if "enum" in rule and value not in rule["enum"]:
        same = [allowed for allowed in rule["enum"] if str(allowed).lower() == str(value).strip().lower()]
        if not same:
            return value, f"{_shown(value)} is not an allowed value"
        value = same[0]
    # \Z, not $: a trailing line feed would pass the latter.
    if "pattern" in rule and not re.fullmatch(rule["pattern"].removesuffix("$"), value):
        return value, f"{_shown(value)} does not match the format"
    if "minimum" in rule and value < rule["minimum"]:
        return value, f"{value} is too small"
    if "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"]:
        return value, f"{value} is too small"
    if "maximum" in rule and value > rule["maximum"]:
        return value, f"{value} is too large"
    return value, None


def _items(joined: Mapping[str, Any], value: str) -> tuple[str, str | None]:
    """A joined list, tidied, and what is wrong with it. Items may carry options: ``NAME(option=value)``."""
    items = [item.strip() for item in value.split(joined["separator"])]
    if not all(items):
        return value, "has an empty item"
    most = joined.get("max_items", len(items))
    if len(items) > most:
        return value, f"has {len(items)} items, at most {most} are allowed"
    allowed = {item.lower(): item for item in joined.get("items", ())}
    for index, item in enumerate(items):
        name, bracket, options = item.partition("(")
        if allowed and name.strip().lower() not in allowed:
            return value, f"{_shown(item)} is not one of {', '.join(allowed.values())}"
        items[index] = allowed.get(name.strip().lower(), name) + bracket + options
    return joined["separator"].join(items), None


def _named(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "an array", dict: "an object"}
    name = names.get(type(value), "something else")
    return f"{name} ({_shown(value)})" if isinstance(value, str | int | float) else name


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
