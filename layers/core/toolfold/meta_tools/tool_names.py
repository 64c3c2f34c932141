"""Find what a name means: the tool in another spelling, a tool that stands for several, or a name of another system.

A name is found when it can mean one tool only: in another letter case, with other signs between its words, without
its source, or with what clients put around names: ``functions.GLOBAL_QUOTE``, ``mcp__server__GLOBAL_QUOTE``,
``GLOBAL_QUOTE()``. A misspelt name is never taken for another: the error for it names the closest.

The names that other systems have for the same things come after those of the catalog. ``docs/how-to/choose-a-mode.md``
lists them, and the tools that stand for several: a group of the mode ``grouped``, a kind of the mode ``kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold import messages
from toolfold.catalog import search, tokenizer
from toolfold.catalog.entries import COMBINING_TOOLS, META_TOOLS, name_key
from toolfold.catalog.profiles import kind_of
from toolfold.errors import ToolNotFound
from toolfold.fuzzy import closest_matches, normalize
from toolfold.meta_tools.arguments import invalid, is_blank, next_call, parse_object, signature
from toolfold.meta_tools.corrections import correct, divide
from toolfold.meta_tools.list_request import parse_filters
from toolfold.meta_tools.result import WRITE, MetaCall
from toolfold.text_safety import quoted
from toolfold.wording import Text, joined

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog


MAX_NAME_LENGTH = 200
"""Characters of a name that is looked for in other spellings."""

_SEPARATORS = re.compile(r"__|[.:/]")
_JOINTS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_PREFIXES = frozenset({"api", "defaultapi", "function", "functions", "mcp", "tool", "tools", "toolfold"})
"""What clients and models put before the name of a tool, as ``fuzzy.normalize`` spells it."""

_META_TOOL_KEYS = {normalize(name): name for name in (*META_TOOLS, "TOOL_CALL_WRITE", *COMBINING_TOOLS)}


def find_meta_tool(name: str) -> str | None:
    """Return which meta-tool is called ``name``, in any spelling; None for other names."""
    texts = _bare(name, ()) if len(name) <= MAX_NAME_LENGTH else ()
    return next((found for text in texts if (found := _META_TOOL_KEYS.get(normalize(text)))), None)


def find_name(catalog: Catalog, name: str) -> str | None:
    """Return the catalog's spelling of ``name``, or None when no tool, or more than one, may be meant."""
    if len(name) > MAX_NAME_LENGTH:
        return None
    if (found := catalog.canonical_name(name)) is not None:
        return found
    sources = {normalize(source.id): source.id for source in catalog.sources}
    bare = list(_bare(name, sources))
    parts = [normalize(part) for part in _SEPARATORS.split(bare[0])[:-1]]
    parts = parts[2:] if parts[:1] == ["mcp"] and len(parts) > 2 else parts  # what follows the name of a server
    named = [sources[part] for part in parts if part in sources][:1]
    spelled = (catalog.canonical_name(one) for text in bare for one in _spellings(text))
    at_sources = (
        [] if normalize(name) in OTHER_NAMES else names_at_sources(catalog, bare[-1], named or sources.values())
    )
    for one in filter(None, [*spelled, *(at_sources if len(at_sources) == 1 else [])]):
        tool = catalog.get(one)
        # A tool of another source than the one that is named does another thing.
        if not named or (tool is not None and tool.source in named):
            return one
    return None


def names_at_sources(catalog: Catalog, name: str, sources: Iterable[str]) -> list[str]:
    """Return the names of the tools that ``sources`` call ``name``, in any spelling, without the prefix."""
    keys = [f"{source}__{spelled}" for source in sources for spelled in _spellings(name)]
    catalog.prefetch(names=map(name_key, keys))
    return list(dict.fromkeys(found for key in keys if (found := catalog.canonical_name(key)) is not None))


def _spellings(text: str) -> Iterator[str]:
    """Yield ``text`` with each sign that names have between their words, and with none."""
    words = [word for word in _JOINTS.split(text) if word]
    yield from (joint.join(words) for joint in ("_", "-", ".", "")) if words else ()


def _bare(name: str, sources: Container[str]) -> Iterator[str]:
    """Yield ``name`` without quotes and brackets around it, then without the names of clients and sources before it."""
    text = name.strip().strip("`'\"").strip().removesuffix("()").strip()
    yield text
    parts = _SEPARATORS.split(text)
    keys = list(map(normalize, parts))
    # The name of the server in mcp__server__tool is the client's.
    is_prefixed = keys[0] == "mcp" or all(key in _PREFIXES or key in sources for key in keys[:-1])
    if len(parts) > 1 and is_prefixed:
        yield parts[-1] if keys[0] != "mcp" or len(parts) < 3 else "__".join(parts[2:])


def tool_not_found(catalog: Catalog, name: str, arguments: Mapping[str, Any] | None = None) -> ToolNotFound:
    """Return the error for a name that no tool has: the closest tool with its parameters, or the search to make.

    A call of it is proposed only with all of the arguments.
    """
    # A tool that stands for several has the name of one among its arguments.
    rest = {key: value for key, value in (arguments or {}).items() if key != "action"}
    named = find_name(catalog, str((arguments or {}).get("action", "")))
    first = normalize(name.partition("__")[0])
    source = next((one.id for one in catalog.sources if first in (normalize(one.id), normalize(one.title))), "")
    called_so = names_at_sources(catalog, name[:MAX_NAME_LENGTH], [one.id for one in catalog.sources])
    closest = [named] if named else called_so or search.closest_names(catalog, name)
    if source and arguments and not named:  # a tool of another source does another thing
        closest = [one for one in closest if (of := catalog.get(one)) is not None and of.source == source]
    tool = catalog.get(closest[0]) if closest else None
    words = " ".join(tokenizer.in_words(name[:MAX_NAME_LENGTH]).lower().split())
    query = {"query": words} if words.isprintable() and words else {}
    following = next_call("TOOL_LIST", {"source": source} if source and tool is None else query)
    step: str | Text = messages.SEARCH_SOURCE.filled(source=source) if source else messages.SEARCH
    if tool is not None:
        own, options = divide(tool, rest if named else arguments or {})
        correction = correct(catalog, tool, own)
        # Of several sources, the caller has to say which is meant; the error has no place for what is left out.
        is_sure = arguments is not None and len(called_so) < 2 and not correction.note(tool)
        description = next_call("TOOL_GET", {"tool_name": called_so if len(called_so) > 1 else tool.name})
        short, own_short = (text.partition("(")[0].rpartition("__")[2] for text in (name, tool.name))
        is_near = bool(named or called_so or arguments is None or closest_matches(short, [own_short]))
        if is_near or is_sure:
            following = (correction.call(tool, options) if is_sure else {}) or description
        similar = f"Similar: {', '.join(closest[1:])}." if closest[1:] else ""
        step = joined(messages.DID_YOU_MEAN.filled(signature=signature(tool)), similar)
    return ToolNotFound(f"There is no tool named {quoted(name)}.", step, closest=closest, **following)


_EXECUTE = ("execute", "call", "run", "invoke")
_ROLES: Mapping[str, tuple[str, ...]] = {
    "source": ("connector", "database", "db", "mcp", "source", "server", "servername", "luaservername"),
    "tool": ("luatoolname", "toolname", "tool", "action", "command", "skill", "skillname", "name"),
    "tools": ("toolnames", "toolname", "names", "tools", "name"),
    "arguments": ("parameters", "arguments", "params", "input", "args", "sampleargs"),
    "subcommand": ("subcommand", "operation", "mode"),
    "table": ("table", "tablename"),
    "sql": ("sql", "query", "statement"),
}
"""What an argument of another system is → its names, as ``fuzzy.normalize`` spells them, the surest first."""


def translate(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> MetaCall | None:
    """Return the call of a meta-tool that a call of another system's ``name`` stands for; None for unknown names.

    Raises:
        InvalidArguments: the call names nothing that there is.
    """
    meant = OTHER_NAMES.get(normalize(name))
    return MetaCall(meant, arguments) if isinstance(meant, str) else meant and meant(catalog, arguments)


def _key(arguments: Mapping[str, Any], role: str) -> str:
    keys = {normalize(key): key for key, value in arguments.items() if not is_blank(value)}
    return next((keys[kind] for kind in _ROLES[role] if kind in keys), "")


def _given(arguments: Mapping[str, Any], role: str) -> Any:
    return arguments.get(_key(arguments, role))


def _rest(arguments: Mapping[str, Any], *roles: str) -> dict[str, Any]:
    """Return what is given beside ``roles``: nothing of it is left out, so that what has no place is an error."""
    read, inner = {_key(arguments, role) for role in roles}, _key(arguments, "arguments")
    rest = {key: value for key, value in arguments.items() if key not in read and not is_blank(value)}
    return {"arguments" if key == inner else key: value for key, value in rest.items()}


def _object(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return parse_object(_given(arguments, "arguments")) or {}


def _source(catalog: Catalog, given: Any) -> str | None:
    """Return the id of the source that is named, by id or title; None where none is."""
    return None if is_blank(given) else next(iter(parse_filters(catalog, {"source": [str(given)]}).source), None)


def _tool(catalog: Catalog, kind: str, source: str | None, given: Any, rest: Mapping[str, Any] | None = None) -> str:
    if not isinstance(given, str):
        following = next_call("TOOL_LIST", {"source": source} if source else {})
        raise invalid(kind, "the name of the tool is missing", Text("{TOOL_LIST} has the names."), **following)
    found = (find_name(catalog, f"{source}__{given}") if source else None) or find_name(catalog, given)
    if found is None:
        named = f"{source}__{given}" if source and "__" not in given else given
        beside = {key: value for key, value in (rest or {}).items() if key != _key(rest or {}, "arguments")}
        raise tool_not_found(catalog, named, rest and {**_object(rest), **beside})
    if source and (other := catalog.get(found)) is not None and other.source != source:
        following = next_call("TOOL_CALL", {"arguments": {}, **(rest or {}), "tool_name": found})
        raise invalid(kind, f"{found} is a tool of {other.source}, not of {source}", "Name its source.", **following)
    return found


def _sources_of(catalog: Catalog, kind: str) -> list[str]:
    return [source.id for source in catalog.sources if kind_of(source.kind) == kind]


def _connector(catalog: Catalog, arguments: Mapping[str, Any], kind: str = "connector") -> MetaCall:
    source, given = _source(catalog, _given(arguments, "source")), _given(arguments, "tool")
    subcommand, rest = (
        normalize(str(_given(arguments, "subcommand") or "")),
        _rest(arguments, "source", "tool", "subcommand"),
    )
    if given is None and subcommand not in _EXECUTE:
        sources = [source] if source else _sources_of(catalog, kind)
        return MetaCall("TOOL_LIST", {"detail": "full", **rest, **({"source": sources} if sources else {})})
    name = _tool(catalog, kind, source, given, rest)
    if subcommand and subcommand not in _EXECUTE:
        return MetaCall("TOOL_GET", {"tool_name": name})
    return MetaCall(WRITE, {**rest, "tool_name": name})


def _database(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    source, own = _source(catalog, _given(arguments, "source")), _sources_of(catalog, "database")
    source = own[0] if source is None and len(own) == 1 else source
    named = "subcommand" if _key(arguments, "subcommand") else "tool"
    subcommand = normalize(str(_given(arguments, named) or "").rpartition("__")[2])
    given = {key: value for key, value in _rest(arguments, "source", named).items() if key != "arguments"}
    given |= {"params": arguments["params"]} if "params" in arguments else _object(arguments)  # of the statement
    if source is None:
        if own and given:
            raise invalid("database", "database is missing", f"There are {', '.join(own[:20])}.")
        return MetaCall("TOOL_LIST", {"source": own} if own else {})
    keys = {role: _key(given, role) for role in ("table", "sql")}
    is_query = subcommand in ("query", *_EXECUTE) or (not subcommand and keys["sql"])
    name, role = ("query", "sql") if is_query else ("describe_table", "table") if keys["table"] else ("list_tables", "")
    others = {key: value for key, value in given.items() if key not in keys.values()}
    own_value = {role: given[keys[role]]} if keys.get(role) else {}
    return MetaCall(WRITE, {"tool_name": _tool(catalog, "database", source, name), "arguments": own_value | others})


def _read_skill(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    name = _tool(catalog, "read_skill", None, _given(arguments, "tool"))
    return MetaCall(WRITE, {**_rest(arguments, "tool"), "tool_name": name})


def _request_tools(_catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    names = _given(arguments, "tools")
    return MetaCall("TOOL_LIST", arguments) if names is None else MetaCall("TOOL_GET", {"tool_name": names})


def _tool_details(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    source = _source(catalog, _given(arguments, "source"))
    return MetaCall("TOOL_GET", {"tool_name": _tool(catalog, "tool-details", source, _given(arguments, "tool"))})


def _inspect(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    named = _tool_details(catalog, arguments).arguments
    return MetaCall("TOOL_CALL", {**_rest(arguments, "source", "tool"), **named, "inspect": True})


_KINDS: Mapping[str, Callable[[Any, Mapping[str, Any]], MetaCall]] = {
    "connector": _connector,
    "database": _database,
    "mcp": lambda catalog, arguments: _connector(catalog, arguments, "mcp"),
    "read_skill": _read_skill,
    "request_tools": _request_tools,
}
_NAMES: Mapping[str, str | Callable[[Any, Mapping[str, Any]], MetaCall]] = {
    "afd-discover": "TOOL_LIST",
    "afd-help": "TOOL_LIST",
    "afd-detail": "TOOL_GET",
    **dict.fromkeys(
        ("afd-docs", "afd-schema"),
        lambda _, given: MetaCall("TOOL_LIST" if _given(given, "tool") is None else "TOOL_GET", given),
    ),
    "afd-call": WRITE,
    "afd-batch": "TOOL_BATCH",
    "afd-pipe": "TOOL_PIPE",
    "list-servers": lambda _, given: MetaCall("TOOL_LIST", {"source": True, **given}),
    "list-server-tools": "TOOL_LIST",
    "tool-details": _tool_details,
    "inspect-tool-response": _inspect,
    "execute": "TOOL_SCRIPT",
    "CATEGORY_LIST": "TOOL_LIST",
    "tool_search": "TOOL_LIST",
    **_KINDS,
}
OTHER_NAMES = {normalize(name): meant for name, meant in _NAMES.items()}
"""Another name, as ``fuzzy.normalize`` spells it → the meta-tool that it is, or what makes the call."""


def call_of(catalog: Catalog, mode: str, stand_in: Mapping[str, Any], arguments: Mapping[str, Any]) -> MetaCall:
    """Return the call of a meta-tool that a call of ``stand_in`` stands for.

    Args:
        catalog: what the profile exposes.
        mode: ``grouped`` or ``kinds``.
        stand_in: the definition of the tool that was called.
        arguments: as the client sent them.

    Raises:
        CallError: the arguments name no tool of ``stand_in``.
    """
    kind, properties = stand_in["name"], stand_in["inputSchema"]["properties"]
    if mode != "kinds":
        return _group_call(catalog, kind, properties, arguments)
    call = _KINDS[kind](catalog, arguments)
    sources = next((one["enum"] for key, one in properties.items() if key in _ROLES["source"] and "enum" in one), None)
    tool = catalog.get(call.arguments["tool_name"]) if call.name == WRITE else None
    if sources is not None and tool is not None and tool.source not in sources:
        # A client may have allowed this kind alone.
        raise invalid(
            kind,
            f"{tool.name} is a tool of {quoted(tool.source)}, which is not behind {kind}",
            "Call it by its own name, or with TOOL_CALL.",
        )
    return call


def _group_call(catalog: Catalog, group: str, properties: Mapping[str, Any], arguments: Mapping[str, Any]) -> MetaCall:
    """Return the call of the tool of a group that ``action`` names; the only one need not be named."""
    actions: list[str] = properties["action"]["enum"]
    given = arguments.get("action") or (actions[0] if len(actions) == 1 else None)
    rest = {other: value for other, value in arguments.items() if other != "action"}
    if not isinstance(given, str):
        shown = ", ".join(actions[:20]) + (", …" if len(actions) > 20 else "")
        raise invalid(group, "action is missing" if given is None else "action must be a name", f"There are {shown}.")
    source = actions[0].rpartition("__")[0]
    found = find_name(catalog, f"{source}__{given}") if source else None
    found = found if found in actions else find_name(catalog, given)
    if found is None:
        raise tool_not_found(catalog, given, rest)
    if found not in actions:
        call = next_call("TOOL_CALL", {"tool_name": found, "arguments": rest})
        raise invalid(group, f"{found} is a tool of another group", "Call it as in next_call.", **call)
    return MetaCall(WRITE, {"tool_name": found, "arguments": rest})
