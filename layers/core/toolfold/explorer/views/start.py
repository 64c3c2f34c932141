"""``GET ui/api/start``: what the page shows first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold import __version__
from toolfold.explorer.answers import json_answer

if TYPE_CHECKING:
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return the version, where clients connect, and what the page may do."""
    catalog = explorer.app.catalog_store()
    views = ["start", "catalog", "tool", "ask"]
    if explorer.calls_allowed:
        views.append("try")
    if explorer.is_local:
        views += ["watch", "approve"]
    return json_answer(
        {
            "version": __version__,
            "endpoint": explorer.endpoint_for(request),
            "is_local": explorer.is_local,
            "calls": explorer.calls_allowed,
            "needs_token": explorer.needs_token,
            "views": views,
            "catalog": {"hash": catalog.sha256, "tools": len(catalog)},
        }
    )
