"""The state of a local server: its version and its catalog, for a person or a supervisor."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold import __version__
from toolfold.catalog.store import FileStore, open_regular_file
from toolfold.errors import CatalogUnavailable
from toolfold.protocol.http import Response, error_response, json_response

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

__all__ = ["HEALTH_PATH", "Health"]

HEALTH_PATH = "/health"


class Health:
    """Answer ``GET /health``.

    Args:
        catalog_store: Returns the current catalog.
    """

    def __init__(self, catalog_store: Callable[[], Catalog]) -> None:
        self._catalog_store = catalog_store
        self._hash_of_file = _hash_of(catalog_store) if isinstance(catalog_store, FileStore) else ""

    def respond(self, method: str) -> Response:
        """Return 200 with the version and the catalog, or 503 where no catalog can be read. May wait for S3."""
        if method not in ("GET", "HEAD"):
            return error_response(405, f"{HEALTH_PATH} is read with GET.", ("allow", "GET, HEAD"))
        state = {"version": __version__}
        try:
            catalog = self._catalog_store()
        except CatalogUnavailable as error:
            return _encode(503, {"status": "unavailable", **state, "problem": error.message})
        found = {"sha256": catalog.sha256 or self._hash_of_file, "tools": len(catalog)}
        return _encode(200, {"status": "ok", **state, "catalog": found})


def _encode(status: int, state: dict[str, object]) -> Response:
    return json_response(status, json.dumps(state).encode() + b"\n", {})


def _hash_of(store: FileStore) -> str:
    """Return the SHA-256 of a catalog file, by which it is published, or an empty string."""
    import hashlib

    try:
        with open(open_regular_file(store.path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""
