"""A proxy that stands before a service and, for the requests it is told about, makes it fail. Over real HTTP."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Fault:
    """What happens instead of the service's own answer.

    Silence for ``delay_s`` seconds; then its answer with the body that ``change`` makes of it, or, where there is a
    ``status``, that and ``body``.
    """

    delay_s: float = 0.0
    status: int = 0
    body: bytes = b""
    change: Callable[[bytes], bytes] | None = None


class FaultyProxy:
    """Stands before ``target`` (``http://host:port``). ``asked`` is each request: method, path and, of AWS, operation.

    ``faults`` are tried in their order: the first whose text is part of such a line happens.
    """

    def __init__(self, target: str) -> None:
        self.asked: list[str] = []
        self.faults: dict[str, Fault] = {}
        self._closing = threading.Event()
        address = urlsplit(target).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                line = f"{self.command} {self.path} {self.headers.get('x-amz-target', '')}"
                proxy.asked.append(line)
                fault = next((fault for text, fault in proxy.faults.items() if text in line), Fault())
                if fault.delay_s and proxy._closing.wait(fault.delay_s):
                    return
                if fault.status:
                    self._send(fault.status, {"content-type": "application/xml"}, fault.body)
                    return
                connection = http.client.HTTPConnection(address, timeout=10)
                connection.request(self.command, self.path, body, dict(self.headers))
                response = connection.getresponse()
                content = response.read()
                connection.close()
                if fault.change is not None:
                    content = fault.change(content)
                headers = {name: value for name, value in response.getheaders() if name.lower() not in _OWN}
                self._send(response.status, headers, content)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer  # noqa: N815 - as http.server calls them

            def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
                with suppress(OSError):  # the client has had enough
                    self.send_response(status)
                    for name, value in {**headers, "content-length": str(len(body))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_OWN = ("content-length", "transfer-encoding", "connection", "date", "server", "x-amz-crc32", "x-amz-checksum-crc32")
"""Headers of one connection, or of a body that may have been changed."""
