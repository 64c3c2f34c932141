"""Forward proxy as ``HTTPS_PROXY`` names one: it tunnels https and fetches http. Every host name is this machine."""

import http.client
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from tests.support.local_server import Handler, LocalServer


class ForwardProxy(LocalServer):
    """Proxy that records its requests.

    ``requests`` has method and target of each request, ``proxy_authorizations`` its ``Proxy-Authorization``. With a
    ``status`` every request is refused with it.
    """

    def __init__(self, status: int = 0) -> None:
        super().__init__(_Handler)
        self.requests: list[str] = []
        self.proxy_authorizations: list[str | None] = []
        self.status = status
        self.address = f"localhost:{self.server_port}"
        """Host and port."""


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
        fetched = http.client.HTTPConnection("127.0.0.1", target.port or 80, timeout=60)
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
    """Copy bytes until the source ends, then end the target too."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
