"""A forward proxy, as ``HTTPS_PROXY`` names one: it tunnels, and fetches http itself. Every name is this machine."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.local_server import Handler, LocalServer


class ForwardProxy(LocalServer):
    """``asked`` is what it was asked for, method and target; ``proofs`` the ``Proxy-Authorization`` of each.

    With a ``certificate`` it is spoken to over TLS. ``status`` is its answer to all that it refuses, if it does.
    """

    def __init__(self, certificate: Path | None = None, status: int = 0) -> None:
        super().__init__(_Handler)
        self.requests: list[str] = []
        self.proxy_authorizations: list[str | None] = []
        self.status = status
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.address = f"localhost:{self.server_port}"
        """Host and port."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent: the only errors here are those of a client that hung up."""


class _Handler(Handler):
    server: ForwardProxy
    timeout = 5.0

    def do_CONNECT(self) -> None:
        if self._refused():
            return
        with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2]))) as upstream:
            self.send_response(200)
            self.end_headers()
            there = threading.Thread(target=_pass_on, args=(self.connection, upstream))
            there.start()
            _pass_on(upstream, self.connection)
            there.join()
        self.close_connection = True

    def do_GET(self) -> None:
        if self._refused():
            return
        target = urlsplit(self.path)
        fetched = http.client.HTTPConnection("127.0.0.1", target.port or 80, timeout=5)
        fetched.request("GET", f"{target.path}?{target.query}")
        body = fetched.getresponse().read()
        fetched.close()
        self.reply(200, {}, body)

    def _refused(self) -> bool:
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.proxy_authorizations.append(self.headers.get("proxy-authorization"))
        if self.server.status:
            self.reply(self.server.status, {}, b"")
        return bool(self.server.status)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Bytes, until there are no more; then that there are no more."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
