"""Make the definitions of ``tools/list``: of single tools, of categories, and of kinds of sources.

The tool of a category takes the name of one of its tools as ``action``. Tools that only read and tools that change
something are in groups of their own, so that a client that allows a group that only reads allows nothing else.
The tools of kinds list what there is by name; their calls return the schemas, and run a tool.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.build.search_index import TellingRequests
from toolfold.catalog import json_schema
from toolfold.results import tokens
from toolfold.text_safety import counted

MAX_TOOL_TOKENS = 150
"""Tokens of the definition of one tool, as far as shortening can reach: clients send hundreds of them."""

_MAX_TOOL_DESCRIPTION = 199
"""Characters of its description: clients that search for tools index the first 200."""

_FEWEST_CHARACTERS = 24
"""Characters at which the description of a number or a boolean is a whole clause or none."""

_PLAIN_TYPES = ("boolean", "integer", "number")

_SELECT = {"type": "string", "description": "Columns or SQL"}
_RULES = frozenset({"examples", "pattern", "format", "minLength", "maxLength", "title"})
_BOUNDS = frozenset({"default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_SHORTER: tuple[tuple[int, frozenset[str]], ...] = (
    (1000, frozenset()),
    (60, _RULES),
    (60, _RULES | _BOUNDS),
    (40, _RULES | _BOUNDS),
    (24, _RULES | _BOUNDS),
)
"""Steps of shortening: characters of the description of a parameter, and keywords that are left out. A call is checked
against the whole schema, and its error has what was left out."""


def definition_of(name: str, entry: Mapping[str, Any], requests: TellingRequests, left_out: str) -> dict[str, Any]:
    """Return the definition of one tool, with ``select`` unless it is a skill, whose answers are text."""
    schema, premium = entry["parameters"], entry["hints"].get("premium", {})
    properties = {
        key: rule
        for key, rule in schema.get("properties", {}).items()
        if key != left_out and not (isinstance(rule, dict) and rule.get("enum", ()) == premium.get(key))
    }
    if "select" not in properties and "front_matter" not in entry["call"]:
        properties["select"] = _SELECT
    whole = {**schema, "properties": properties}
    # What it returns, and the example requests that fit; without any, its description.
    summary, description = entry["summary"].rstrip("."), entry["description"]
    text = f"{summary} (premium)" if entry["access"] == "premium" else summary
    told = requests.describe(name, text, _MAX_TOOL_DESCRIPTION)
    if told == text:
        told = description if description.startswith(summary) else f"{text}. {description}".rstrip()
        if len(told) > _MAX_TOOL_DESCRIPTION:
            told = f"{told[:_MAX_TOOL_DESCRIPTION].rpartition(' ')[0]}…"
    made: dict[str, Any] = {}
    for characters, dropped in _SHORTER:
        made = {
            "name": name,
            "title": entry["title"],
            "description": told,
            "inputSchema": _brief(whole, characters, dropped | {"additionalProperties"}),
            "annotations": annotations_of([entry["effect"]]),
        }
        if definition_tokens(made) <= MAX_TOOL_TOKENS:
            break
    return made


def _brief(schema: Mapping[str, Any], characters: int, dropped: Collection[str]) -> dict[str, Any]:
    made = {key: value for key, value in schema.items() if key not in dropped}
    description = made.get("description")
    if isinstance(description, str):
        # Values, or the name of a number, say what a parameter is; a string may need a form.
        is_cut = len(_CLAUSE.split(description, maxsplit=1)[0]) > characters
        plain = _FEWEST_CHARACTERS if schema.get("type") in _PLAIN_TYPES and is_cut else 0
        if characters <= (_MAX_TOOL_DESCRIPTION if "enum" in schema else plain):
            del made["description"]
        elif len(description) > characters:
            made["description"] = _shorten(description, characters)
    return json_schema.with_inner(made, lambda _, part: _brief(part, characters, dropped))


def annotations_of(effects: Collection[str]) -> dict[str, bool]:
    """Return the annotations of a tool whose calls have ``effects``; ``openWorldHint`` is true by default.

    MCP gives ``destructiveHint`` no meaning beside ``readOnlyHint: true``, and its default is true.
    """
    if set(effects) <= {"read"}:
        return {"readOnlyHint": True}
    return {"readOnlyHint": False, "destructiveHint": "destructive" in effects}


MAX_GROUP_TOKENS = 2000
"""Tokens of the definition of a group; a larger one is split."""

ACTION = "action"
"""The parameter that names the tool."""

ARGUMENTS = "arguments"
"""The object for parameters that are called ``action`` themselves."""

_MAX_NAME = 48
"""Characters of the name of a group, so that a suffix fits into the 64 of MCP."""

_MAX_DESCRIPTION = 48
"""Characters of the description of a parameter: the tools that share it describe it in more detail."""

_MAX_GROUP_DESCRIPTION = 160
_MAX_ENUM = 24
"""Values of a parameter that are listed. TOOL_GET lists all."""

_KEPT = ("minimum", "exclusiveMinimum", "maximum")
_CLAUSE = re.compile(r"(?<=\w)[.;:](?:\s|$)")
_PHRASE = re.compile(r"(?<=\w)[.;:,](?:\s|$)")

Group = dict[str, Any]
"""``kind`` of the sources, and the ``definition``."""

Member = tuple[str, Mapping[str, Any]]
"""Name and compiled entry of a tool."""


def make_groups(
    categories: Sequence[Mapping[str, Any]],
    tools: Sequence[Member],
    kinds: Mapping[str, str],
    formats: Mapping[str, str],
    taken: Collection[str],
) -> list[Group]:
    """Return the groups of ``tools``, in the order of ``categories``."""
    used = set(taken)

    def name_of(label: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_-]+", "__", label)[:_MAX_NAME]
        if base.upper() in taken:  # the category of INDEX_DATA
            base = f"{base}_tools"
        name, number = base, 1
        while name.upper() in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name.upper())
        return name

    members: dict[str, list[Member]] = {}
    for member in tools:
        members.setdefault(member[1]["category"], []).append(member)
    groups: list[Group] = []
    for category in categories:
        for suffix, effects in (("", {"read"}), ("_write", {"write", "destructive"})):
            same = [member for member in members.get(category["name"], ()) if member[1]["effect"] in effects]
            left_out = formats.get(category["source"], "")
            for part in _split(category, same, left_out):
                definition = _define(name_of(f"{category['name']}{suffix}"), category, part, left_out)
                groups.append({"kind": kinds[category["source"]], "definition": definition})
    return groups


def _split(category: Mapping[str, Any], members: Sequence[Member], left_out: str) -> list[Sequence[Member]]:
    """Return ``members`` in parts whose definitions are within :data:`MAX_GROUP_TOKENS`, as far as a part can be."""
    if not members:
        return []
    if len(members) == 1 or definition_tokens(_define("_" * 8, category, members, left_out)) <= MAX_GROUP_TOKENS:
        return [members]
    middle = (len(members) + 1) // 2
    return [*_split(category, members[:middle], left_out), *_split(category, members[middle:], left_out)]


def definition_tokens(definition: Mapping[str, Any]) -> int:
    """Return the tokens of a definition, as they are counted without a tokenizer."""
    return tokens.count(json.dumps(definition, ensure_ascii=False, separators=(",", ":")))


def _define(name: str, category: Mapping[str, Any], members: Sequence[Member], left_out: str) -> dict[str, Any]:
    schemas = [entry["parameters"] for _, entry in members]
    rules: dict[str, list[Mapping[str, Any]]] = {}
    for schema in schemas:
        for parameter, rule in json_schema.properties(schema).items():
            if parameter != left_out:
                rules.setdefault(parameter, []).append(json_schema.keywords(schema, rule))
    properties: dict[str, Any] = {ACTION: {"type": "string", "enum": [member for member, _ in members]}}
    properties |= {parameter: merge(found) for parameter, found in rules.items() if parameter != ACTION}
    if ACTION in rules:
        properties[ARGUMENTS] = {"type": "object", "description": "Parameters of the tool called action"}
    counts = Counter(parameter for schema in schemas for parameter in schema.get("required", ()))
    common = [parameter for parameter in rules if counts[parameter] == len(schemas) and parameter != ACTION]
    return {
        "name": name,
        "title": category["title"],
        "description": _shorten(category["description"], _MAX_GROUP_DESCRIPTION),
        "inputSchema": {"type": "object", "properties": properties, "required": [ACTION, *common]},
        "annotations": annotations_of({entry["effect"] for _, entry in members}),
    }


def merge(rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one schema that allows what any of ``rules`` allows, for a parameter that several tools have.

    Example:
        >>> merge([{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}])
        {'type': 'string', 'enum': ['a', 'b']}
    """
    # A schema that allows several types has none here.
    types = list(dict.fromkeys(rule["type"] if isinstance(rule.get("type"), str) else "" for rule in rules))
    merged: dict[str, Any] = {}
    if len(types) == 1 and types[0]:
        merged["type"] = types[0]
    elif set(types) == {"integer", "number"}:
        merged["type"] = "number"
    elif all(types):
        merged["anyOf"] = [{"type": one} for one in types]
    if all("enum" in rule for rule in rules):
        values = list({json.dumps(value): value for rule in rules for value in rule["enum"]}.values())
        if len(values) <= _MAX_ENUM:
            merged["enum"] = values
    if merged.get("type") == "array":
        items = [rule.get("items") for rule in rules]
        same = all(one == items[0] for one in items) and "$ref" not in json.dumps(items[0])
        merged["items"] = items[0] if same and isinstance(items[0], dict) else {}
    merged |= {
        key: rules[0][key] for key in _KEPT if all(rule.get(key) == rules[0].get(key) is not None for rule in rules)
    }
    described = Counter(rule["description"] for rule in rules if isinstance(rule.get("description"), str))
    if described and "enum" not in merged:  # the values say what it is
        merged["description"] = _shorten(_PHRASE.split(described.most_common(1)[0][0])[0], _MAX_DESCRIPTION)
    return merged


def _shorten(text: str, most: int) -> str:
    """Return the first clause of ``text``, or as many of its words as fit into ``most`` characters."""
    first = _CLAUSE.split(text, maxsplit=1)[0].strip()
    if len(first) <= most:
        return first
    return first[: most + 1].rpartition(" ")[0].rstrip(",(") or first[:most]


REQUEST = "request_tools"

_MAX_NAMED = 12
"""Tools of one source that its line names, where they are not in the schema."""

_MAX_ENUM_CHARS = 2400
"""Characters of all names in the schema of one kind: some 900 tokens. Beyond, the lines name the first of each source,
and ``discover`` the others."""

_MAX_LINES_CHARS = 4000
_MAX_STUB = 120
"""Characters of the description of a source or a skill, as agents' lists of skills have it."""

_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Makes clients that defer tools show these from the start: without them nothing behind them is found."""


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


class _Kind(NamedTuple):
    """The tool that stands for the sources of one kind: its name, and what its definition says before and after them.

    ``source`` and ``tool`` are the arguments that name a source and a tool; empty: none does. ``more`` are the others.
    """

    name: str
    title: str
    before: str
    after: str
    subcommands: tuple[str, ...]
    source: str
    tool: str
    more: Mapping[str, Any]


_KINDS = {
    "connector": _Kind(
        "connector",
        "API connectors",
        "Calls APIs: ",
        " discover returns the actions of a connector with their parameters, execute runs one.",
        ("discover", "execute"),
        "connector",
        "action",
        {"parameters": {"type": "object", "description": "Of the action"}},
    ),
    "database": _Kind(
        "database",
        "Databases",
        "Reads databases: ",
        " list_tables, then discover returns the columns of a table, query runs SQL.",
        ("list_tables", "discover", "query"),
        "database",
        "",
        {
            "table": {"type": "string", "description": "For discover"},
            "sql": {"type": "string", "description": "For query: one SELECT"},
            "params": {"type": "array", "items": {}, "description": "Values of its placeholders"},
            "limit": {"type": "integer", "description": "Rows"},
        },
    ),
    "mcp": _Kind(
        "mcp",
        "MCP servers",
        "Calls MCP servers: ",
        " discover returns the tools of a server with their parameters, call runs one.",
        ("discover", "call"),
        "server",
        "tool",
        {"arguments": {"type": "object", "description": "Of the tool"}},
    ),
    "skill": _Kind(
        "read_skill",
        "Skills",
        "Returns the instructions of a skill; read it before such work. ",
        "",
        (),
        "",
        "name",
        {"file": {"type": "string", "description": "One of its files instead"}},
    ),
}
"""Kind of the sources → the tool that stands for them."""

_REQUEST: dict[str, Any] = {
    "name": REQUEST,
    "title": "Describe tools",
    "description": "Returns parameters, answers and an example of tools by name, or of those that fit a query.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_names": {"type": "array", "items": {"type": "string"}, "description": "Up to 20"},
            "query": {"type": "string", "description": "What you need"},
        },
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
    "_meta": _ALWAYS_LOAD,
}


def make_kinds(sources: Mapping[str, Any], tools: Sequence[Member], kinds: Mapping[str, str]) -> list[Group]:
    """Return the definitions of the kinds of which there are ``tools``, and that of ``request_tools``.

    ``kinds`` are those of the sources; see ``catalog.profiles.kind_of``.
    """
    made: list[Group] = []
    for kind, entry in _KINDS.items():
        members = [member for member in tools if kinds[member[1]["source"]] == kind]
        if not members:
            continue
        own = {id_: sources[id_] for id_ in dict.fromkeys(tool["source"] for _, tool in members)}
        listed_names = [member for member, _ in members]
        names = {"enum": listed_names} if sum(map(len, listed_names)) <= _MAX_ENUM_CHARS else {}
        if entry.source:
            listed = _lines(own, members, named=bool(entry.tool) and not names)
        else:
            listed = _joined([f"{member}: {_stub(tool['summary'])}" for member, tool in members])
        named = {"subcommand": _one_of(*entry.subcommands), entry.source: _one_of(*own)} if entry.source else {}
        named |= {entry.tool: {"type": "string", **names}} if entry.tool else {}
        definition = {
            "name": entry.name,
            "title": entry.title,
            "description": f"{entry.before}{listed}{entry.after}",
            "inputSchema": {
                "type": "object",
                "properties": {**named, **entry.more},
                "required": ["subcommand", entry.source] if entry.source else [entry.tool],
            },
            "annotations": {**annotations_of({tool["effect"] for _, tool in members}), "openWorldHint": True},
            "_meta": _ALWAYS_LOAD,
        }
        made.append({"kind": kind, "definition": definition})
    return [*made, {"kind": "request", "definition": _REQUEST}] if made else []


def _lines(sources: Mapping[str, Any], members: Sequence[Member], *, named: bool) -> str:
    """Return what each source is, with the number of its tools, and the first of their names where ``named``."""
    lines = []
    for id_, source in sources.items():
        own = [name for name, entry in members if entry["source"] == id_]
        more = ", …" if len(own) > _MAX_NAMED else ""
        names = f": {', '.join(own[:_MAX_NAMED])}{more}" if named else ""
        lines.append(f"{id_}: {_stub(source['description'])} ({counted(len(own), 'tool')}{names})")
    return f"{_joined(lines)}."


def _joined(lines: Sequence[str]) -> str:
    text = "; ".join(lines)
    return text if len(text) <= _MAX_LINES_CHARS else f"{text[:_MAX_LINES_CHARS].rpartition(';')[0]}; and more"


def _stub(text: str) -> str:
    return text.rstrip(".") if len(text) <= _MAX_STUB else f"{text[: _MAX_STUB - 1]}…"
