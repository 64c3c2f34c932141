"""The modes: what ``tools/list`` has in each, and how its model reads texts that name the tools of another.

A client lets its model call the tools of ``tools/list``, and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import META_TOOLS
from toolfold.catalog.json_schema import properties
from toolfold.catalog.profiles import kind_of
from toolfold.meta_tools.result import WRITE, dumps_compact
from toolfold.wording import ProposedCall, Reader

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog


class Mode(NamedTuple):
    """A mode.

    Attributes:
        meta_tools: How the names of those begin that it lists.
        combines: Whether it lists what combines calls, except scripts.
        steps: How to call, in the instructions, before what follows; empty: by the meta-tools.
        terms: Meta-tool that it does not list → what a text has in its place.
    """

    meta_tools: tuple[str, ...] = ("TOOL_",)
    combines: bool = False
    steps: str = ""
    terms: Mapping[str, str] = {}


MODES: Mapping[str, Mode] = {
    "progressive": Mode(),
    "lazy": Mode(combines=True),
    "grouped": Mode(
        ("TOOL_CALL",),
        True,
        "Each tool is a category: action names one of its tools, and the parameters of that tool are beside it. "
        "An error has the parameters of the tool. TOOL_CALL(tool_name, arguments, select) runs any tool, and its "
        "select picks a part of an answer; by it TOOL_LIST(query) finds tools, and TOOL_GET(tool_name) describes one. ",
        {"TOOL_LIST": "TOOL_CALL of TOOL_LIST", "TOOL_GET": "TOOL_CALL of TOOL_GET"},
    ),
    "direct": Mode(
        (),
        False,
        "Each tool is called by its own name; select among its arguments picks a part of the answer. ",
        {"TOOL_LIST": "tools/list", "TOOL_GET": "tools/list", "TOOL_CALL": "the tool itself"},
    ),
    "kinds": Mode(
        (),
        False,
        "Each tool stands for a kind of source. Its subcommands return the tools of a source with their parameters, "
        "and run one; request_tools(query) finds tools. For a tool you know, run it: an error has the call to make "
        "instead. ",
        {"TOOL_LIST": "request_tools", "TOOL_GET": "request_tools", "TOOL_CALL": "the tool of its kind"},
    ),
    "auto": Mode(),  # which is that of ``direct`` or ``progressive``
    "research": Mode(
        (),
        False,
        "search(query) finds tools, and answers where the query names all that a call needs; fetch(id) returns one. ",
        {"TOOL_LIST": "search", "TOOL_GET": "fetch", "TOOL_CALL": "fetch"},
    ),
}
_OF_DATABASES: Mapping[str, str] = {"list_tables": "list_tables", "describe_table": "discover", "query": "query"}
"""Tool of a database → subcommand of ``database``."""


class ModeReader(Reader):
    """A model that reads the texts of a mode which does not list every meta-tool.

    Args:
        catalog: what the profile exposes.
        mode: a key of :data:`MODES`.
        listed: the tools of ``tools/list`` beside those of the catalog.
    """

    def __init__(self, catalog: Catalog, mode: str, listed: Collection[str]) -> None:
        self._catalog, self._mode, self._listed, self._terms = catalog, mode, listed, MODES[mode].terms

    def term(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return what this mode has for a meta-tool; one that was not called by its name begins no sentence."""
        if name == "called" and fields["tool"] in self._terms:
            return ""
        return self._terms.get(name) or super().term(name, fields)

    def call_text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a call of a meta-tool as this mode has it."""
        call = self.proposed(tool, arguments)
        return self.term(tool, {}) if call is None else f"{call[0]} {dumps_compact(call[1])}"

    def proposed(self, tool: str, arguments: Mapping[str, Any]) -> ProposedCall | None:
        """Return the call of a meta-tool as this mode has it; None where it has none."""
        if tool in self._listed or tool not in (*META_TOOLS, WRITE):
            return tool, arguments
        names = arguments.get("tool_name")
        listed = [names] if isinstance(names, str) else names
        match self._mode, tool:
            case "grouped", _:
                return "TOOL_CALL", {"tool_name": tool, "arguments": arguments}
            case "kinds", "TOOL_LIST":
                return "request_tools", arguments
            case "kinds", "TOOL_GET":
                return "request_tools", {"tool_names": listed}
            case "research", "TOOL_LIST":
                return "search", {"query": arguments["source"]} if "source" in arguments else arguments
            case "research", "TOOL_GET" if listed:
                return "fetch", {"id": listed[0]}
            case _, "TOOL_LIST" | "TOOL_GET":
                return None
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
        source, call = tool.source, {"subcommand": "execute", "connector": tool.source, "action": tool.name}
        match kind_of(self._catalog.source(source).kind):
            case "database":
                subcommand = _OF_DATABASES.get(tool.name.rpartition("__")[2], "query")
                return "database", {"subcommand": subcommand, "database": source, **given, **options}
            case "mcp":
                return "mcp", {"subcommand": "call", "server": source, "tool": tool.name, "arguments": given, **options}
            case "skill":
                return "read_skill", {"name": tool.name, **given, **options}
        return "connector", {**call, "parameters": given, **options}
