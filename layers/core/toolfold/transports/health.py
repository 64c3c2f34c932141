"""The state of this process for a person, a supervisor or a load balancer: its version, its catalog and its sources.

It contains nothing that a caller may not know, so that it needs no authorization. No request is sent to a source.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from toolfold.catalog.store import FileStore, bundled_path, open_regular_file
from toolfold.errors import CatalogUnavailable
from toolfold.protocol.http import HEALTH_PATH, LogFields, Response, error_response, json_response
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.app import App


def respond(app: App, method: str) -> Response:
    """Return 200 with the version, the catalog and the circuit breaker of each source; may wait for S3.

    Returns:
        503 where no catalog can be read: then every call fails. A source whose circuit breaker is open changes the
        ``status`` to ``degraded``, but not 200: another process, or a restart, reaches that source no better.
    """
    if method not in ("GET", "HEAD"):
        return error_response(405, f"{HEALTH_PATH} is read with GET.", ("allow", "GET, HEAD"))
    log_fields: LogFields = {"rpc": "health"}
    try:
        status, state = HTTPStatus.OK, _describe(app)
    except CatalogUnavailable as error:
        status, log_fields = HTTPStatus.SERVICE_UNAVAILABLE, {**log_fields, "error": error.code}
        state = {"status": "unavailable", "version": __version__, "problem": error.message}
    if app.settings.access == "iam":
        # Anyone may read this where all else is signed: it then says nothing but that it answers.
        state = {"status": "ok" if status == HTTPStatus.OK else "unavailable"}
    return json_response(status, json.dumps(state).encode() + b"\n", log_fields)


def _describe(app: App) -> dict[str, object]:
    catalog, store, circuits = app.catalog_store(), app.catalog_store, app.executor.circuit_states()
    sources = {source.id: {"circuit_breaker": circuits.get(source.id, "closed")} for source in catalog.sources}
    is_closed = all(circuits.get(id_, "closed") == "closed" for id_ in sources)
    published_at = store.published_at
    at = {} if published_at is None else {"published_at": datetime.fromtimestamp(published_at, UTC).isoformat()}
    path = store.path if isinstance(store, FileStore) else bundled_path()
    sha256 = catalog.sha256 or catalog.memoize("hash of the file", lambda: _hash_of(path))
    return {
        "status": "ok" if is_closed else "degraded",
        "version": __version__,
        "catalog": {"sha256": sha256, "tools": len(catalog), **at},
        "sources": sources,
    }


def _hash_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a catalog file, by which it is published, or an empty string."""
    try:
        with open(open_regular_file(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""
