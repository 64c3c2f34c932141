"""The MCP server of ``mcp_server`` over HTTP, and catalogs of MCP servers as an operator makes them."""

import contextlib
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support import mcp_server
from tests.support.catalogs import refresh
from tests.support.local_server import Handler, LocalServer
from tests.support.mcp_server import Server, encode
from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.build.importers.base import RefreshReport
from toolfold.build.source_folders import find_source, load_source
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings


class HttpServer(LocalServer):
    """A server on a port of this machine. ``requests`` has headers and messages."""

    def __init__(self, fault: str = "") -> None:
        super().__init__(_Handler)
        self.fault, self.mcp = fault, Server(fault)
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.sessions: set[str] = set()
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"

    def forget_sessions(self) -> None:
        """Drop all sessions, as a server does that was started again."""
        self.sessions.clear()

    def answer_get(self, request: Handler) -> None:
        """Answer a GET request."""
        request.reply(405, {}, b"")

    def answer(self, request: Handler) -> None:
        """Answer a POST request."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        message = json.loads(request.rfile.read(int(headers["content-length"])))
        self.requests.append((headers, message))
        if message.get("id") is None or "method" not in message:
            request.reply(202, {}, b"")
            return self.mcp.handle(message, lambda _: None)
        if message["method"] == "tools/call" and self.fault == "status_503":
            return request.reply(503, {}, b"")
        modern = self.fault in ("stateless", "elicits")
        needs_session = not modern and message["method"] not in ("initialize", "server/discover")
        if needs_session and headers.get("mcp-session-id") not in self.sessions:
            return request.reply(404, {}, b"")
        if self.fault in ("sse", "sampling", "notifies"):
            return self._stream(request, message)
        answers: list[bytes] = []
        self.mcp.handle(message, lambda answer: answers.append(encode(self.fault, answer)))
        if not answers:
            return time.sleep(60)
        return request.reply(200, {"Content-Type": "application/json", **self._session(message)}, answers[-1])

    def _session(self, message: dict[str, Any]) -> dict[str, str]:
        """Start a session where it is requested, and return its header."""
        if message["method"] != "initialize":
            return {}
        session = f"s{len(self.requests)}"
        self.sessions.add(session)
        return {"Mcp-Session-Id": session}

    def _stream(self, request: Handler, message: dict[str, Any]) -> None:
        request.send_response(200)
        headers = {"Content-Type": "text/event-stream", "Connection": "close", **self._session(message)}
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()

        def send(answer: dict[str, Any]) -> None:
            request.wfile.write(b": a comment\n\nevent: message\ndata: " + json.dumps(answer).encode() + b"\n\n")

        with contextlib.suppress(OSError):  # the client reads no further
            self.mcp.handle(message, send)


class _Handler(Handler):
    server: HttpServer

    def do_POST(self) -> None:
        self.server.answer(self)

    def do_GET(self) -> None:
        self.server.answer_get(self)

    def do_DELETE(self) -> None:
        self.reply(405, {}, b"")


PROGRAM = (sys.executable, "-P", str(Path(mcp_server.__file__)))
"""The misbehaving server as a program."""


def child(*words: str) -> dict[str, Any]:
    """Return the settings of a source that starts the misbehaving server with ``words``."""
    return {"transport": "stdio", "command": PROGRAM[0], "args": [*PROGRAM[1:], *words]}


def remote(url: str) -> dict[str, Any]:
    """Return the settings of a source at ``url``."""
    return {"transport": "http", "url": url}


class Sources:
    """A folder of sources, and a server with their catalog.

    Args:
        folder: an empty folder.
        environment: settings, without ``TOOLFOLD_``.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.catalog = folder / "sources", folder / "catalog.json"
        self.environment = {
            "TOOLFOLD_CATALOG": str(self.catalog),
            "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
            "TOOLFOLD_ALLOWED_COMMANDS": sys.executable,
            **{f"TOOLFOLD_{name}": value for name, value in environment.items()},
        }
        self._app: App | None = None

    @property
    def settings(self) -> Settings:
        return Settings.from_environment(self.environment)

    def write(self, id_: str, how: Mapping[str, Any], overlay: Mapping[str, Any] | None = None, **more: Any) -> Path:
        """Write ``source.yaml``, and the hosts that it needs into the settings."""
        folder = self.folder / id_
        folder.mkdir(parents=True, exist_ok=True)
        source = {"id": id_, "kind": "mcp", "title": id_.title(), "trust_annotations": True, **how, **more}
        (folder / "source.yaml").write_text(yaml.safe_dump(source))
        if overlay is not None:
            (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay))
        if how.get("url"):
            hosts = self.environment.get("TOOLFOLD_ALLOWED_HOSTS", "")
            host = how["url"].partition("://")[2].partition("/")[0]
            self.environment["TOOLFOLD_ALLOWED_HOSTS"] = ",".join(filter(None, (hosts, host)))
        return folder

    def refresh(self, id_: str, **how: Any) -> RefreshReport:
        return refresh(self.folder / id_, self.settings, **how)

    def snapshot(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / id_ / "snapshot.json").read_text())
        return found

    def unread(self, id_: str) -> list[str]:
        """Return the hashes of the texts that a person has to read."""
        loaded = load_source(find_source(self.folder, id_).folder, [])
        return [] if loaded is None else [one.hash for one in loaded.unread]

    def compile(self) -> None:
        self.catalog.write_text(compile_folder(self.folder))
        self._app = None

    def add(
        self, id_: str, how: Mapping[str, Any], *faulty: str, then: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        """Add a source: its snapshot comes from a server without faults, its calls go to one with ``faulty``.

        ``then`` is where calls go to another server.
        """
        self.write(id_, how, **more)
        self.refresh(id_)
        if faulty:
            then = {**how, "args": [*how.get("args", []), *faulty]}
        if then is not None:
            self.write(id_, then, **more)
        self.compile()

    @property
    def app(self) -> App:
        if self._app is None:
            self._app = build_app(self.settings)
        return self._app

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **beside: Any) -> Result:
        given = {"tool_name": tool, "arguments": dict(arguments or {}), **beside}
        return self.app.server.tools.call("TOOL_CALL", given)

    def code(self, tool: str, arguments: Mapping[str, Any] | None = None, **beside: Any) -> str:
        """Return the code of the error of a call; empty when it succeeds."""
        return str(self.call(tool, arguments, **beside).structured.get("error", {}).get("code", ""))
