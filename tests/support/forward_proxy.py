"""A forward proxy, as ``HTTPS_PROXY`` names one: it tunnels, and fetches http itself. Every name is this machine."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class ForwardProxy:
    """``asked`` is what it was asked for, method and target; ``proofs`` the ``Proxy-Authorization`` of each.

    With a ``certificate`` it is spoken to over TLS. ``status`` is its answer to all that it refuses, if it does.
    """

    def __init__(self, certificate: Path | None = None, status: int = 0) -> None:
        self.asked: list[str] = []
        self.proofs: list[str | None] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
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
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _refused(self) -> bool:
                proxy.asked.append(f"{self.command} {self.path}")
                proxy.proofs.append(self.headers.get("proxy-authorization"))
                if status:
                    self.send_response(status)
                    self.send_header("content-length", "0")
                    self.end_headers()
                return bool(status)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hung up
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.address = f"localhost:{self._server.server_address[1]}"
        """Host and port."""

    def __enter__(self) -> ForwardProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Bytes, until there are no more; then that there are no more."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
