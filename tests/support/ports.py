"""Choose ports for servers that must know theirs before they start."""

import secrets
import socket


def free_port() -> int:
    """Return a free port that no other socket is given before the server takes it.

    Port 0 is no way to choose it: the system may give the same one to the next socket of a server or of a client.
    These are below those that Linux and macOS give (from 32,768 and 49,152).
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)  # not of a seed, which two processes may share
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
