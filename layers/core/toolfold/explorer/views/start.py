"""``GET ui/api/start``: what the page shows first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolfold.explorer.answers import json_answer
from toolfold.mcp_clients import endpoint_snippets, own_command
from toolfold.meta_tools.result import dumps_compact
from toolfold.results import tokens
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]

_READ_ONLY = (
    "This page only shows the catalog: the operator has switched calls off (TOOLFOLD_EXPLORER=read-only). "
    "MCP clients can call the tools."
)

_MAX_COUNTED = 1000
"""Tools of a part of a catalog whose definitions are counted; of a larger part, their share of the whole."""


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return the version, where clients connect, what the page may do, and what the three tools save here."""
    catalog = explorer.catalog()
    # Without calls, Try shows the form of a call, to be copied.
    views = ["start", "catalog", "tool", "ask", "try"]
    if explorer.is_local:
        views += ["watch", "approve"]
    endpoint = explorer.endpoint_for(request)
    program = own_command() if explorer.is_local else ()
    return json_answer(
        {
            "version": __version__,
            "endpoint": endpoint,
            "is_local": explorer.is_local,
            "calls": explorer.calls_allowed,
            "why_no_calls": "" if explorer.calls_allowed else _READ_ONLY,
            "needs_token": explorer.needs_token,
            "views": views,
            "catalog": {
                "hash": catalog.fingerprint,
                "tools": len(catalog),
                "sources": _sources(explorer, catalog),
            },
            "tokens": _tokens(explorer, catalog),
            "clients": [
                {**snippet._asdict(), "file": snippet.file or None} for snippet in endpoint_snippets(endpoint, program)
            ],
        }
    )


def _sources(explorer: Explorer, catalog: Catalog) -> list[dict[str, Any]]:
    counts = catalog.counts("source")
    return [
        {
            "id": source.id,
            "title": source.title,
            "kind": source.kind,
            "tools": counts.get(source.id, 0),
            "needs_key": source.auth is not None,
            "has_key": explorer.app.executor.has_own_key(source),
        }
        for source in catalog.sources
    ]


def _tokens(explorer: Explorer, catalog: Catalog) -> dict[str, Any]:
    """Return the tokens of ``tools/list`` as it answers here, and those of a list of all tools."""
    listed = explorer.app.server.tools_of("").list_page().tools.decode()
    definitions = catalog.memoize(("tokens", listed), lambda: tokens.count(listed))
    every = catalog.definition_tokens or catalog.memoize("definition tokens", lambda: _definition_tokens(catalog))
    return {
        "definitions": definitions,
        "all_definitions": every,
        "saved_percent": round(100 * (1 - definitions / every), 1) if every else 0.0,
    }


def _definition_tokens(catalog: Catalog) -> int:
    """Return the tokens of the definitions of all tools, which the compiler has counted for whole catalogs only."""
    if len(catalog) > _MAX_COUNTED:
        return catalog.base.definition_tokens * len(catalog) // len(catalog.base)

    pieces = 0
    for position in range(len(catalog)):
        tool = catalog.get(catalog.summary(position).name)
        if tool is not None:
            description = f"{tool.summary}. {tool.description}"
            definition = {"name": tool.name, "description": description, "inputSchema": tool.parameters}
            pieces += tokens.pieces(f"{dumps_compact(definition)},")
    return tokens.with_margin(pieces)
