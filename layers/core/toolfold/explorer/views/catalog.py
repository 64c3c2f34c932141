"""``GET ui/api/catalog``: all sources and tools, in one answer that a browser keeps until the catalog changes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.explorer.answers import LOG_FIELDS
from toolfold.explorer.explorer import paid_sources
from toolfold.explorer.static_files import accepts_gzip, has_etag
from toolfold.protocol.http import Headers, Response
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest

__all__ = ["respond"]

_NOT_MODIFIED = 304


class _Body(NamedTuple):
    """The answer for one catalog: 10,000 tools are 2 MB, and a tenth of that compressed."""

    plain: bytes
    compressed: bytes


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return every source with its categories, and every tool in the order of the listing."""
    catalog = explorer.catalog()
    is_compressed = accepts_gzip(request.header("accept-encoding") or "")
    etag = f'"{catalog.fingerprint[:32]}-{len(catalog)}-{__version__}{"-gz" if is_compressed else ""}"'
    # Requested each time: who may read the page may change.
    headers: Headers = (("etag", etag), ("cache-control", "private, no-cache"), ("vary", "accept-encoding"))
    if has_etag(request.header("if-none-match") or "", etag):
        return Response(_NOT_MODIFIED, headers, b"", LOG_FIELDS)
    body = catalog.memoize("explorer catalog", lambda: _encode(catalog))
    headers = (("content-type", "application/json"), *headers)
    if is_compressed:
        return Response(200, (*headers, ("content-encoding", "gzip")), body.compressed, LOG_FIELDS)
    return Response(200, headers, body.plain, LOG_FIELDS)


def _encode(catalog: Catalog) -> _Body:
    text = json.dumps(_describe(catalog), ensure_ascii=False, separators=(",", ":"))
    plain = text.encode("utf-8", "backslashreplace")
    return _Body(plain, gzip.compress(plain, 6, mtime=0))


def _describe(catalog: Catalog) -> dict[str, Any]:
    sources = {category.name: category.source for category in catalog.categories}
    positions, paid = range(len(catalog)), paid_sources(catalog)
    catalog.prefetch_summaries(positions)
    return {
        "hash": catalog.fingerprint,
        "sources": [
            {
                "id": source.id,
                "title": source.title,
                "kind": source.kind,
                "description": source.description,
                "categories": [
                    {"id": category.name, "title": category.title}
                    for category in catalog.categories
                    if category.source == source.id
                ],
            }
            for source in catalog.sources
        ],
        "tools": [
            {
                "name": line.name,
                "source": sources.get(line.category, ""),
                "category": line.category,
                "summary": line.summary,
                "effect": line.effect,
                "tier": line.access if sources.get(line.category, "") in paid else "",
            }
            for line in map(catalog.summary, positions)
        ],
    }
