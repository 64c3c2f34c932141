"""One HTTP request and its whole answer, in time: all that leaves this machine, except for what obstore sends.

Heads of answers and chunked bodies are read by ``http.client``. Nothing else of it is used: its connections start their
time-outs anew with every byte, and can say what they send, keys too, at a flag that is everybody's.
"""

from __future__ import annotations

import io
import math
import os
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote, urlsplit

from toolfold.network.connections import Connection, ForbiddenAddress, Route, encoded, keep, take
from toolfold.network.outbound import proof, proxy_for, tls

_PIECE = 65536
_LONGEST_HEAD = 16384
"""Bytes before the body, as many as Node allows, and a quarter of what http.client does. The parser of e-mail that
reads headers takes time by the square of an odd one's length, and ends at no deadline."""

_AS_IT_IS = "!$%&'()*+,/:;=?@[]~"
"""What may stand in a path or a query, beside letters and digits."""

_RESTED_S = 1.0
"""Servers do not close connections as idle so soon after an answer."""


class TransportError(Exception):
    """A request without an answer. ``code`` is one word that may be logged; nothing else is known of what happened:
    texts of exceptions quote addresses.

    ::

        LocationError              the address, or a header, cannot be written down
        NewConnectionError         nobody is there: a name that is not known, a port where nobody listens
        ConnectTimeoutError        no connection in time, with TLS and what a proxy has to do for it
        ForbiddenAddressError      the name leads where nothing may be sent
        SSLError                   whoever is there cannot prove who it is, or no certificates are to be had
        ProxySchemeError           the proxy's address does not begin with http://
        ProxyAuthenticationError   the proxy wants a name and a password, or others
        ProxyError                 the proxy refuses, or makes no sense
        ReadTimeoutError           no whole answer in time
        ProtocolError              the answer broke off, or is not HTTP
        ReplyTooLarge              the answer is longer than was asked for

    Up to ``ProxyError`` nothing was sent; only a proxy may have been asked.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Answer:
    """Status, headers by their names in lower case, and the body: whole, and packed as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytearray


def send(
    method: str,
    address: str,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    connect_s: float,
    deadline: float,
    limit: int,
    again: bool,
    answer_s: float = math.inf,
    trusted: tuple[str, ...] = (),
    allowed: Callable[[str, str], bool] | None = None,
    proxied: bool = True,
) -> Answer:
    """What ``address`` answers. No redirect is followed, no cookie kept.

    ``connect_s`` is the time for a connection in seconds, ``answer_s`` that for the request and its answer on it,
    ``deadline`` the end of all (``time.monotonic``), ``limit`` the most bytes of a body. ``trusted`` are variables that
    name certificates, before those known everywhere; ``allowed`` says whether a host may be found at an address,
    ``proxied`` whether a proxy may stand between.

    ``again``: the request changes nothing, or nothing twice. It is then sent once more, on a new connection, when one
    that had rested was closed under it without a byte of an answer. Else nothing is repeated.

    Raises:
        TransportError: there is no answer.
    """
    route, request = _written(method, address, headers, body, trusted, allowed, proxied)
    kept = take(route)
    if kept is not None:
        rested_s = time.time() - kept.rests_since
        try:
            return _exchange(kept, method, request, min(deadline, time.monotonic() + answer_s), limit)
        except TransportError as error:
            closed = error.code == "ProtocolError" and not kept.heard and rested_s >= _RESTED_S
            if not (again and closed):
                raise
    made = _connected(route, min(deadline, time.monotonic() + connect_s))
    return _exchange(made, method, request, min(deadline, time.monotonic() + answer_s), limit)


def _written(
    method: str,
    address: str,
    headers: Mapping[str, str],
    body: bytes | None,
    trusted: tuple[str, ...],
    allowed: Callable[[str, str], bool] | None,
    proxied: bool,
) -> tuple[Route, bytes]:
    """Where to send it, and the request as it is sent."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
        if not host or parts.scheme not in {"http", "https"}:
            raise ValueError
        secure = parts.scheme == "https"
        named = parts.netloc.rpartition("@")[2]
        authority = named if named.isascii() else encoded(named).decode()
        proxy = proxy_for(parts.scheme, authority) if proxied else ""
        target = quote(parts.path or "/", _AS_IT_IS) + (f"?{quote(parts.query, _AS_IT_IS)}" if parts.query else "")
        own = {"Host": authority, **headers}
        if proxy and not secure:
            target = f"http://{authority}{target}"
            own |= _proven(proxy)
        if body is not None:
            own["Content-Length"] = str(len(body))
        head = _head(f"{method} {target} HTTP/1.1", own)
    except ValueError:
        raise TransportError("LocationError") from None
    try:
        context = tls(*trusted) if secure else None
    except OSError:
        raise TransportError("SSLError") from None
    route = Route(host, port or (443 if secure else 80), context, proxy, allowed, os.getpid())
    return route, head + (body or b"")


def _head(line: str, headers: Mapping[str, str]) -> bytes:
    lines = [line, *(f"{name}: {value}" for name, value in headers.items())]
    if not all(map(str.isprintable, lines)):
        raise ValueError("the end of a line within it")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _proven(proxy: str) -> dict[str, str]:
    proven = proof(proxy)
    return {"Proxy-Authorization": proven} if proven else {}


def _connected(route: Route, deadline: float) -> Connection:
    """A new connection, ready for a request.

    Raises:
        TransportError: there is none, or none in time.
    """
    made, ready = Connection(route, deadline), False
    try:
        if route.proxy:
            made.connect(*_place(route.proxy), None)
            if route.context is not None:
                _ask_for_tunnel(made)
        else:
            made.connect(route.host, route.port, route.allowed)
        if route.context is not None:
            made.secure(route.context, route.host)
        ready = True
        return made
    except ForbiddenAddress:
        raise TransportError("ForbiddenAddressError") from None
    except TimeoutError:
        raise TransportError("ConnectTimeoutError") from None
    except ssl.SSLError:
        raise TransportError("SSLError") from None
    except (OSError, ValueError):  # a name may also be one that cannot be encoded
        raise TransportError("NewConnectionError") from None
    finally:
        if not ready:
            made.close()


def _place(proxy: str) -> tuple[str, int]:
    parts = urlsplit(proxy)
    if parts.scheme != "http":
        raise TransportError("ProxySchemeError")
    return parts.hostname or "", parts.port or 80


def _ask_for_tunnel(made: Connection) -> None:
    """Have the proxy at the other end connect to the host of the route, and pass on what is said from now on."""
    route = made.route
    host = f"[{route.host}]" if ":" in route.host else encoded(route.host).decode()
    authority = f"{host}:{route.port}"
    made.send(_head(f"CONNECT {authority} HTTP/1.1", {"Host": authority, **_proven(route.proxy)}))
    try:
        status = _begun(_Reader(made), "CONNECT").status
    except TimeoutError:
        raise
    except Exception:  # noqa: BLE001 - as in _exchange
        raise TransportError("ProxyError") from None
    if status == 407:
        raise TransportError("ProxyAuthenticationError")
    if not 200 <= status < 300:
        raise TransportError("ProxyError")


def _exchange(used: Connection, method: str, request: bytes, deadline: float, limit: int) -> Answer:
    """The answer on ``used``, which is kept or closed afterwards."""
    used.reuse(deadline)
    whole = False
    try:
        with suppress(BrokenPipeError):  # a server that wants no more may have said why
            used.send(request)
        reader = _Reader(used)
        response = _begun(reader, method)
        body = _body(response, limit)
        whole = not response.will_close and not reader.has_more(used)
        return Answer(response.status, _joined(response.getheaders()), body)
    except TransportError:
        raise
    except TimeoutError:
        raise TransportError("ReadTimeoutError") from None
    except Exception:  # noqa: BLE001 - the parser of e-mail that reads headers raises more than HTTPException at odd ones
        raise TransportError("ProtocolError") from None
    finally:
        if whole:
            keep(used)
        else:
            used.close()


class _Reader(io.BufferedReader):
    """A connection as HTTPResponse wants it: asked for a file, and closed when the answer is over.

    It is neither: what came after the answer has to be seen, and the connection goes on. Nor is there anything to
    flush, which HTTPResponse does when it is thrown away, after the connection was closed.
    """

    left: float = _LONGEST_HEAD
    """What the head may still have."""

    def makefile(self, *_: Any) -> _Reader:
        return self

    def close(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        self.left -= len(line)
        # HTTPResponse takes the end of everything for the end of the head.
        if self.left < 0 or (not line and self.left < math.inf):
            raise TransportError("ProtocolError")
        return line

    def has_more(self, raw: Connection) -> bool:
        """Whether bytes are left here; nothing is waited for."""
        raw.reuse(0.0)
        try:
            return bool(self.peek(1))
        except TimeoutError:
            return False


def _begun(reader: _Reader, method: str) -> HTTPResponse:
    """The answer's head, after all that only announce it (1xx)."""
    while True:
        response = HTTPResponse(reader, method=method)  # type: ignore[arg-type]  # not a socket, see there
        response.begin()
        if response.status == 101:  # another protocol, which nobody has asked for
            raise TransportError("ProtocolError")
        if response.status >= 200:
            reader.left = math.inf
            return response


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for written, value in headers:
        name = written.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _body(response: HTTPResponse, limit: int) -> bytearray:
    body = bytearray()
    if (response.length or 0) > limit:
        raise TransportError("ReplyTooLarge")
    while piece := response.read1(_PIECE):
        body += piece
        if len(body) > limit:
            raise TransportError("ReplyTooLarge")
    if response.length:  # that many are missing
        raise TransportError("ProtocolError")
    return body
