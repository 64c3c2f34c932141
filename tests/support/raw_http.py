"""HTTP as bytes on a socket, for requests that no client library sends."""

import json
import socket
from urllib.parse import urlsplit

from tests.support.mcp_requests import message

PING = json.dumps(message("ping")).encode()


def connect(url: str, timeout_s: float = 60) -> socket.socket:
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
