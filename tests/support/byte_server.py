"""HTTP server that answers each request with the same bytes, in pieces and with pauses."""

import time

from tests.support.local_server import Handler, LocalServer
from tests.support.upstream import CSV

Pieces = list[tuple[bytes, float]]
"""What is sent, and for how long nothing is after it, in seconds."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(CSV), CSV.encode())


class ByteServer(LocalServer):
    """Answers each request with the bytes in ``pieces``, then hangs up or waits for the next one."""

    def __init__(self) -> None:
        super().__init__(_Answer)
        self.pieces: Pieces = [(OK, 0.0)]
        self.hangs_up = True
        self.url = f"http://127.0.0.1:{self.server_port}/query"


class _Answer(Handler):
    server: ByteServer
    timeout = 5.0

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        for piece, pause_s in self.server.pieces:
            self.wfile.write(piece)
            time.sleep(pause_s)
        self.close_connection = self.server.hangs_up

    do_HEAD = do_POST = do_GET
