"""Name next steps as a mode lists them: a client lets its model call the tools of ``tools/list``, and no others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import META_TOOLS
from toolfold.catalog.json_schema import properties
from toolfold.catalog.profiles import kind_of
from toolfold.meta_tools.result import dumps_compact
from toolfold.wording import ProposedCall, Reader

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

_TERMS: Mapping[str, Mapping[str, str]] = {
    "direct": {"TOOL_LIST": "tools/list", "TOOL_GET": "tools/list", "TOOL_CALL": "the tool itself"},
    "grouped": {"TOOL_LIST": "TOOL_CALL of TOOL_LIST", "TOOL_GET": "TOOL_CALL of TOOL_GET"},
    "kinds": {"TOOL_LIST": "request_tools", "TOOL_GET": "request_tools", "TOOL_CALL": "the tool of its kind"},
    "research": {"TOOL_LIST": "search", "TOOL_GET": "fetch", "TOOL_CALL": "fetch"},
}
"""Mode → meta-tool that it does not list → what a text has in its place."""

_OF_DATABASES: Mapping[str, str] = {"list_tables": "list_tables", "describe_table": "discover", "query": "query"}
"""Tool of a database → subcommand of ``database``."""


class ModeReader(Reader):
    """A model that reads the texts of a mode which does not list every meta-tool.

    Args:
        catalog: what the profile exposes.
        mode: a key of :data:`_TERMS`.
        listed: the tools of ``tools/list`` beside those of the catalog.
    """

    def __init__(self, catalog: Catalog, mode: str, listed: Collection[str]) -> None:
        self._catalog, self._mode, self._listed = catalog, mode, listed

    def term(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return what this mode has for a meta-tool; one that was not called by its name begins no sentence."""
        if name == "called" and fields["tool"] in _TERMS[self._mode]:
            return ""
        return _TERMS[self._mode].get(name) or super().term(name, fields)

    def call_text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a call of a meta-tool as this mode has it."""
        call = self.proposed(tool, arguments)
        return self.term(tool, {}) if call is None else f"{call[0]} {dumps_compact(call[1])}"

    def proposed(self, tool: str, arguments: Mapping[str, Any]) -> ProposedCall | None:
        """Return the call of a meta-tool as this mode has it; None where it has none."""
        if tool in self._listed or tool not in (*META_TOOLS, "TOOL_CALL_WRITE"):
            return tool, arguments
        if self._mode == "grouped":
            return "TOOL_CALL", {"tool_name": tool, "arguments": arguments}
        if tool == "TOOL_LIST":
            words = {"query": arguments["source"]} if "source" in arguments else arguments
            return {"kinds": ("request_tools", arguments), "research": ("search", words)}.get(self._mode)
        names = arguments.get("tool_name")
        if tool == "TOOL_GET":
            listed = [names] if isinstance(names, str) else names
            first = ("fetch", {"id": listed[0]}) if listed else None
            return {"kinds": ("request_tools", {"tool_names": listed}), "research": first}.get(self._mode)
        called = self._catalog.get(names) if isinstance(names, str) else None
        given = arguments.get("arguments", {})
        options = {name: value for name, value in arguments.items() if name not in ("tool_name", "arguments")}
        if called is None or not isinstance(given, Mapping) or options.keys() & properties(called.parameters).keys():
            return None
        if self._mode == "research":
            options.pop("max_tokens", None)  # fetch has its own
            written = ", ".join(f"{key}={value!r}" for key, value in {**given, **options}.items())
            return "fetch", {"id": f"{called.name}({written})"}
        return (called.name, {**given, **options}) if self._mode == "direct" else self._by_kind(called, given, options)

    def _by_kind(self, tool: Tool, given: Mapping[str, Any], options: Mapping[str, Any]) -> ProposedCall:
        source, short = tool.source, tool.name.rpartition("__")[2]
        match kind_of(self._catalog.source(source).kind):
            case "database":
                subcommand = _OF_DATABASES.get(short, "query")
                return "database", {"subcommand": subcommand, "database": source, **given, **options}
            case "mcp":
                return "mcp", {"subcommand": "call", "server": source, "tool": tool.name, "arguments": given, **options}
            case "skill":
                return "read_skill", {"name": tool.name, **given, **options}
        call = {"subcommand": "execute", "connector": source, "action": tool.name, "parameters": given}
        return "connector", {**call, **options}
