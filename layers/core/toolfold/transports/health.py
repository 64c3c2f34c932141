"""The state of this process for a person, a supervisor or a load balancer: its version, its catalog and its sources.

It contains nothing that a caller may not know, so that it needs no authorization. No request is sent to a source.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from toolfold.catalog.store import FileStore, bundled_path, open_regular_file
from toolfold.errors import CatalogUnavailable
from toolfold.protocol.http import HEALTH_PATH, LogFields, Response, error_response, json_response
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.app import App


class Health:
    """Answer ``GET /health``."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._hash_of_file: str | None = None

    def respond(self, method: str) -> Response:
        """Return 200 with the version, the catalog and the circuit breaker of each source; may wait for S3.

        Returns:
            503 where no catalog can be read: then every call fails. A source whose circuit breaker is open changes the
            ``status`` to ``degraded``, but not 200: another process, or a restart, reaches that source no better.
        """
        if method not in ("GET", "HEAD"):
            return error_response(405, f"{HEALTH_PATH} is read with GET.", ("allow", "GET, HEAD"))
        response = self._respond()
        if self._app.settings.access != "iam":
            return response
        # Anyone may read this where all else is signed: it then says nothing but that it answers.
        status = "ok" if response.status == HTTPStatus.OK else "unavailable"
        return _encode(response.status, {"status": status}, response.log_fields)

    def _respond(self) -> Response:
        state: dict[str, object] = {"version": __version__}
        try:
            catalog = self._app.catalog_store()
        except CatalogUnavailable as error:
            failed = {"status": "unavailable", **state, "problem": error.message}
            return _encode(503, failed, {"rpc": "health", "error": error.code})
        circuits = self._app.executor.circuit_states()
        sources = {source.id: {"circuit_breaker": circuits.get(source.id, "closed")} for source in catalog.sources}
        is_closed = all(circuits.get(id_, "closed") == "closed" for id_ in sources)
        published_at = self._app.catalog_store.published_at
        at = {} if published_at is None else {"published_at": datetime.fromtimestamp(published_at, UTC).isoformat()}
        described = {"sha256": catalog.sha256 or self._file_hash(), "tools": len(catalog), **at}
        status = "ok" if is_closed else "degraded"
        return _encode(200, {"status": status, **state, "catalog": described, "sources": sources}, {"rpc": "health"})

    def _file_hash(self) -> str:
        """Return the SHA-256 of a catalog file, by which it is published, or an empty string."""
        if self._hash_of_file is None:
            store = self._app.catalog_store
            path = store.path if isinstance(store, FileStore) else bundled_path()
            try:
                with open(open_regular_file(path), "rb") as file:
                    self._hash_of_file = hashlib.file_digest(file, "sha256").hexdigest()
            except (OSError, ValueError):
                self._hash_of_file = ""
        return self._hash_of_file


def _encode(status: int, state: dict[str, object], log_fields: LogFields) -> Response:
    return json_response(status, json.dumps(state).encode() + b"\n", log_fields)
