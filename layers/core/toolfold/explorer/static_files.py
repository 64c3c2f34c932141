"""The built page: the files of ``explorer/static``, which ``make ui`` writes.

A path is looked up among the names of the files, and never joined to a folder: a path with dots, escapes, backslashes
or a leading slash is the name of no file. Symbolic links are not served.
"""

from __future__ import annotations

import gzip
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from toolfold.explorer.page import LOG_FIELDS, PageRequest, page_answer
from toolfold.protocol.http import Headers, Response

FOLDER = Path(__file__).parent / "static"

_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""End of a name → media type of what is served."""

_TEXTS = frozenset((".css", ".html", ".js", ".json", ".svg", ".txt"))
"""What is sent compressed: it has half the bytes then, through a tunnel as well."""

_HASHED = re.compile(r"-[A-Z2-7]{8}\.[a-z0-9]+")
"""The end of a name that has a hash of the content, as esbuild writes it: ``app-3F7QX2LA.js``."""


class StaticFiles:
    """Serve the files of ``folder``, which may be missing."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder, self._paths = folder, _paths(folder)

    def respond(self, name: str, request: PageRequest) -> Response | None:
        """Return the file ``name``, or None where there is no such file."""
        if (path := self._paths.get(name)) is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:  # deleted by a build
            return None
        stored = "public, max-age=31536000, immutable" if _HASHED.search(name) else "no-cache"
        headers: Headers = (("content-type", _TYPES[path.suffix]), ("cache-control", stored))
        if path.suffix in _TEXTS and "gzip" in (request.header("accept-encoding") or ""):
            content = gzip.compress(content)
            headers = (*headers, ("vary", "accept-encoding"), ("content-encoding", "gzip"))
        return Response(200, headers, content, LOG_FIELDS)

    def respond_index(self, request: PageRequest) -> Response:
        """Return the page, or one that says how to build it. A build may have given other names to the files."""
        self._paths = _paths(self._folder)
        return self.respond("index.html", request) or page_answer(
            503,
            "The page is not built",
            "Run `make ui` in the checkout (needs Node.js 20 or newer), and repeat the installation if there was one.",
            "The MCP endpoint works without the page.",
        )


def _paths(folder: Path) -> dict[str, Path]:
    """Return name → path of the files in ``folder`` that may be served."""
    found = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path for path in found if path.suffix in _TYPES and stat.S_ISREG(path.lstat().st_mode)}
