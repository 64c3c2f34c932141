"""MCP servers: ``source.yaml`` says how each is reached, ``snapshot.json`` what it lists.

A refresh writes the snapshot, which a person reviews before it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from toolfold.build import yaml_loader
from toolfold.build.importers import base
from toolfold.build.yaml_loader import Location
from toolfold.catalog import json_schema
from toolfold.catalog.entries import Effect
from toolfold.fuzzy import match_any
from toolfold.network.ssrf import is_secure_url
from toolfold.sources.mcp.connection import NO_HTTP_SSE, is_forbidden_variable
from toolfold.sources.mcp.fingerprint import canonical, tool_fingerprint
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from toolfold.settings import Settings

_Word = Annotated[str, StringConstraints(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]
_Argument = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


_OF_STDIO = ("env", "cwd", "key_variable")
"""Settings of a program beside its command line."""


class McpSettings(base.ImporterSettings):
    """An MCP server: the content of ``source.yaml``."""

    kind: Literal["mcp"] = "mcp"
    freshness_s: int = Field(default=1, ge=1)
    """Seconds for which the answer of a tool that reads is fresh: a server does not say how long its answers hold."""
    transport: Literal["http", "stdio"]
    url: str = ""
    """With ``http``: the address of the server; http:// for this machine only."""
    command: _Word | None = None
    """With ``stdio``: the program that is started. TOOLFOLD_ALLOWED_COMMANDS must allow it."""
    args: list[_Argument] = Field(default=[], max_length=199)
    """With ``stdio``: its arguments."""
    env: dict[_Variable, str] = Field(default={}, max_length=100)
    """With ``stdio``: variables that it gets beside PATH, HOME and others that hold no secrets."""
    key_variable: _Variable | None = None
    """With ``stdio`` and ``auth``: the variable in which the program gets the key."""
    cwd: str = ""
    """With ``stdio``: the folder in which it is started, instead of that of toolfold."""
    trust_annotations: bool = False
    """Whether ``readOnlyHint`` and ``destructiveHint`` of the server are believed. Otherwise each tool is destructive,
    unless ``overlay.yaml`` says what it is."""
    include: list[_Word] = Field(default=[], max_length=1000)
    """Names of tools, ``*`` for any characters, instead of all."""
    exclude: list[_Word] = Field(default=[], max_length=1000)
    """Names of tools that are left out."""

    @field_validator("transport", mode="before")
    @classmethod
    def _transport_is_supported(cls, value: Any) -> Any:
        if value == "sse":
            raise ValueError(NO_HTTP_SSE)
        return value

    @field_validator("env", "key_variable")
    @classmethod
    def _variables_are_harmless(cls, value: Any) -> Any:
        for name in [value] if isinstance(value, str) else value or ():
            if is_forbidden_variable(name):
                raise ValueError(f"{name} cannot be set here: it can make the program run another one")
        return value

    @model_validator(mode="after")
    def _fits_transport(self) -> McpSettings:
        if self.transport != "stdio":
            if given := next((name for name in ("command", "args", *_OF_STDIO) if getattr(self, name)), None):
                raise ValueError(f"{given} is for transport: stdio")
            if not is_secure_url(self.url) or "@" in self.url.partition("://")[2].partition("/")[0]:
                raise ValueError("url must begin with https:// (http:// for this machine only) and hold no password")
            return self
        if self.url:
            raise ValueError("url is for transport: http")
        if not self.command:
            raise ValueError("transport: stdio needs command")
        if self.auth is not None:
            if self.auth.caller_key:
                raise ValueError(
                    "a program that is started once cannot get the key of each caller: leave out caller_key"
                )
            if not self.key_variable:
                raise ValueError("auth with transport: stdio needs key_variable, the variable that gets the key")
        elif self.key_variable:
            raise ValueError("key_variable needs auth, which says where the key comes from")
        return self

    def connection(self, protocol_version: str) -> dict[str, Any]:
        """Return what the adapter needs beside the address; see ``sources.mcp.connection.read_connection``."""
        command = [self.command, *self.args] if self.command else []
        fields = {"command": command, **{name: getattr(self, name) for name in _OF_STDIO}}
        return {name: value for name, value in {**fields, "protocol_version": protocol_version}.items() if value}

    def includes(self, name: str) -> bool:
        """Return whether the tool that the server calls ``name`` belongs to the source. One without a name does not."""
        is_included = not self.include or match_any([name], self.include)
        return bool(name.strip()) and is_included and not match_any([name], self.exclude)


def to_2020_12(schema: Any) -> Any:
    """Return a schema without what libraries write that cannot be meant, and with the lists of items of 2020-12.

    Those that describe what a function receives require members that they fill themselves by a default; those that
    close all objects close maps as well, of which no member can be given then.

    Example:
        >>> to_2020_12({"type": "array", "items": [{"type": "string"}], "additionalItems": False})
        {'type': 'array', 'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if not isinstance(schema, Mapping):
        return schema
    made = json_schema.with_inner(schema, lambda _, part: to_2020_12(part))
    more = made.pop("additionalItems", None)  # it has no meaning beside one schema for all items
    if isinstance(made.get("items"), list):
        made["prefixItems"] = made.pop("items")
        made |= {} if more is None else {"items": more}
    if "propertyNames" in made and made.get("additionalProperties") is False and not made.get("properties"):
        del made["additionalProperties"]
    properties, required = made.get("properties"), made.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list):
        filled = {name for name, part in properties.items() if isinstance(part, Mapping) and "default" in part}
        made["required"] = [name for name in required if not (isinstance(name, str) and name in filled)]
    return made


MAX_TOOLS = 2_000
"""Tools of one server. A catalog of thousands of tools is still searched in milliseconds; more cannot be reviewed."""

MAX_BYTES = 8 << 20
"""Of a snapshot: four kilobytes for each tool of the largest server."""

_KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""Fields of a tool that the catalog uses. The others, such as icons, are left out."""


def _has_name_and_schema(tool: dict[str, Any]) -> dict[str, Any]:
    if not (isinstance(tool.get("name"), str) and tool["name"].strip() and isinstance(tool.get("inputSchema"), dict)):
        raise ValueError("a tool needs name and inputSchema")
    return tool


class McpSnapshot(base.Snapshot):
    """The description that a server gave of itself; ``tools`` are entries of ``tools/list``."""

    protocol_version: str
    server: dict[str, str]
    instructions: str
    tools: list[Annotated[dict[str, Any], AfterValidator(_has_name_and_schema)]]

    def by_name(self) -> dict[str, Any]:
        """Return what a refresh compares: each tool, and in parentheses what else the server says."""
        return {
            **{tool["name"]: canonical(tool) for tool in self.tools},
            "(instructions)": self.instructions,
            "(server)": self.server,
            "(protocol version)": self.protocol_version,
        }


_MAX_INSTRUCTIONS = 2_000

_ROWS = "result"
"""Where frameworks put an answer that is a list. Values have the types that the server gave them: a text of digits
remains a text."""


class McpImporter(base.Importer[McpSettings]):
    """Read sources of the kind ``mcp``. Reading starts and calls no server."""

    settings_model = McpSettings

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return what the snapshot says."""
        settings, path = self.settings, self.folder / base.SNAPSHOT
        snapshot = McpSnapshot.read(self.folder, settings.id, problems)
        if snapshot is None:
            return None
        places: dict[str, Location] = {}
        for position, tool in enumerate(snapshot.tools):
            places.setdefault(tool["name"], ("tools", position, "name"))
        lines = yaml_loader.load(path, base.SNAPSHOT_LIMITS).lines(places.values())
        names = [tool["name"] for tool in snapshot.tools]
        tools = [
            _to_tool(tool, f"{path}:{lines[places[name]]}", settings)
            for name, tool in zip(names, snapshot.tools, strict=True)
            if settings.includes(name)
        ]
        where = self.where("include")
        if not tools:
            problems.append(f"{where}: no tool of the snapshot is included")
        unused = [pattern for pattern in settings.include if not match_any(names, [pattern])]
        problems += (f"{where}: the server has no tool {pattern!r}" for pattern in unused)
        title = snapshot.server.get("title") or snapshot.server.get("name", "")
        described = f"Tools of the MCP server {title}." if title else ""
        source = settings.as_source(settings.url, settings.connection(snapshot.protocol_version), described)
        version, instructions = snapshot.server.get("version", ""), snapshot.instructions[:_MAX_INSTRUCTIONS]
        return base.ImportedSource(
            tools, source._replace(version=version, instructions=instructions, fetched_at=snapshot.fetched_at)
        )

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> base.Fetched:
        """Ask the server what it lists."""
        from toolfold.build.importers import mcp_fetch  # the client of MCP, which compiling does not need

        settings = self.settings
        old = McpSnapshot.read(self.folder, settings.id, [])
        most = process_settings.max_response_bytes
        limit = {"max_response_bytes": min(settings.max_response_bytes or most, most)}
        source = settings.as_source(settings.url, {**settings.connection(""), **limit})
        found = mcp_fetch.ask(source, settings.includes, MAX_TOOLS, process_settings, progress)
        if not found["tools"]:
            raise mcp_fetch.failure(settings.id, "the server lists no tool that is included.")
        # The order of members stays: properties are for people.
        listed = sorted(found["tools"], key=lambda tool: tool["name"])
        found["tools"] = [{key: tool[key] for key in _KEPT if tool.get(key) is not None} for tool in listed]
        new = McpSnapshot(fetched_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **found)
        try:
            content = new.to_json().encode()
        except UnicodeEncodeError:
            problem = "a text of the server has half of a surrogate pair."
            raise mcp_fetch.failure(settings.id, problem) from None
        if len(content) > MAX_BYTES:
            problem = f"the descriptions of {len(new.tools)} tools are larger than {MAX_BYTES >> 20} MB"
            raise mcp_fetch.failure(settings.id, f"{problem}; name the tools that are needed under include.")
        before = {} if old is None else old.by_name()
        after = {name: value for name, value in new.by_name().items() if old is not None or name[0] != "("}
        added = after.keys() - before.keys()
        new_tools = [tool for tool in found["tools"] if tool["name"] in added]
        silent = sum(_annotations(tool).keys().isdisjoint(("readOnlyHint", "destructiveHint")) for tool in new_tools)
        lacks = f"{counted(silent, 'tool')} without annotations: each call needs approval"
        notes = [f"{lacks}, unless overlay.yaml has the effect"] if silent and settings.trust_annotations else []
        return base.Fetched(base.RefreshReport.between(before, after, notes), content)


def _annotations(tool: Mapping[str, Any]) -> dict[str, Any]:
    annotations = tool.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def effect_of(tool: Mapping[str, Any], *, trusted: bool) -> Effect:
    """Return what a call of a tool of ``tools/list`` changes: unknown, or not ``trusted``, is destructive."""
    annotations = _annotations(tool) if trusted else {}
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("destructiveHint") is False else "destructive"


def _to_tool(tool: Mapping[str, Any], where: str, settings: McpSettings) -> base.Tool:
    title = tool.get("title") or _annotations(tool).get("title") or ""
    return base.Tool(
        name=str(tool["name"]),
        where=lambda *_: where,
        parameters=closed(to_2020_12(tool["inputSchema"])),
        effect=effect_of(tool, trusted=settings.trust_annotations),
        title=str(title),
        description=str(tool.get("description") or ""),
        call={"fingerprint": tool_fingerprint(tool)},
        answer={"rows": [_ROWS], "kind": "typed"},
        returns=returns_of(tool.get("outputSchema")),
    )


_OF_OTHERS = frozenset(
    {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "dependentSchemas", "if"}
    | {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"}
)
"""Keywords with which a schema decides, or may decide, about arguments that its ``properties`` do not name."""


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that refuses unknown arguments, where it says nothing of them: most servers ignore them."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties or not _OF_OTHERS.isdisjoint(schema):
        return schema
    # What it requires is known, also where it does not describe it.
    undescribed: dict[str, Any] = {name: {} for name in json_schema.required(schema) if name not in properties}
    return {**schema, "properties": properties | undescribed, "additionalProperties": False}


def returns_of(schema: Any) -> str:
    """Return the names of what an answer has by its schema, or of its rows, where one member is all of it."""
    names = json_schema.properties(schema) if isinstance(schema, Mapping) else {}
    if len(names) == 1:
        (member,) = names.values()
        items = json_schema.keyword(schema, member, "items") or {}
        inner = json_schema.properties(schema, member) or json_schema.properties(schema, items)
        names = inner or ({} if _ROWS in names else names)
    return ", ".join(names) if 0 < len(names) <= 30 else "text or data"
