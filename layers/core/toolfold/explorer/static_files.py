"""The built page: the files of ``explorer/static``, which ``make ui`` writes.

A path is looked up among the names of the files, and never joined to a folder: a path with dots, escapes, backslashes
or a leading slash is the name of no file. Symbolic links are not served.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
import re
import stat
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from toolfold.explorer.page import LOG_FIELDS, PageRequest, page_answer
from toolfold.protocol.http import Headers, Response

FOLDER = Path(__file__).parent / "static"

INDEX = "index.html"

_TEXTS: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
"""End of a name → media type of what is sent compressed."""

_TYPES: Mapping[str, str] = {**_TEXTS, ".png": "image/png", ".woff2": "font/woff2"}
"""The same for all that is served."""

_HASHED = re.compile(r"-[A-Z2-7]{8}\.[a-z0-9]+")
"""The end of a name that has a hash of the content, as esbuild writes it: ``app-3F7QX2LA.js``."""

_IMMUTABLE = ("cache-control", "public, max-age=31536000, immutable")
_CHECKED = ("cache-control", "no-cache")


class StaticFile(NamedTuple):
    """One file, as it is sent."""

    headers: Headers
    content: bytes
    compressed: bytes | None


class StaticFiles:
    """Serve the files of ``folder``, which may be missing."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder, self._paths = folder, _paths(folder)
        self._read = functools.lru_cache(maxsize=64)(_read)

    def respond(self, name: str, request: PageRequest) -> Response | None:
        """Return the file ``name``, or None where there is no such file."""
        path = self._paths.get(name)
        try:
            return None if path is None else encoded(request, *self._read(path, path.stat().st_mtime_ns))
        except OSError:  # deleted by a build
            return None

    def respond_index(self, request: PageRequest) -> Response:
        """Return the page, or one that says how to build it. A build may have given other names to the files."""
        self._paths = _paths(self._folder)
        return self.respond(INDEX, request) or page_answer(
            503,
            "The page is not built",
            "Run `make ui` in the checkout (needs Node.js 20 or newer), and repeat the installation if there was one.",
            "The MCP endpoint works without the page.",
        )


def _paths(folder: Path) -> dict[str, Path]:
    """Return name → path of the files below ``folder`` that may be served."""
    found: dict[str, Path] = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(parent, name))]
        paths = [Path(parent, name) for name in names]
        found |= {
            path.relative_to(folder).as_posix(): path
            for path in paths
            if path.suffix in _TYPES and stat.S_ISREG(path.lstat().st_mode)
        }
    return found


def _read(path: Path, _written_at: int) -> StaticFile:
    content, stored = path.read_bytes(), _IMMUTABLE if _HASHED.search(path.name) else _CHECKED
    compressed = gzip.compress(content, 9, mtime=0) if path.suffix in _TEXTS else None
    return StaticFile((("content-type", _TYPES[path.suffix]), stored), content, compressed)


def encoded(request: PageRequest, headers: Headers, content: bytes, compressed: bytes | None) -> Response:
    """Return a response with one of two forms of a content, or 304 where the browser has it."""
    body, form = content, ""
    if compressed is not None and accepts_gzip(request.header("accept-encoding") or ""):
        body, form = compressed, "-gz"
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}{form}"'
    headers = (*headers, ("etag", tag), ("vary", "accept-encoding"))
    if request.source.has_etag(tag):
        return Response(HTTPStatus.NOT_MODIFIED, headers, b"", LOG_FIELDS)
    return Response(200, (*headers, ("content-encoding", "gzip")) if form else headers, body, LOG_FIELDS)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether ``Accept-Encoding`` allows gzip (RFC 9110, section 12.5.3)."""
    weights = {}
    for item in accept_encoding.lower().split(","):
        name, _, parameters = item.partition(";")
        weights[name.strip()] = parameters.strip().replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return weights.get("gzip", weights.get("*", False))
