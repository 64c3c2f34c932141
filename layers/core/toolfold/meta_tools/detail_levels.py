"""Render a tool at one of three detail levels, as data and as text.

1. full: everything it takes and returns, and an example call; enough to call it.
2. medium: its summary, and the names and types of its parameters; enough to judge by, without constraints and examples.
3. minimal: its name and summary.

The data holds JSON Schema, for programs; the text says the same in words, in half the tokens, for a model.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import EFFECT_WORDS, summary_suffix
from toolfold.catalog.json_schema import properties, type_words, value_words
from toolfold.catalog.reader import damaged
from toolfold.meta_tools.result import dumps_compact, safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool, ToolSummary
    from toolfold.catalog.model import Catalog


FULL, MEDIUM, MINIMAL = 1, 2, 3

LEVELS = {"full": FULL, "medium": MEDIUM, "minimal": MINIMAL}
"""Values of ``detail`` → detail level."""


def minimal(tool: ToolSummary) -> tuple[dict[str, Any], str]:
    """Render ``{"name", "description"}``: without parameters it is the minimal level.

    ``access`` is added where a free key is not enough, ``effect`` where a call does more than read.
    """
    return _entry(tool, MINIMAL, tool.summary), safe_line(f"{tool.name}: {tool.summary}{_suffix(tool)}")


def medium(tool: Tool) -> tuple[dict[str, Any], str]:
    """Render the minimal entry with ``parameters``, reduced to names, types and ``required``."""
    entry = {**_entry(tool, MEDIUM, tool.summary), "parameters": without_constraints(tool.parameters)}
    return entry, safe_line(f"{signature(tool)}: {tool.summary}{_suffix(tool)}")


def name_of(entry: Mapping[str, Any]) -> str:
    """Return the detail level of an entry: ``full``, ``medium`` or ``minimal``."""
    return "full" if "example_call" in entry else "medium" if "parameters" in entry else "minimal"


def signature(tool: Tool) -> str:
    """Return the name and the parameters of a tool: ``SMA(symbol, interval, time_period: integer, month?)``."""
    required = tool.parameters.get("required", ())
    types = {name: type_words(tool.parameters, rule) for name, rule in properties(tool.parameters).items()}
    parameters = ", ".join(
        name + ("" if name in required else "?") + ("" if words == ["string"] else f": {'|'.join(words) or 'any'}")
        for name, words in types.items()
    )
    return f"{tool.name}({parameters})"


def full(tool: Tool) -> tuple[dict[str, Any], str]:
    """Render the whole description, ``parameters``, ``returns``, ``example_call`` and ``hash``."""
    description = full_description(tool)
    entry = {
        **_entry(tool, FULL, description),
        "parameters": tool.parameters,
        "returns": tool.returns,
        "example_call": example_call(tool),
        "hash": tool.hash,
    }
    lines = [f"{tool.name}{_suffix(tool)}: {description}"]
    required = tool.parameters.get("required", ())
    for name, rule in properties(tool.parameters).items():
        words = value_words(tool.parameters, rule, _as_text)
        words = words[words[0] == "string" and "enum" not in rule :]
        # A description names the format and an example shows it; the expression is for parameters without an example.
        words += [f"matching {rule['pattern']}"] if "pattern" in rule and not rule.get("examples") else []
        words += ["required"] if name in required else []
        head = f"{name} ({', '.join(words)})" if words else name
        # A value that the example call shows is not repeated.
        examples = () if name in tool.example or "default" in rule else rule.get("examples", ())
        shown = f" E.g. {_as_text(examples[0])}" if examples else ""
        lines.append(f"- {head}: {rule.get('description', '')}{shown}")
    choices = [choice["required"][0] for choice in tool.parameters.get("anyOf", ()) if choice.get("required")]
    if choices:
        lines.append(f"One of {' or '.join(choices)} is required.")
    lines += [f"Returns {tool.returns}", f"Example: {dumps_compact(example_call(tool))}"]
    return entry, "\n".join(map(safe_line, lines))


def full_description(tool: Tool) -> str:
    """Return the summary and the description, or the description alone where it begins with the summary."""
    if tool.description.startswith(tool.summary.removesuffix("…")):
        return tool.description
    return f"{tool.summary}. {tool.description}"


def example_call(tool: Tool) -> dict[str, Any]:
    """Return the arguments of a TOOL_CALL that works."""
    return {"tool_name": tool.name, "arguments": tool.example}


def without_constraints(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce an object schema to names, types and which properties are required."""
    kept = {key: schema[key] for key in ("type", "required", "anyOf") if key in schema}
    shown: dict[str, dict[str, Any]] = {}
    for name, rule in properties(schema).items():
        shown[name] = {}
        if "type" in rule:
            shown[name]["type"] = rule["type"]
            items = rule.get("items")
            if rule["type"] == "array" and isinstance(items, Mapping) and "type" in items:
                shown[name]["items"] = {"type": items["type"]}
    return {**kept, "properties": shown}


def _entry(tool: Tool | ToolSummary, level: int, description: str) -> dict[str, Any]:
    category = {"category": tool.category} if level == FULL else {}
    access = {} if tool.access == "free" else {"access": tool.access}
    return {"name": tool.name, "description": description, **category, **access, **effect_field(tool)}


def effect_field(tool: Tool | ToolSummary) -> dict[str, Any]:
    """Return ``{"effect": "writes"}`` or ``{"effect": "destructive"}``; empty for a tool that only reads.

    ``"confirm": true`` is added for a tool that has it.
    """
    word = EFFECT_WORDS.get(tool.effect)
    return {**({"effect": word} if word else {}), **({"confirm": True} if tool.confirm else {})}


def _suffix(tool: Tool | ToolSummary) -> str:
    return summary_suffix(tool.access, tool.effect, tool.confirm)


def _as_text(value: Any) -> str:
    return _in_one_line(value) if isinstance(value, str) else dumps_compact(value)


def _in_one_line(text: str) -> str:
    """Return ``text``, as JSON where it has line breaks or tabs: a value must not begin a line of the description."""
    return dumps_compact(text) if any(character in text for character in "\n\r\t") else text


_WORDS: Mapping[str, str] = {"needs_output_of": "before", "alternative": "instead of", "then": "after"}
"""Kind of a relation → when the other tool is called, seen from the tool that has the relation."""


def find_related(catalog: Catalog, best: Sequence[int], candidates: frozenset[int] | None, most: int) -> dict[int, str]:
    """Return the position of each tool that one of ``best`` is related to → how: ``before GLOBAL_QUOTE: symbol``."""
    found: dict[int, str] = {}
    for position in best:
        related = catalog.memoize(("related tools", position), functools.partial(_related, catalog, position))
        for other, remark in related:
            if other not in best and (candidates is None or other in candidates) and len(found) < most:
                found.setdefault(other, remark)
    return found


def _related(catalog: Catalog, position: int) -> tuple[tuple[int, str], ...]:
    """Return the position of each tool that the one at ``position`` is related to, and how."""
    tool = catalog.get(catalog.summary(position).name)
    related = []
    for to, kind, *via in () if tool is None else tool.relations:
        other = catalog.position(to)
        if tool is not None and other is not None:
            related.append((other, f"{_WORDS.get(kind, kind)} {tool.name}{f': {via[0]}' if via else ''}"))
    return tuple(related)


FILL_RATIO = 0.8
"""Share of a budget that is filled. A twentieth is what counting line by line leaves out; the rest is for parameters
whose names are words run together (fastkperiod), and for abbreviations: a page full of them has up to a sixth more
tokens than counted, and must not exceed the budget either."""

RESERVED_LINES = 3
"""Following tools for whose lines the budget is kept: a tool shown in full must not hide its alternatives."""


@dataclass(frozen=True)
class RenderedTool:
    """A tool at one detail level; ``cost`` is the tokens of its text with a line feed."""

    entry: dict[str, Any]
    text: str
    cost: int


def pack(
    catalog: Catalog,
    positions: Sequence[int],
    budget: int,
    ends: tuple[int, int],
    remarks: Mapping[int, str] = MappingProxyType({}),
) -> list[RenderedTool]:
    """Render the first of ``positions``, the best first, that fit into ``budget`` tokens; none where no line fits.

    Args:
        catalog: holds the tools.
        positions: tools.
        budget: tokens.
        ends: ranks at which the full and the medium level end at the latest. No tool is shown in less detail than a
            tool below it.
        remarks: position → how the tool is related to one of the best, at the end of its line.
    """

    def render(position: int, level: int) -> RenderedTool:
        rendered, remark = render_tool(catalog, position, level), remarks.get(position)
        if remark is None:
            return rendered
        text = safe_line(f"{rendered.text} [{remark}]")
        return RenderedTool({**rendered.entry, "relation": remark}, text, tokens.count(text + "\n"))

    catalog.prefetch_summaries(positions)
    packed: list[RenderedTool] = []
    level = FULL
    for rank, position in enumerate(positions):
        rendered = render(position, MINIMAL)
        level = max(level, FULL if rank < ends[0] else MEDIUM if rank < ends[1] else MINIMAL)
        while level < MINIMAL:
            fuller = render(position, level)
            reserved = sum(render(other, MINIMAL).cost for other in positions[rank + 1 : rank + 1 + RESERVED_LINES])
            if fuller.cost + reserved <= budget:
                rendered = fuller
                break
            level += 1
        if rendered.cost > budget:
            break
        packed.append(rendered)
        budget -= rendered.cost
    return packed


def render_tool(catalog: Catalog, position: int, level: int) -> RenderedTool:
    """Return the tool at ``position`` at a detail level, rendered once per catalog."""
    return catalog.memoize((position, level), lambda: _render(catalog, position, level))


def _render(catalog: Catalog, position: int, level: int) -> RenderedTool:
    summary = catalog.summary(position)
    if level == MINIMAL:
        entry, text = minimal(summary)
    else:
        tool = catalog.get(summary.name)
        if tool is None:
            raise damaged(f"no entry for the tool at {position}")
        entry, text = (full if level == FULL else medium)(tool)
    return RenderedTool(entry, text, tokens.count(text + "\n"))
