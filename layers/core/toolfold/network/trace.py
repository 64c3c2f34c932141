"""What happened to one request, for ``--verbose``: the way it took, how long each step was, and what failed.

Nothing here holds a path, a query or a key.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from urllib.parse import urlsplit

_MAX_CAUSES = 8


class RequestTrace:
    """The record of one request.

    Attributes:
        method: the HTTP method.
        origin: scheme, host and port of the URL.
        proxy: host and port of the proxy, and the variable that names it; empty: none.
        addresses: those that were tried, in order.
        steps: name and seconds of each step: ``dns``, ``connect``, ``proxy``, ``tls``, ``response``, ``body``.
        tls: version, cipher and certificate; empty without TLS.
        is_reused: whether the connection is of an earlier request.
        status: of the response; 0: none.
        body_bytes: of the response, decompressed.
        causes: the exceptions, outermost first.
        total_s: seconds from the beginning to the end.
    """

    def __init__(self, method: str, url: str) -> None:
        parts = urlsplit(url)
        self.method, self.proxy = method, ""
        self.origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.addresses: list[str] = []
        self.steps: list[tuple[str, float]] = []
        self.tls = ""
        self.is_reused = False
        self.status = self.body_bytes = 0
        self.causes: list[str] = []
        self._began = self._marked = time.monotonic()
        self.total_s = 0.0

    def mark(self, step: str) -> None:
        """Record that a step has ended."""
        now = time.monotonic()
        self.steps.append((step, now - self._marked))
        self._marked = now

    def record_connection(self, sock: socket.socket) -> None:
        """Record the connection that the request is sent on."""
        self.is_reused = not self.steps
        if self.is_reused:
            self.addresses.append(str(sock.getpeername()[0]))
        if isinstance(sock, ssl.SSLSocket):
            if not self.is_reused:
                self.mark("tls")
            cipher = sock.cipher()
            self.tls = ", ".join(
                filter(None, (sock.version(), cipher[0] if cipher else "", _certificate(sock.getpeercert())))
            )

    def end(self, failure: BaseException | None) -> None:
        """Record the end of the request."""
        if failure is None:
            self.mark("body")
        self.total_s = time.monotonic() - self._began
        while failure is not None and len(self.causes) < _MAX_CAUSES:
            self.causes.append(_described(failure))
            failure = failure.__cause__ or failure.__context__


def _described(error: BaseException) -> str:
    """Return the class of an exception, with the code of an error of the system or of TLS: its text may hold a URL."""
    name = type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{name} ({error.verify_code}: {error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"{name} ({error.reason})" if error.reason else name
    if isinstance(error, OSError) and error.errno is not None:
        return f"{name} ({errno.errorcode.get(error.errno, error.errno)})"
    return name


def _certificate(fields: object) -> str:
    """Return whose certificate it is, who issued it, and until when."""
    if not isinstance(fields, dict) or not fields:
        return ""

    def name(which: str) -> str:
        pairs = {key: value for group in fields.get(which, ()) for key, value in group}
        return str(pairs.get("commonName") or pairs.get("organizationName") or "?")

    return f"certificate of {name('subject')} by {name('issuer')} until {fields.get('notAfter', '?')}"
