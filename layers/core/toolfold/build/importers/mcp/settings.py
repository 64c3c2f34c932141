"""``source.yaml`` of an MCP server."""

from __future__ import annotations

import fnmatch
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from toolfold.build.importers.base import ImporterSettings
from toolfold.sources.mcp.connection import is_forbidden_variable, is_usable_url

__all__ = ["McpSettings"]

_Word = Annotated[str, StringConstraints(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]
_Argument = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


class McpSettings(ImporterSettings):
    """An MCP server: the content of ``source.yaml``."""

    kind: Literal["mcp"] = "mcp"
    freshness_s: int = Field(default=1, ge=1)
    """Seconds for which the answer of a tool that reads is fresh. A server does not say how long its answers hold."""
    transport: Literal["http", "sse", "stdio"]
    """``http`` for a server with a URL; ``refresh`` notices one of 2024-11-05, whose transport is ``sse``."""
    url: str = ""
    """With ``http`` and ``sse``: the address of the server; http:// for this machine only."""
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

    @field_validator("env")
    @classmethod
    def _variables_are_harmless(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if is_forbidden_variable(name):
                raise ValueError(f"{name} cannot be set here: it can make the program run another one")
        return value

    @field_validator("key_variable")
    @classmethod
    def _key_variable_is_harmless(cls, value: str | None) -> str | None:
        if value is not None and is_forbidden_variable(value):
            raise ValueError(f"{value} cannot be set here: it can make the program run another one")
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
            raise ValueError("url is for transport: http and sse")
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
