"""A forward proxy, as ``HTTPS_PROXY`` names one, and a reverse proxy that makes a service fail for some requests."""

import http.client
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.support.local_server import Handler, LocalServer


class ForwardProxy(LocalServer):
    """Proxy that records its requests.

    ``requests`` has method and target of each request, ``proxy_authorizations`` its ``Proxy-Authorization``. With a
    ``status`` every request is refused with it.
    """

    def __init__(self, status: int = 0) -> None:
        super().__init__(_Forward)
        self.requests: list[str] = []
        self.proxy_authorizations: list[str | None] = []
        self.status = status
        self.address = f"localhost:{self.server_port}"
        """Host and port."""


class _Forward(Handler):
    server: ForwardProxy

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


@dataclass(frozen=True)
class Fault:
    """The replacement of the service's own response.

    The status and ``body``, where there is a ``status``; otherwise the service's response, with the body that
    ``change`` returns. Or nothing, and the service gets no request: ``is_silent``.
    """

    is_silent: bool = False
    status: int = 0
    body: bytes = b""
    change: Callable[[bytes], bytes] | None = None


class FaultyProxy(LocalServer):
    """Proxy before ``target`` (``http://host:port``).

    ``requests`` has a line for each request: method, path and, for AWS, the operation. ``faults`` maps a text to the
    fault of the requests whose line contains it; the first match is used.
    """

    def __init__(self, target: str) -> None:
        super().__init__(_Handler)
        self.requests: list[str] = []
        self.faults: dict[str, Fault] = {}
        self.target = urlsplit(target).netloc
        self.closing = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        super().__exit__()


class _Handler(Handler):
    server: FaultyProxy

    def _answer(self) -> None:
        proxy = self.server
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        line = f"{self.command} {self.path} {self.headers.get('x-amz-target', '')}"
        proxy.requests.append(line)
        fault = next((fault for text, fault in proxy.faults.items() if text in line), Fault())
        if fault.is_silent:
            proxy.closing.wait()
            return
        if fault.status:
            self.reply(fault.status, {"content-type": "application/xml"}, fault.body)
            return
        connection = http.client.HTTPConnection(proxy.target, timeout=60)
        connection.request(self.command, self.path, body, dict(self.headers))
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if fault.change is not None:
            content = fault.change(content)
        headers = {name: value for name, value in response.getheaders() if name.lower() not in _OWN}
        self.reply(response.status, headers, content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer


_OWN = ("content-length", "transfer-encoding", "connection", "date", "server", "x-amz-crc32", "x-amz-checksum-crc32")
"""Headers of one connection, or of a body that may have been changed."""
