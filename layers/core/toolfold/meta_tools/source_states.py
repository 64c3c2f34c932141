"""State in a list of tools which of their sources failed last: their tools may be tried, and others chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolfold.meta_tools.result import Result, safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.source_health import Trouble

__all__ = ["with_states"]

_SENTENCES = {
    "unreachable": "could not be reached at the last call",
    "failing": "could not serve the last call",
    "slow": "did not answer the last call in time",
    "changed": "has changed {tool} since it was described",
}
"""State → what the line states of the source."""


def with_states(catalog: Catalog, result: Result, troubles: Mapping[str, Trouble]) -> Result:
    """Return a list of tools with ``state`` of each source in ``troubles`` that it has tools of, and a line for each.

    Args:
        catalog: the tools.
        result: of TOOL_LIST.
        troubles: id of a source → what is wrong with it.
    """
    listed = {entry["id"] for entry in result.structured.get("sources", ())}
    if not listed:  # the tools of a search
        tools = (catalog.get(entry["name"]) for entry in result.structured["tools"])
        listed = {tool.source for tool in tools if tool is not None}
    found = {id_: trouble for id_, trouble in troubles.items() if id_ in listed}
    if not found:
        return result
    lines = [
        safe_line(f"Source {id_} {_SENTENCES[trouble.state].format(tool=trouble.tool)}.")
        for id_, trouble in sorted(found.items())
    ]
    structured = {
        **result.structured,
        "notice": " ".join(filter(None, [result.structured.get("notice"), *lines])),
        "tokens": result.structured["tokens"] + tokens.count("\n".join(lines) + "\n"),
    }
    if "sources" in structured:
        structured["sources"] = [
            {**entry, "state": found[entry["id"]].state} if entry["id"] in found else entry
            for entry in structured["sources"]
        ]
    return result._replace(structured=structured, text="\n".join([*lines, result.text]))
