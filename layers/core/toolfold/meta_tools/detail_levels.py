"""A tool shown in one of three tiers, as data and as text.

1. full: what it returns and takes in all detail, and a call that works; enough to call it.
2. medium: its line, and the names and types of what it takes; enough to judge by, no constraints and no examples.
3. minimal: name and one line.

The data holds JSON Schema, for programs; the text says the same in words, in half the tokens, for a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.result import dumps_compact

if TYPE_CHECKING:
    from toolfold.catalog.model import Tool, ToolSummary

FULL, MEDIUM, MINIMAL = 1, 2, 3

DETAILS = {"full": FULL, "medium": MEDIUM, "minimal": MINIMAL}
"""What ``detail`` may be → the tier it means."""

_BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"))


def line(brief: ToolSummary) -> tuple[dict[str, Any], str]:
    """Tier 3: ``{"name", "tier", "description", "category"}``, and ``access`` where a free key is not enough."""
    return _entry(brief, MINIMAL, brief.summary), f"{brief.name}: {brief.summary}{_premium(brief)}"


def medium(tool: Tool) -> tuple[dict[str, Any], str]:
    """Tier 2: tier 3 with ``parameters``, of which only names, types and ``required`` are left."""
    required = tool.parameters.get("required", ())
    taken = ", ".join(
        name + ("" if name in required else "?") + ("" if rule["type"] == "string" else f": {rule['type']}")
        for name, rule in tool.parameters["properties"].items()
    )
    entry = {**_entry(tool, MEDIUM, tool.summary), "parameters": without_constraints(tool.parameters)}
    return entry, f"{tool.name}({taken}): {tool.summary}{_premium(tool)}"


def full(tool: Tool) -> tuple[dict[str, Any], str]:
    """Tier 1: tier 3 with the whole description, ``parameters``, ``returns``, ``example_call`` and ``hash``."""
    description = described(tool)
    entry = {
        **_entry(tool, FULL, description),
        "parameters": tool.parameters,
        "returns": tool.returns,
        "example_call": example_call(tool),
        "hash": tool.hash,
    }
    lines = [f"{tool.name}{_premium(tool)}: {description}", *_parameters(tool)]
    # Where both forms are offered, the one that comes unasked for is enough to know what the tool has.
    lines += [f"Returns {tool.returns.partition('; json: ')[0]}", f"Example: {dumps_compact(example_call(tool))}"]
    return entry, "\n".join(lines)


def described(tool: Tool) -> str:
    """All that is said of a tool, its line first."""
    return f"{tool.summary}. {tool.description}"


def example_call(tool: Tool) -> dict[str, Any]:
    """The arguments of a TOOL_CALL that works."""
    return {"tool_name": tool.name, "arguments": tool.example}


def without_constraints(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's parameters as names, types and which of them are required."""
    properties = {name: _type(rule) for name, rule in schema["properties"].items()}
    return {**{key: schema[key] for key in ("type", "required", "anyOf") if key in schema}, "properties": properties}


def _type(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}} if rule["type"] == "array" else {"type": rule["type"]}


def _entry(tool: Tool | ToolSummary, tier: int, description: str) -> dict[str, Any]:
    entry = {"name": tool.name, "tier": tier, "description": description, "category": tool.category}
    return entry if tool.access == "free" else {**entry, "access": tool.access}


def _premium(tool: Tool | ToolSummary) -> str:
    return " (premium)" if tool.access == "premium" else ""


def _parameters(tool: Tool) -> Iterator[str]:
    """A line for each parameter: what a call needs to know of it. What the example call shows is not shown twice."""
    schema = tool.parameters
    required = schema.get("required", ())
    for name, rule in schema["properties"].items():
        words = [*_constraints(rule), *(["required"] if name in required else ())]
        head = f"{name} ({', '.join(words)})" if words else name
        examples = () if name in tool.example or "default" in rule else rule.get("examples", ())
        yield f"- {head}: {rule['description']}" + (f" E.g. {_plain(examples[0])}" if examples else "")
    if choices := [choice["required"][0] for choice in schema.get("anyOf", ())]:
        yield f"One of {' or '.join(choices)} is required."


def _constraints(rule: Mapping[str, Any]) -> Iterator[str]:
    if rule["type"] == "array":
        yield f"array of {rule['minItems']} to {rule['maxItems']} strings"
    elif "enum" in rule:
        yield "|".join(map(str, rule["enum"]))
    elif rule["type"] != "string":
        yield rule["type"]
    for keyword, sign in _BOUNDS:
        if keyword in rule:
            yield f"{sign}{rule[keyword]}"
    if "default" in rule:
        yield f"default {_plain(rule['default'])}"
    # A description says the format in words, and an example shows it; the expression is for a rule without one.
    if "pattern" in rule and not rule.get("examples"):
        yield f"matching {rule['pattern']}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else dumps_compact(value)
