"""TCP server that answers each request with the same bytes, in pieces and with pauses."""

import re
import socket
import threading
import time
from contextlib import suppress

from tests.support.upstream import CSV

Pieces = list[tuple[bytes, float]]
"""What is sent, and for how long nothing is after it, in seconds."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(CSV), CSV.encode())


class ByteServer:
    """Answers each request with the bytes in ``pieces``, then hangs up or waits for the next one."""

    def __init__(self) -> None:
        self.pieces: Pieces = [(OK, 0.0)]
        self.hangs_up = True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/query"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        with connection, suppress(OSError):
            while _has_request(connection):
                for piece, pause_s in self.pieces:
                    connection.sendall(piece)
                    time.sleep(pause_s)
                if self.hangs_up:
                    return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _has_request(connection: socket.socket) -> bool:
    """Wait for the next request, or the first 64 kB of a long one; return whether there was one."""
    received = b""
    while True:
        head, end, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
        if end and (len(body) >= int(length[1] if length else 0) or len(received) >= 65536):
            return True
        if not (part := connection.recv(65536)):
            return False
        received += part
