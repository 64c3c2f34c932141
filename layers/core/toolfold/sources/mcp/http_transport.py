"""The HTTP below the SDK's client: which addresses it may reach, how much it may read, and what went wrong.

httpcore connects and frames. This adds what ``network.session`` adds to requests: addresses are checked before a
connection, a response has a size limit, and a failure is noted in the :class:`~toolfold.sources.mcp.faults.Exchange`
of its request. The SDK ends a session at an exception of the transport, so failures are answered with status 502.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import httpcore2
import httpx2

from toolfold.network import errors
from toolfold.network.session import proxy_for
from toolfold.network.sockets import ca_bundle, create_tls_context, tls_error
from toolfold.sources.http_api.request import parse_retry_after
from toolfold.sources.mcp.connection import SessionLimits
from toolfold.sources.mcp.faults import Exchange, PartLimit, TooManyParts, current_exchange

_KEEP_ALIVE_S = 30.0
_MAX_CONNECTIONS = 50
_RETRY_AFTER_CHARS = 30
_LOCATION_CHARS = 300
_REDIRECTS = (301, 302, 303, 307, 308)

_FAULTS: Mapping[type[Exception], type[errors.TransportError]] = {
    httpx2.ConnectTimeout: errors.ConnectTimeout,
    httpx2.PoolTimeout: errors.ConnectTimeout,
    httpx2.ProxyError: errors.ProxyError,
    httpx2.ConnectError: errors.ConnectError,
    httpx2.RemoteProtocolError: errors.InvalidResponse,
    httpx2.LocalProtocolError: errors.InvalidRequest,
    httpx2.UnsupportedProtocol: errors.InvalidRequest,
}


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """Send the requests of one session.

    ``limits.max_bytes`` is of one response; the stream of notifications, a GET, may last as long as the session.
    """

    def __init__(self, url: str, limits: SessionLimits) -> None:
        self._host, self._max_bytes = httpx2.URL(url).host, limits.max_bytes
        self._timeouts = {"connect": limits.connect_timeout_s, "pool": limits.connect_timeout_s}
        proxy = proxy_for(url)
        try:
            context = create_tls_context(ca_bundle()[1])
        except OSError:
            raise errors.CertificateBundleError(self._host) from None
        connections = httpx2.Limits(max_connections=_MAX_CONNECTIONS, keepalive_expiry=_KEEP_ALIVE_S)
        super().__init__(verify=context, proxy=proxy or None, limits=connections)
        if not proxy:  # through a proxy it is the proxy that resolves names: see network.ssrf
            if not hasattr(self._pool, "_network_backend"):  # no name of a documented interface
                raise RuntimeError("this version of httpx2 does not let addresses be checked")
            self._pool._network_backend = _CheckedBackend(limits.is_allowed)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; a failure is the response 502."""
        exchange = current_exchange.get() or Exchange()
        exchange.has_session = "mcp-session-id" in request.headers
        # A compressed response could be any size once it is decompressed.
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {**request.extensions, "timeout": self._timeouts}
        try:
            response = await super().handle_async_request(request)
        except Exception as error:  # noqa: BLE001 - no exception may end the session
            exchange.fault = self._to_fault(error)
            return httpx2.Response(502, request=request)
        exchange.status, received = response.status_code, response.headers
        if received.get("content-encoding", "").strip().lower() not in ("", "identity"):
            exchange.fault = errors.InvalidResponse(self._host)
            await response.aclose()
            return httpx2.Response(502, request=request)
        exchange.location = _redirect_target(request.url, response.status_code, received)
        if response.status_code in (429, 503):
            exchange.retry_after_s = parse_retry_after(received.get("retry-after", "")[:_RETRY_AFTER_CHARS])
        limit = self._max_bytes if request.method == "POST" else None
        stream = _LimitedStream(response.stream, limit, exchange, self)
        return httpx2.Response(response.status_code, headers=received, stream=stream, request=request)

    def _to_fault(self, error: Exception) -> errors.TransportError:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, errors.TransportError):
                return cause
            if isinstance(cause, ssl.SSLError):
                return type(tls_error(cause))(self._host)
            if isinstance(cause, ConnectionRefusedError):
                return errors.ConnectionRefused(self._host)
            cause = cause.__cause__ or cause.__context__
        fault = next((fault for kind, fault in _FAULTS.items() if isinstance(error, kind)), errors.ConnectionBroken)
        return fault(self._host)


class StreamEnded(httpx2.StreamError):
    """The body cannot be read any further. The SDK ends the request at this class of errors, not the session."""


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, max_bytes: int | None, exchange: Exchange, transport: GuardedTransport) -> None:
        self._stream, self._left, self._exchange, self._transport = stream, max_bytes, exchange, transport
        self._parts = PartLimit()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                if self._left is not None:
                    self._left -= len(part)
                    if self._left < 0 or self._parts.is_exceeded_by(part):
                        too_large = errors.ResponseTooLarge(self._transport._host)
                        self._exchange.fault = too_large if self._left < 0 else TooManyParts()
                        raise StreamEnded("the response is larger than allowed")
                yield part
        except httpx2.TransportError as error:
            self._exchange.fault = self._transport._to_fault(error)
            raise StreamEnded("the connection was closed before the response was complete") from None

    async def aclose(self) -> None:
        await self._stream.aclose()


class _CheckedBackend(httpcore2.AnyIOBackend):
    """Connect to addresses that a host may have (``network.ssrf``), and to those alone."""

    def __init__(self, is_allowed: Callable[[str, str], bool]) -> None:
        super().__init__()
        self._is_allowed = is_allowed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve ``host``, check all of its addresses, and connect to the first that answers."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise errors.ConnectTimeout(host) from None
        except (OSError, UnicodeError):
            raise errors.NameResolutionError(host) from None
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        if not addresses:
            raise errors.NameResolutionError(host)
        if not all(self._is_allowed(host, address) for address in addresses):
            raise errors.ForbiddenAddress(host)
        for address in addresses[:-1]:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await super().connect_tcp(addresses[-1], port, timeout, local_address, socket_options)


def _redirect_target(url: httpx2.URL, status: int, headers: httpx2.Headers) -> str:
    """Return where a redirect leads, without user, query and fragment, which may hold a key; empty for other responses.

    Redirects are not followed: they could lead a call with its key to another host.
    """
    location = headers.get("location", "")
    if status not in _REDIRECTS or not location:
        return ""
    try:
        target = url.join(location)
        found = str(target.copy_with(userinfo=b"", query=None, fragment=None))
    except (httpx2.InvalidURL, ValueError):
        return ""
    return found if len(found) <= _LOCATION_CHARS else ""
