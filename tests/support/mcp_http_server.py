"""The MCP server of ``mcp_server``, with its faults, over HTTP."""

import contextlib
import json
import time
from typing import Any

from tests.support.local_server import Handler, LocalServer
from tests.support.mcp_server import Server, encode


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
