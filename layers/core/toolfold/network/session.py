"""The HTTP client: an adapter of requests whose connections keep to a deadline and to limits of size.

Importing this module imports requests, so it is imported by the first call and not by the first response.

A body is decompressed here as it arrives, within limits, and accepted only when it is complete and undamaged: urllib3
ignores what it cannot decompress after the first part of gzip data, and returns what it has when compressed data ends
too early. Both look like a complete body.
"""

from __future__ import annotations

import functools
import io
import logging
import math
import os
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from toolfold.client_call import trace_context
from toolfold.network import errors
from toolfold.network.connection import Connection, RequestState, TlsConnection, current_request
from toolfold.network.sockets import Resolver, ca_bundle, create_tls_context
from toolfold.network.ssrf import is_allowed_address, is_loopback_name, literal_address

_CHUNK_BYTES = 16384
"""Decompressed bytes at a time. Between them the limits are checked."""

_NOT_ENCODED = ("", "identity", "none", "utf-8")
"""Names that some servers send for a body that is as it is."""

_MIN_BOMB_BYTES = 1_000_000

_MAX_POOLED_CONNECTIONS = 16

_LOGGERS_OF_URLS = ("urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager", "urllib3.util.retry")


def proxy_for(url: str) -> str:
    """Return the URL of the proxy for ``url``, or an empty string. This machine is never reached through a proxy.

    As requests reads the environment and the settings of macOS and Windows.

    Raises:
        ProxyError: The proxy's URL is not valid.
        UnsupportedProxy: The proxy is not reached by plain HTTP.
    """
    is_here = is_loopback_name(urlsplit(url).hostname or "")
    proxy = "" if is_here else select_proxy(url, get_environ_proxies(url))
    if not proxy:
        return ""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parsed = parse_url(proxy)
    except (HTTPError, ValueError):
        raise errors.ProxyError from None
    if parsed.scheme != "http":
        raise errors.UnsupportedProxy
    if not parsed.host:
        raise errors.ProxyError
    return proxy


def describe_proxy(url: str) -> str:
    """Return host and port of the proxy for ``url`` and the variable that names it; empty without a proxy.

    A user name and a password in it are left out.
    """
    try:
        if not (proxy := proxy_for(url)):
            return ""
    except (errors.ProxyError, errors.UnsupportedProxy):
        proxy = "://"
    scheme = urlsplit(url).scheme
    names = (f"{scheme}_proxy", f"{scheme}_PROXY".upper(), "all_proxy", "ALL_PROXY")
    name = next((name for name in names if os.environ.get(name)), "")
    given = os.environ.get(name, proxy)
    place = given.rpartition("://")[2].rpartition("@")[2].partition("/")[0]
    return f"{place} ({name})" if name else place


@dataclass(frozen=True)
class Response:
    """A complete response.

    Attributes:
        status: The HTTP status.
        headers: By name, in any case.
        body: Decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Send requests over pooled connections. Safe to use from many threads, and in a forked process.

    Proxies come from ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``; trusted certificates from
    ``REQUESTS_CA_BUNDLE``, ``CURL_CA_BUNDLE`` or ``SSL_CERT_FILE``, else from certifi. ``.netrc`` is not read.

    Args:
        bundle: A file or folder of trusted certificates, in place of those of the environment.

    Attributes:
        on_request: Called after each attempt with what happened.
    """

    on_request: Callable[[RequestState], None] | None = None

    def __init__(self, bundle: str = "") -> None:
        for name in _LOGGERS_OF_URLS:
            logging.getLogger(name).addFilter(_is_outside_requests)
        # Without a session of requests, which would read .netrc, and keep cookies: one client serves many keys.
        self._adapter = HTTPAdapter(pool_maxsize=_MAX_POOLED_CONNECTIONS)
        self._bundle, self._resolver = bundle, Resolver()
        self._create_tls_context = functools.cache(create_tls_context)

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        deadline: float,
        connect_timeout_s: float,
        max_bytes: int,
        is_allowed: Callable[[str, str], bool] | None = is_allowed_address,
        answer_timeout_s: float = math.inf,
    ) -> Response:
        """Send a request once and return its complete response. Redirects are not followed, cookies not kept.

        Args:
            method: The HTTP method.
            url: Where to send it. A user name and a password in it are sent as ``Authorization``.
            headers: Sent besides ``Host``, ``Accept-Encoding``, ``Content-Length``, and the trace of the call.
            body: The content of the request.
            deadline: When the response must be complete, by ``time.monotonic``.
            connect_timeout_s: Seconds for a new connection, including proxy and TLS.
            max_bytes: The largest body, as sent and decompressed.
            is_allowed: Whether a host may have an IP address; called before anything is sent to it.
            answer_timeout_s: Seconds for the request and its response on an open connection.

        Raises:
            TransportError: There is no response; see ``toolfold.network.errors``.
        """
        host, began = "", time.monotonic()
        cause: Exception | None = None
        try:
            host = urlsplit(url).hostname or ""
            sent = {**trace_context(), **headers, "Accept-Encoding": "gzip"}
            prepared = requests.Request(method, url, sent, data=body).prepare()
            parts = urlsplit(str(prepared.url))
            sent_host = parts.hostname or ""
            # Parsers of URLs differ in what ends a host (a backslash), and digits of other alphabets become those of an
            # address: ``host`` is that for which the URL was checked.
            if host != sent_host if host.isascii() else is_loopback_name(sent_host) or literal_address(sent_host):
                raise errors.InvalidRequest
            origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        except (requests.RequestException, HTTPError, ValueError, errors.InvalidRequest):
            cause = errors.InvalidRequest()
        else:
            state = RequestState(
                method, origin, deadline, connect_timeout_s, is_allowed, self._resolver, answer_timeout_s
            )
            state.expires_at = min(deadline, began + answer_timeout_s)
            token = current_request.set(state)
            try:
                proxy = proxy_for(str(prepared.url))
                # A proxy resolves names, and does not know what is forbidden here.
                address = literal_address(sent_host) if proxy else None
                if address and is_allowed and not is_allowed(sent_host, address):
                    raise errors.ForbiddenAddress
                with self._send(prepared, proxy) as response:
                    content = _read_body(response, max_bytes, state)
                    state.status, state.body_bytes = response.status, len(content)
                    return Response(response.status, CaseInsensitiveDict(response.headers), content)
            except Exception as error:  # noqa: BLE001 - urllib3, http.client and the parser of headers raise many kinds
                cause = error
            finally:
                current_request.reset(token)
                if self.on_request is not None:
                    state.proxy, state.total_s = describe_proxy(str(prepared.url)), time.monotonic() - began
                    state.record_failure(cause)
                    self.on_request(state)
        # Raised here, with no other exception as its context: those of requests hold the URL, and with it the key.
        raise (type(cause) if isinstance(cause, errors.TransportError) else errors.ConnectionBroken)(host)

    def _send(self, request: requests.PreparedRequest, proxy: str) -> Any:
        """Send a request over a pooled connection, and return urllib3's response, whose body is not read."""
        parts = urlsplit(str(request.url))
        context = self.load_certificates() if parts.scheme == "https" else None
        adapter = self._adapter
        manager = adapter.proxy_manager_for(proxy) if proxy else adapter.poolmanager
        pool = manager.connection_from_host(parts.hostname, parts.port, parts.scheme, {"ssl_context": context})
        pool.ConnectionCls = TlsConnection if context else Connection
        return pool.urlopen(
            str(request.method),
            adapter.request_url(request, {"all": proxy}),
            request.body,
            request.headers,
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
        )

    def load_certificates(self) -> ssl.SSLContext:
        """Read the trusted certificates, which takes long, and return the context of TLS with them.

        Raises:
            CertificateBundleError: They cannot be read.
        """
        try:
            return self._create_tls_context(self._bundle or ca_bundle()[1])
        except OSError:
            raise errors.CertificateBundleError from None

    def close(self) -> None:
        """Close the idle connections. Those in use are closed after their response; later requests make new ones."""
        for manager in (self._adapter.poolmanager, *self._adapter.proxy_manager.values()):
            pools = [manager.pools[key] for key in manager.pools.keys()]  # noqa: SIM118 - it cannot be iterated
            manager.clear()
            # urllib3 leaves this to the garbage collector, which may come late: exceptions refer to pools.
            for pool in pools:
                pool.close()


def _is_outside_requests(_: logging.LogRecord) -> bool:
    """Drop what urllib3 logs during a request: it names the URL, and with it the key."""
    return current_request.get(None) is None


def _read_body(response: Any, max_bytes: int, state: RequestState) -> bytes:
    """Return the body: read before the deadline, within its limit, and decompressed as far as its size explains."""
    if (response.length_remaining or 0) > max_bytes:
        raise errors.ResponseTooLarge
    named = map(str.strip, response.headers.get("content-encoding", "").lower().split(","))
    encodings = [name for name in named if name not in _NOT_ENCODED]
    if encodings not in ([], ["gzip"], ["x-gzip"]):
        raise errors.InvalidResponse
    # Grows without a second copy at the end, as joining would make one.
    body = io.BytesIO()
    for chunk in _decompressed(response) if encodings else iter(functools.partial(response.read1, _CHUNK_BYTES), b""):
        state.remaining_s()
        size, received = body.tell() + len(chunk), response.tell()
        if size > max(_MIN_BOMB_BYTES, received * errors.MAX_DECOMPRESSION_RATIO):
            raise errors.DecompressionBomb
        if max(size, received) > max_bytes:
            raise errors.ResponseTooLarge
        if received > _MIN_BOMB_BYTES + 2 * size:  # gzip data may have any number of members without a byte of content
            raise errors.InvalidResponse
        body.write(chunk)
    return body.getvalue()


def _decompressed(response: Any) -> Iterator[bytes]:
    """Yield gzip data decompressed, whose last part may be empty; it has members, with zero bytes after each."""
    member, data = zlib.decompressobj(wbits=31), response.read1(_CHUNK_BYTES)
    is_empty = not data
    while data or not (member.eof or is_empty):
        if member.eof and (data := data.lstrip(b"\0")):
            member = zlib.decompressobj(wbits=31)
        is_end, chunk = not data, b""
        if not member.eof:
            try:
                chunk = member.decompress(data, _CHUNK_BYTES)
            except zlib.error:
                raise errors.InvalidResponse from None
            if is_end and not chunk:
                raise errors.ConnectionBroken
            data = member.unconsumed_tail or member.unused_data
        yield chunk
        data = data or response.read1(_CHUNK_BYTES)
