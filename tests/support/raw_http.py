"""HTTP as bytes: requests that no client library sends, and servers whose answers no library would send."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from tests.support.local_server import Handler, LocalServer
from tests.support.mcp_requests import message
from tests.support.upstream import CSV
from tests.support.waiting import PATIENCE_S

PING = json.dumps(message("ping")).encode()


def connect(url: str, timeout_s: float = PATIENCE_S) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=timeout_s)


def post(url: str, body: bytes = PING, *headers: str, path: str = "/mcp", host: str = "") -> bytes:
    """Return a correct request with further ``headers``."""
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host or urlsplit(url).netloc}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def read_all(connected: socket.socket) -> bytes:
    """Return what arrives until the server closes the connection."""
    received = []
    try:
        while data := connected.recv(65536):
            received.append(data)
    except ConnectionResetError:
        pass
    return b"".join(received)


def exchange(url: str, data: bytes) -> bytes:
    """Send ``data``, and return everything that the server sends until it closes the connection."""
    with connect(url) as connected:
        connected.sendall(data)
        return read_all(connected)


def answers_honestly(url: str) -> bool:
    """Return whether the server answers a correct request on a connection of its own."""
    with connect(url) as connected:
        connected.sendall(post(url, PING, "Connection: close"))
        return read_all(connected).endswith(b'\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{}}')


OK = f"HTTP/1.1 200 OK\r\ncontent-length: {len(CSV)}\r\n\r\n{CSV}".encode()

Peer = Callable[["RawServer", socket.socket], None]


class RawServer:
    """Server that gives each connection to the next of ``peers`` and expects exactly as many connections.

    A context manager. ``requests`` are the requests that ``read`` has read, ``authority`` is ``127.0.0.1:port``. With a
    ``context`` it uses TLS; a connection whose handshake fails counts as one, though no peer gets it.
    """

    def __init__(self, *peers: Peer, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self._peers, self._context = peers or (RawServer.answer,), context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE_S)
        self._thread = threading.Thread(target=self._serve)
        self._open: socket.socket | None = None
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"{'https' if context else 'http'}://{self.authority}/"

    def read(self, connection: socket.socket) -> bytes:
        """Return one request with its body, or nothing when the client has closed the connection."""
        request = b""
        while b"\r\n\r\n" not in request and (more := connection.recv(65536)):
            request += more
        head, _, body = request.partition(b"\r\n\r\n")
        missing = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0) - len(body)
        # Unread bytes would make the system reset the connection.
        while missing > 0 and (more := connection.recv(missing)):
            request, missing = request + more, missing - len(more)
        if request:
            self.requests.append(request)
        return request

    def respond_once(self, connection: socket.socket, answer: bytes = OK) -> None:
        self.read(connection)
        connection.sendall(answer)

    def answer(self, connection: socket.socket) -> None:
        """Respond to requests one after another until the client closes the connection."""
        while self.read(connection):
            connection.sendall(OK)

    def respond_once_and_read(self, connection: socket.socket) -> None:
        """Respond to one request, read the second, and close the connection without a response to it."""
        self.respond_once(connection)
        self.read(connection)

    def _serve(self) -> None:
        for peer in self._peers:
            plain, _ = self._listener.accept()
            plain.settimeout(PATIENCE_S)
            with suppress(OSError), self._context.wrap_socket(plain, True) if self._context else plain as connection:
                self._open = connection
                peer(self, connection)

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._open is not None:
            with suppress(OSError):
                self._open.shutdown(socket.SHUT_RD)  # a client that keeps the connection sends nothing more
        self._thread.join()
        with self._listener:
            self._listener.setblocking(False)
            if kind is None:
                with pytest.raises(BlockingIOError):  # no further connection
                    self._listener.accept()


Pieces = list[tuple[bytes, float]]
"""What is sent, and for how long nothing is after it, in seconds."""


class ByteServer(LocalServer):
    """Answers each request with the bytes in ``pieces``, then hangs up or waits for the next one."""

    def __init__(self) -> None:
        super().__init__(_Answer)
        self.pieces: Pieces = [(OK, 0.0)]
        self.hangs_up = True
        self.url = f"http://127.0.0.1:{self.server_port}/query"


class _Answer(Handler):
    server: ByteServer

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        for piece, pause_s in self.server.pieces:
            self.wfile.write(piece)
            time.sleep(pause_s)
        self.close_connection = self.server.hangs_up

    do_HEAD = do_POST = do_GET
