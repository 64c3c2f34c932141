"""An upstream on a socket that sends the bytes of an input as they are."""

import selectors
import socket
import threading
import time
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs

from tests.fuzz.whole_call.inputs import CallInput

FIXED_SYMBOL = "HONEST"
"""Symbol of the call whose answer must never change."""

FIXED_BODY = (
    b'{"Global Quote": {"01. symbol": "HONEST", "02. open": "81.5", "05. price": "82.25", "06. volume": "1200", '
    b'"07. latest trading day": "2024-03-01", "08. previous close": "80.0", "10. change percent": "0.5%"}}'
)
ORDINARY_JSON = (
    b'{"name": "x", "data": [{"date": "2024-03-02", "value": "80"}, {"date": "2024-03-01", "value": "81.5"}]}'
)
ORDINARY_CSV = b"timestamp,value\n2024-03-02,80\n2024-03-01,81.5\n"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b"


class Upstream:
    """Serve one input at a time from one thread.

    Attributes:
        current: the input that is served.
        delay_s: seconds before each response.
        requests: the requests to it so far.
    """

    def __init__(self) -> None:
        self.current = CallInput()
        self.delay_s = 0.0
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listener.setblocking(False)
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, name="upstream", daemon=True)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/query"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                key.data(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            connection.settimeout(5)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_READ, self._respond)

    def _respond(self, connection: socket.socket) -> None:
        try:
            request = connection.recv(65536)
            while request and b"\r\n\r\n" not in request:
                more = connection.recv(65536)
                request = request + more if more else b""
            if request:
                self.requests += 1
                content, closes = self._answer(request)
                if self.delay_s:
                    time.sleep(self.delay_s)
                connection.sendall(content)
                if not closes:
                    return
        except OSError:
            pass
        self._selector.unregister(connection)
        connection.close()

    def _answer(self, request: bytes) -> tuple[bytes, bool]:
        """Return the response to a request, and whether the connection is closed after it."""
        target = request.split(b" ", 2)[1].decode("latin-1")
        query = parse_qs(target.partition("?")[2], keep_blank_values=True, errors="surrogatepass")
        if query.get("symbol") == [FIXED_SYMBOL]:
            return _HEAD % (len(FIXED_BODY), FIXED_BODY), False
        key = query.get("apikey", [""])[0]
        current = self.current
        if current.served_to == "caller" and key != current.key.strip():
            body = ORDINARY_CSV if query.get("datatype") == ["csv"] else ORDINARY_JSON
            return _HEAD % (len(body), body), False
        return current.response(key), current.closes
