"""Read calls under the names that other systems have for the same things.

A tool of the catalog comes first: these names are looked up after it. ``docs/how-to/choose-a-mode.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.meta_tools.arguments import invalid, is_blank, next_call, parse_json, quote
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_arguments import OPTIONS
from toolfold.meta_tools.tool_names import find_name, tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_EXECUTE = ("execute", "call", "run", "invoke")
_SERVER_KEYS = ("source", "server", "servername", "luaservername", "connector", "database", "db")
_TOOL_KEYS = ("luatoolname", "toolname", "tool", "action", "command", "name")
_ARGUMENT_KEYS = ("parameters", "arguments", "params", "input", "args", "sampleargs")

_WRITE = "TOOL_CALL_WRITE"


def translate(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> MetaCall | None:
    """Return the call of a meta-tool that a call of another system's ``name`` stands for; None for unknown names.

    Raises:
        InvalidArguments: The call names nothing that there is.
    """
    make = OTHER_NAMES.get(normalize(name))
    return None if make is None else make(catalog, arguments)


def kind_call(
    catalog: Catalog, kind: str, arguments: Mapping[str, Any], definition: Mapping[str, Any] | None = None
) -> MetaCall:
    """Return the call that ``connector``, ``database``, ``mcp``, ``read_skill`` or ``request_tools`` stands for.

    Raises:
        InvalidArguments: The call names nothing that there is.
    """
    call = _KINDS[kind](catalog, arguments)
    if definition is not None and call.name == _WRITE:
        _check_kind(catalog, kind, str(call.arguments["tool_name"]), definition)
    return call


def _check_kind(catalog: Catalog, kind: str, name: str, definition: Mapping[str, Any]) -> None:
    """Raise an error for a tool of another kind: a client may have allowed this kind alone."""
    properties = definition["inputSchema"]["properties"]
    sources = next((rule["enum"] for key, rule in properties.items() if key in _SERVER_KEYS and "enum" in rule), None)
    tool = catalog.get(name)
    if sources is not None and tool is not None and tool.source not in sources:
        raise invalid(
            kind,
            f"{name} is a tool of {quote(tool.source)}, which is not behind {kind}",
            "Call it by its own name, or with TOOL_CALL.",
        )


def _given(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the first argument that is given under one of ``keys``, or None."""
    by_key = {normalize(key): value for key, value in arguments.items() if not is_blank(value)}
    return next((by_key[key] for key in keys if key in by_key), None)


def _object(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with the arguments of the tool, which may come as its JSON text."""
    found = _given(arguments, _ARGUMENT_KEYS)
    value = parse_json(found) if isinstance(found, str) else found
    return dict(value) if isinstance(value, dict) else {}


def _same(arguments: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: arguments[name] for name in names if not is_blank(arguments.get(name))}


def _subcommand(arguments: Mapping[str, Any]) -> str:
    given = _given(arguments, ("subcommand", "operation", "mode"))
    return normalize(given) if isinstance(given, str) else ""


def _source(catalog: Catalog, kind: str, arguments: Mapping[str, Any], *keys: str) -> str | None:
    """Return the id of the source that is named, by id or title; None where none is."""
    given = _given(arguments, (*keys, *_SERVER_KEYS))
    if given is None:
        return None
    spellings = {normalize(form): source.id for source in catalog.sources for form in (source.title, source.id)}
    found = spellings.get(normalize(given)) if isinstance(given, str) else None
    if found is None:
        ids = [source.id for source in catalog.sources]
        closest = closest_matches(given, ids) if isinstance(given, str) else []
        hint = did_you_mean(str(given), closest).strip() or f"There are {', '.join(ids[:20])}."
        raise invalid(kind, f"there is no source {quote(given)}", hint, closest=closest)
    return found


def _tool(catalog: Catalog, kind: str, source: str | None, given: Any) -> str:
    """Return the name of a tool, which may be given without its source."""
    of_source = {"source": source} if source else {}
    if not isinstance(given, str):
        following = next_call("TOOL_LIST", of_source)
        raise invalid(kind, "the name of the tool is missing", "TOOL_LIST has the names.", **following)
    found = (find_name(catalog, f"{source}__{given}") if source else None) or find_name(catalog, given)
    if found is None:
        raise tool_not_found(catalog, given)
    return found


def _run(name: str, given: Mapping[str, Any], arguments: Mapping[str, Any]) -> MetaCall:
    """Return the call of a tool with the options of TOOL_CALL that are beside its arguments."""
    options = {option: arguments[option] for option in OPTIONS if option in arguments}
    return MetaCall(_WRITE, {"tool_name": name, "arguments": given, **options})


def _connector(catalog: Catalog, arguments: Mapping[str, Any], kind: str = "connector") -> MetaCall:
    source = _source(catalog, kind, arguments, kind)
    given = _given(arguments, ("action", "tool", "toolname"))
    subcommand = _subcommand(arguments)
    if given is None and subcommand not in _EXECUTE:
        return MetaCall("TOOL_LIST", {**({"source": source} if source else {}), "detail": "full"})
    name = _tool(catalog, kind, source, given)
    if subcommand and subcommand not in _EXECUTE:
        return MetaCall("TOOL_GET", {"tool_name": name})
    return _run(name, _object(arguments), arguments)


def _database(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    source = _source(catalog, "database", arguments, "database", "db")
    if source is None:
        return MetaCall("TOOL_LIST", {})
    table, sql = _given(arguments, ("table", "tablename")), _given(arguments, ("sql", "query", "statement"))
    subcommand = _subcommand(arguments)
    if subcommand == "query" or (not subcommand and sql is not None):
        name, given = "query", {"sql": sql, **_same(arguments, "params", "limit")}
    elif table is not None:
        name, given = "describe_table", {"table": table}
    else:
        name, given = "list_tables", {}
    return _run(_tool(catalog, "database", source, name), given, arguments)


def _read_skill(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    given = _given(arguments, ("name", "skill", "skillname", "toolname"))
    sources = [source.id for source in catalog.sources if source.kind == "skills"]
    own = (find_name(catalog, f"{source}__{given}") for source in sources if isinstance(given, str))
    name = next(filter(None, own), None) or _tool(catalog, "read_skill", None, given)
    return MetaCall(_WRITE, {"tool_name": name, "arguments": {**_object(arguments), **_same(arguments, "file")}})


def _request_tools(_catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    names = _given(arguments, ("toolnames", "toolname", "names", "tools", "name"))
    if names is not None:
        return MetaCall("TOOL_GET", {"tool_name": names})
    query = _given(arguments, ("query", "search", "q"))
    return MetaCall("TOOL_LIST", {} if query is None else {"query": query})


_KINDS: Mapping[str, Callable[[Any, Mapping[str, Any]], MetaCall]] = {
    "connector": _connector,
    "database": _database,
    "mcp": lambda catalog, arguments: _connector(catalog, arguments, "mcp"),
    "read_skill": _read_skill,
    "request_tools": _request_tools,
}


def _same_as(name: str) -> Callable[[Any, Mapping[str, Any]], MetaCall]:
    return lambda _catalog, arguments: MetaCall(name, arguments)


def _server_tools(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    source = _source(catalog, "list-server-tools", {"source": _given(arguments, (*_SERVER_KEYS, "name"))})
    return MetaCall("TOOL_LIST", {"source": source} if source else {})


def _tool_details(catalog: Catalog, arguments: Mapping[str, Any], kind: str = "tool-details") -> MetaCall:
    name = _tool(catalog, kind, _source(catalog, kind, arguments), _given(arguments, _TOOL_KEYS))
    return MetaCall("TOOL_GET", {"tool_name": name})


def _inspect(catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    named = _tool_details(catalog, arguments, "inspect-tool-response").arguments
    return MetaCall("TOOL_CALL", {**named, "arguments": _object(arguments), "inspect": True})


def _schema(_catalog: Catalog, arguments: Mapping[str, Any]) -> MetaCall:
    named = _given(arguments, _TOOL_KEYS) is not None
    return MetaCall("TOOL_GET" if named else "TOOL_LIST", arguments)


OTHER_NAMES: Mapping[str, Callable[[Any, Mapping[str, Any]], MetaCall]] = {
    normalize(name): make
    for name, make in {
        "afd-discover": _same_as("TOOL_LIST"),
        "afd-help": _same_as("TOOL_LIST"),
        "afd-detail": _same_as("TOOL_GET"),
        "afd-schema": _schema,
        "afd-call": _same_as(_WRITE),
        "afd-batch": _same_as("TOOL_BATCH"),
        "afd-pipe": _same_as("TOOL_PIPE"),
        "list-servers": _same_as("TOOL_LIST"),
        "list-server-tools": _server_tools,
        "tool-details": _tool_details,
        "inspect-tool-response": _inspect,
        "execute": _same_as("TOOL_SCRIPT"),
        "CATEGORY_LIST": _same_as("TOOL_LIST"),
        "tool_search": _same_as("TOOL_LIST"),
        **_KINDS,
    }.items()
}
"""Another name, as ``fuzzy.normalize`` spells it → makes the call."""
