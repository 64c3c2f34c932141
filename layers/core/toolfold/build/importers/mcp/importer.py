"""Read an MCP server's tools from its snapshot.

Convert what earlier drafts of JSON Schema wrote otherwise: the SDK of TypeScript sends draft 7.

``source.yaml`` of an MCP server.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from toolfold.build.importers.base import ImportedSource, ImportedTool, ImporterSettings
from toolfold.build.importers.mcp.snapshot import MAX_BYTES, SNAPSHOT, Snapshot, parse_snapshot
from toolfold.build.yaml_loader import Document
from toolfold.catalog.entries import Effect
from toolfold.sources.mcp.connection import NO_HTTP_SSE, is_forbidden_variable, is_usable_url
from toolfold.sources.mcp.listing import tool_fingerprint

_Word = Annotated[str, StringConstraints(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]
_Argument = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


class McpSettings(ImporterSettings):
    """An MCP server: the content of ``source.yaml``."""

    kind: Literal["mcp"] = "mcp"
    freshness_s: int = Field(default=1, ge=1)
    """Seconds for which the answer of a tool that reads is fresh. A server does not say how long its answers hold."""
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
    """With ``stdio``: the folder in which it is started; empty: that of toolfold."""
    trust_annotations: bool = False
    """Whether ``readOnlyHint`` and ``destructiveHint`` of the server are believed. Otherwise each tool is destructive,
    unless ``overlay.yaml`` says what it is."""
    include: list[_Word] = Field(default=[], max_length=1000)
    """Names of tools, ``*`` for any characters; none given: all."""
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
        of_stdio = {"command": self.command, "args": self.args, "env": self.env, "cwd": self.cwd,
                    "key_variable": self.key_variable}  # fmt: skip
        if self.transport != "stdio":
            given = [name for name, value in of_stdio.items() if value]
            if given:
                raise ValueError(f"{given[0]} is for transport: stdio")
            if not is_usable_url(self.url) or "@" in self.url.partition("://")[2].partition("/")[0]:
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

    def includes(self, name: str) -> bool:
        """Return whether the tool that the server calls ``name`` belongs to the source."""
        return (not self.include or _matches(name, self.include)) and not _matches(name, self.exclude)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


_VALUES = ("const", "default", "enum", "examples")
"""Keywords with values, in which nothing is a schema."""

_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def to_2020_12(schema: Any) -> Any:
    """Return a schema of draft 4, 6 or 7 as one of 2020-12; one of 2020-12 is returned as it is.

    Example:
        >>> to_2020_12({"type": "array", "items": [{"type": "string"}], "additionalItems": False})
        {'type': 'array', 'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if isinstance(schema, list):
        return [to_2020_12(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _VALUES:
            made[key] = value
        elif key in _BY_NAME and isinstance(value, Mapping):
            made[key] = {name: to_2020_12(part) for name, part in value.items()}
        elif key == "items" and isinstance(value, list):
            made["prefixItems"] = to_2020_12(value)
            if "additionalItems" in schema:
                made["items"] = to_2020_12(schema["additionalItems"])
        elif key == "dependencies" and isinstance(value, Mapping):
            _add_dependencies(value, made)
        elif key != "additionalItems":  # it has no meaning beside one schema for all items
            made[key] = to_2020_12(value)
    for exclusive, inclusive in _BOUNDS:
        if isinstance(made.get(exclusive), bool):  # draft 4
            is_exclusive = made.pop(exclusive)
            if is_exclusive and inclusive in made:
                made[exclusive] = made.pop(inclusive)
    return made


def _add_dependencies(given: Mapping[str, Any], made: dict[str, Any]) -> None:
    names = {name: value for name, value in given.items() if isinstance(value, list)}
    schemas = {name: to_2020_12(value) for name, value in given.items() if not isinstance(value, list)}
    made |= {"dependentRequired": names} if names else {}
    made |= {"dependentSchemas": schemas} if schemas else {}


_MAX_INSTRUCTIONS = 2_000

_ROWS = "result"
"""Where frameworks put an answer that is a list. Values have the types that the server gave them: a text of digits
remains a text."""


class McpImporter:
    """Read sources of the kind ``mcp``. See :class:`toolfold.build.importers.base.Importer`."""

    @property
    def settings_model(self) -> type[McpSettings]:
        """The model of ``source.yaml``."""
        return McpSettings

    def read(
        self, folder: Path, settings: McpSettings, document: Document, problems: list[str]
    ) -> ImportedSource | None:
        """Return the source in ``folder``: what its snapshot says. No server is started or called."""
        found = _read_snapshot(folder / SNAPSHOT, settings.id, problems)
        if found is None:
            return None
        snapshot, text = found
        lines = _lines_of_tools(text)
        tools = []
        for tool in snapshot.tools:
            name = str(tool["name"])
            if settings.includes(name):
                where = f"{folder / SNAPSHOT}:{lines.get(name, 1)}"
                tools.append(_to_tool(tool, where, settings))
        if not tools:
            problems.append(f"{document.where(('include',))}: no tool of the snapshot is included")
        for pattern in settings.include:
            if not any(fnmatch.fnmatchcase(str(tool["name"]), pattern) for tool in snapshot.tools):
                problems.append(f"{document.where(('include',))}: the server has no tool {pattern!r}")
        title = snapshot.server.get("title") or snapshot.server.get("name", "")
        return ImportedSource(
            tools=tools,
            base_url=settings.url,
            connection=connection_of(settings, snapshot.protocol_version),
            description=f"Tools of the MCP server {title}." if title else "",
            version=snapshot.server.get("version", ""),
            instructions=snapshot.instructions[:_MAX_INSTRUCTIONS],
            fetched_at=snapshot.fetched_at,
        )


def effect_of(tool: Mapping[str, Any], *, trusted: bool) -> Effect:
    """Return what a call of a tool changes, by its annotations: unknown is destructive.

    Args:
        tool: an entry of ``tools/list``.
        trusted: whether the annotations are believed.
    """
    annotations = tool.get("annotations")
    if not trusted or not isinstance(annotations, dict):
        return "destructive"
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("destructiveHint") is False else "destructive"


def _read_snapshot(path: Path, source_id: str, problems: list[str]) -> tuple[Snapshot, str] | None:
    step = f"toolfold source refresh {source_id}"
    try:
        if path.stat().st_size > MAX_BYTES:
            problems.append(f"{path}:1: the snapshot is larger than {MAX_BYTES} bytes")
            return None
        text = path.read_text(encoding="utf-8")
        return parse_snapshot(text), text
    except FileNotFoundError:
        problems.append(f"{path}:1: there is no snapshot yet; run: {step}")
    except json.JSONDecodeError as error:
        problems.append(f"{path}:{error.lineno}: it is not JSON ({error.msg}); run: {step}")
    except (OSError, ValueError) as error:
        problems.append(f"{path}:1: {error}; run: {step}")
    return None


def _to_tool(tool: Mapping[str, Any], where: str, settings: McpSettings) -> ImportedTool:
    annotations = tool.get("annotations")
    title = tool.get("title") or (annotations.get("title") if isinstance(annotations, dict) else "") or ""
    return ImportedTool(
        name=str(tool["name"]),
        where=where,
        parameters=to_2020_12(tool["inputSchema"]),
        effect=effect_of(tool, trusted=settings.trust_annotations),
        title=str(title),
        description=str(tool.get("description") or ""),
        call={"fingerprint": tool_fingerprint(tool)},
        typed_rows=_ROWS,
        returns=_returns(tool.get("outputSchema")),
    )


def _returns(schema: Any) -> str:
    """Return the names of the fields of an answer, where the server says them."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not 0 < len(properties) <= 30:
        return "text or data"
    return ", ".join(str(name) for name in properties)


def connection_of(settings: McpSettings, protocol_version: str) -> dict[str, Any]:
    """Return what the adapter needs beside the address; see :func:`toolfold.sources.mcp.connection.read_connection`.

    Args:
        settings: of the source.
        protocol_version: what the server spoke when the snapshot was written; empty: unknown.
    """
    fields = {
        "command": [settings.command, *settings.args] if settings.command else [],
        "env": dict(settings.env),
        "cwd": settings.cwd,
        "key_variable": settings.key_variable,
        "protocol_version": protocol_version,
    }
    return {name: value for name, value in fields.items() if value}


def _lines_of_tools(text: str) -> dict[str, int]:
    """Return name of a tool → line of the snapshot with it."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('   "name": '):
            try:
                lines.setdefault(json.loads(line.partition(": ")[2].rstrip(",")), number)
            except ValueError:
                continue
    return lines
