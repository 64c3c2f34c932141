"""Render a tool at one of three detail levels, as data and as text; and ``TOOL_GET``, which describes up to twenty.

1. full: everything it takes and returns, and an example call; enough to call it.
2. medium: its summary, and the names and types of its parameters; enough to judge by, without constraints and examples.
3. minimal: its name and summary.

The data holds JSON Schema, for programs; the text says the same in words, in half the tokens, for a model. The data of
TOOL_GET also have what its text leaves out: effect, errors, version.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import EFFECT_WORDS, summary_suffix
from toolfold.catalog.json_schema import properties, value_words
from toolfold.catalog.reader import damaged
from toolfold.errors import CallError
from toolfold.meta_tools.arguments import signature
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.result import Result, dumps_compact, safe_line, to_text
from toolfold.results import tokens
from toolfold.text_safety import shortened

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool, ToolSummary
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.wording import Reader


FULL, MEDIUM, MINIMAL = 1, 2, 3

LEVELS = {"full": FULL, "medium": MEDIUM, "minimal": MINIMAL}
"""Values of ``detail`` → detail level."""


def minimal(tool: Tool | ToolSummary) -> tuple[dict[str, Any], str]:
    """Render ``{"name", "description"}``: without parameters it is the minimal level.

    ``access`` is added where a free key is not enough, ``effect`` where a call does more than read.
    """
    return _head(tool, MINIMAL, tool.summary), safe_line(f"{tool.name}: {tool.summary}{_suffix(tool)}")


def medium(tool: Tool) -> tuple[dict[str, Any], str]:
    """Render the minimal entry with ``parameters``, reduced to names, types and ``required``."""
    entry = {**_head(tool, MEDIUM, tool.summary), "parameters": without_constraints(tool.parameters)}
    return entry, safe_line(f"{signature(tool)}: {tool.summary}{_suffix(tool)}")


_MAX_VALUES = 24
"""Allowed values of a parameter that the words of a tool list; its schema has all."""


def full(tool: Tool) -> tuple[dict[str, Any], str]:
    """Render the whole description, ``parameters``, ``returns``, ``example_call`` and ``hash``."""
    description = full_description(tool)
    entry = {
        **_head(tool, FULL, description),
        "parameters": tool.parameters,
        "returns": tool.returns,
        "example_call": example_call(tool),
        "hash": tool.hash,
    }
    lines = [f"{tool.name}{_suffix(tool)}: {description}"]
    required = tool.parameters.get("required", ())
    for name, rule in properties(tool.parameters).items():
        words = value_words(tool.parameters, rule, _as_text, most=_MAX_VALUES)
        words = words[words[0] == "string" and "enum" not in rule :]
        # A description names the format and an example shows it; the expression is for parameters without an example.
        words += [f"matching {rule['pattern']}"] if "pattern" in rule and not rule.get("examples") else []
        words += ["required"] if name in required else []
        head = f"{name} ({', '.join(words)})" if words else name
        # A value that the example call shows is not repeated.
        examples = () if name in tool.example or "default" in rule else rule.get("examples", ())
        shown = f" E.g. {_as_text(examples[0])}" if examples else ""
        text = f"{rule.get('description', '')}{shown}".strip()
        lines.append(f"- {head}: {text}" if text else f"- {head}")
    choices = [choice["required"][0] for choice in tool.parameters.get("anyOf", ()) if choice.get("required")]
    if choices:
        lines.append(f"One of {' or '.join(choices)} is required.")
    lines += [f"Returns {tool.returns}"] if tool.returns else []
    lines.append(f"Example: {dumps_compact(example_call(tool))}")
    return entry, "\n".join(map(safe_line, lines))


def full_description(tool: Tool) -> str:
    """Return the summary and the description, or the description alone where it begins with the summary."""
    if tool.description.startswith(tool.summary.removesuffix("…")):
        return tool.description
    return f"{tool.summary}. {tool.description}"


def example_call(tool: Tool) -> dict[str, Any]:
    """Return the arguments of a TOOL_CALL that works."""
    return {"tool_name": tool.name, "arguments": tool.example}


def without_constraints(schema: Mapping[str, Any], *, is_described: bool = False) -> dict[str, Any]:
    """Reduce an object schema to names, types and which properties are required; or with a sentence of each, too."""
    kept = {key: schema[key] for key in ("type", "required", "anyOf") if key in schema}
    shown: dict[str, dict[str, Any]] = {}
    for name, rule in properties(schema).items():
        shown[name] = {}
        if "type" in rule:
            shown[name]["type"] = rule["type"]
            items = rule.get("items")
            if rule["type"] == "array" and isinstance(items, Mapping) and "type" in items:
                shown[name]["items"] = {"type": items["type"]}
        if is_described and "description" in rule:
            # "e.g." and "U.S." end no sentence.
            shown[name]["description"] = re.split(r"(?<=[^.]{2}[.!?])\s", str(rule["description"]), maxsplit=1)[0]
    return {**kept, "properties": shown}


def _head(tool: Tool | ToolSummary, level: int, description: str) -> dict[str, Any]:
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
    """Return ``value``, as JSON unless it is text in one line: a value must not begin a line of the description."""
    is_line = isinstance(value, str) and not any(character in value for character in "\n\r\t")
    return value if is_line else dumps_compact(value)


_WORDS: Mapping[str, str] = {"needs_output_of": "before", "alternative": "instead of", "then": "after"}
"""Kind of a relation → when the other tool is called, seen from the tool that has the relation. A search shows these
kinds."""


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
        if tool is not None and other is not None and kind in _WORDS:
            related.append((other, f"{_WORDS[kind]} {tool.name}{f': {via[0]}' if via else ''}"))
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
            reserved = sum([render(other, MINIMAL).cost for other in positions[rank + 1 : rank + 1 + RESERVED_LINES]])
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


def refusal_of(catalog: Catalog, tool: Tool) -> str:
    """Return the code of the error that every call of ``tool`` has here; empty for one that may be called."""
    try:
        catalog.require_callable(tool)
    except CallError as error:
        return error.code
    return ""


def describe_tools(request: MetaRequest) -> Result:
    """Describe the tools that the arguments name."""
    tools, catalog = request.tools, request.catalog
    return tool_get(catalog, request.arguments, tools.switched_off(catalog), tools.reader)


def tool_get(
    catalog: Catalog, arguments: Mapping[str, Any], switched_off: Collection[str] = (), reader: Reader | None = None
) -> Result:
    """Describe the tools named in ``arguments``.

    Returns:
        ``{"tools": [entry, …]}`` in the order of the names; the text of a single name is its entry alone. An entry is
        ``{"name", "found": true, "description", "category", "tags", "access", "parameters": JSON Schema, "returns",
        "example_call", "see_also": [names], "use_instead": {other need: its tool}, "hash"}``; less with ``detail``
        medium, which has the first sentence of each parameter, or minimal.
        ``"effect": "writes"`` or ``"destructive"`` is added for a tool that does more than read,
        ``"confirm"`` for one whose calls need approval for another reason, ``"callable": false`` for one that is known
        here and not called. In full, the structured answer has ``"effect"``, ``"callable"``, ``"version"``
        and ``"errors": [codes]`` for every tool.
        For a tool whose hash is in ``known`` it is
        ``{"name", "found", "unchanged": true, "hash"}``, for an unknown name ``{"name", "found": false, "error"}``.
    """
    given, detail = arguments["tool_name"], arguments.get("detail", "full")
    listed = given
    if isinstance(given, str) and catalog.canonical_name(given) is None:
        from toolfold.execution.argument_values import listed_values  # the usual name needs none of it

        listed = re.sub(r"\([^()]*\)\s*\Z", "", given)
        listed = listed_values(listed) or listed
    names = [listed] if isinstance(listed, str) else [str(name).strip() for name in listed]
    known_hashes = {name.strip().upper(): str(hash_) for name, hash_ in arguments.get("known", {}).items()}
    catalog.prefetch(tools=[name.upper() for name in names])
    if isinstance(given, str) and len(names) == 1:
        name = catalog.canonical_name(names[0])
        if name is not None and not known_hashes:  # the most frequent call, and always the same answer
            return catalog.memoize((detail, name), lambda: _result([_entry(catalog, name, detail, {})], is_one=True))
    entries = [_entry(catalog, name, detail, known_hashes, switched_off, reader) for name in names]
    return _result(entries, is_one=isinstance(given, str) and len(names) == 1)


class _Entry(NamedTuple):
    """The entry of a tool: what a model reads, and what the structured answer has beside it."""

    shown: dict[str, Any]
    details: Mapping[str, Any] = MappingProxyType({})
    error: CallError | None = None


def _result(entries: Sequence[_Entry], *, is_one: bool) -> Result:
    shown: list[Any] = [entry.shown for entry in entries]
    errors = [entry.error for entry in entries if entry.error is not None]
    tools = [{**entry.shown, **entry.details} for entry in entries]
    return Result({"tools": tools}, to_text(shown[0] if is_one else shown), errors=errors)


def _entry(
    catalog: Catalog,
    name: str,
    detail: str,
    known_hashes: Mapping[str, str],
    switched_off: Collection[str] = (),
    reader: Reader | None = None,
) -> _Entry:
    tool = catalog.get(name)
    if tool is None:
        from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found  # few names need it

        if (meta_tool := find_meta_tool(name)) is not None:
            return _meta_entry(catalog, meta_tool, detail, known_hashes, is_off=meta_tool in switched_off)
        tool = catalog.get(find_name(catalog, name) or name)
        if tool is None:
            error = tool_not_found(catalog, name)
            return _Entry({"name": shortened(name), "found": False, "error": error.as_dict(reader)}, error=error)
    if known_hashes.get(tool.name.upper()) == tool.hash:
        return _Entry({"name": tool.name, "found": True, "unchanged": True, "hash": tool.hash})
    refusal = refusal_of(catalog, tool)
    rendered, _ = {"full": full, "medium": medium, "minimal": minimal, "http": minimal}[detail](tool)
    entry = {"name": tool.name, "found": True, **rendered}
    if detail == "medium":  # for whom it was chosen; in a list it would be the most of each entry
        entry["parameters"] = without_constraints(tool.parameters, is_described=True)
    if detail == "http":
        entry |= as_http(tool, catalog.source(tool.source))
    if detail == "full":
        mentioned = set(re.findall(r"\w+", entry["description"]))
        entry = {
            **entry,
            "access": tool.access,
            "tags": tool.tags,
            "confirm": tool.confirm,
            "see_also": tool.see_also,
            "relations": tuple(dict(zip(("to", "kind", "via"), one, strict=False)) for one in tool.relations),
            # Without what the description says already.
            "use_instead": {need: other for need, other in tool.use_instead.items() if other not in mentioned},
        }
    if refusal:
        entry["callable"] = False
    shown = {key: value for key, value in entry.items() if key != "hash" and value not in ((), {}, "")}
    shown["hash"] = tool.hash
    if detail != "full":
        return _Entry(shown)
    source = next((one for one in catalog.base.sources if one.id == tool.source), None)
    ends = {
        "INVALID_ARGUMENTS": True,
        **dict.fromkeys(("AUTH_REQUIRED", "AUTH_REJECTED"), source is not None and source.auth is not None),
        **dict.fromkeys(("APPROVAL_REQUIRED", "APPROVAL_PENDING", "APPROVAL_DENIED"), tool.needs_approval),
        "PREMIUM_ONLY": tool.access != "free",
        "NO_DATA": tool.effect == "read",
        **dict.fromkeys(("RATE_LIMITED", "UPSTREAM_ERROR", "UPSTREAM_TIMEOUT", "ANSWER_TOO_LARGE"), True),
    }
    details = {"effect": EFFECT_WORDS.get(tool.effect, tool.effect), "callable": not refusal}
    details |= {"version": source.version} if source is not None and source.version else {}
    return _Entry(shown, {**details, "errors": [refusal] if refusal else [code for code, may in ends.items() if may]})


def as_http(tool: Tool, source: Source) -> dict[str, Any]:
    """Return how a call is sent, without keys: ``{"http": {"method", "url", "arguments": {name: place}, "sends"}}``.

    The URL is that of the catalog, not one that the operator has set. Nothing for a tool that is not called by HTTP.

    Raises:
        CatalogUnavailable: the catalog says it in another form.
    """
    if "path" not in tool.call:
        return {}
    from toolfold.sources.http_api.binding import BindingError, bound_parameters, check_binding  # few want it

    call, body = tool.call, tool.call.get("body", {})
    try:
        parameters = bound_parameters(call, properties(tool.parameters), check_binding(call))
    except BindingError as error:
        raise damaged(f"the binding of {tool.name!a}: {error}") from None
    places = {one.argument: one.location for one in parameters}
    places |= dict.fromkeys(filter(None, (body.get("argument"), *body.get("fields", ()))), "body")
    sends = {"sends": call["sends"]} if call.get("sends") else {}
    url = f"{source.base_url.removesuffix('/')}{call['path']}"
    return {"http": {"method": call.get("method", "GET"), "url": url, "arguments": places, **sends}}


def _meta_entry(catalog: Catalog, name: str, detail: str, known_hashes: Mapping[str, str], *, is_off: bool) -> _Entry:
    import hashlib

    defined = definitions(catalog, (name,))[0]
    entry: dict[str, Any] = {"name": name, "found": True}
    hash_ = hashlib.sha256(dumps_compact(defined).encode()).hexdigest()[:8]
    if known_hashes.get(name) == hash_:
        entry["unchanged"] = True
    else:
        entry["description"] = defined["description"]
        if detail != "minimal":
            entry["parameters"] = defined["inputSchema"]
    return _Entry({**entry, "hash": hash_, **({"callable": False} if is_off else {})})
