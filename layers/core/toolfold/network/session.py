"""The HTTP client: an adapter of requests whose connections keep to a deadline and to limits of size.

Importing this module imports requests, so it is imported by the first call and not by the first response.

A body is decompressed here as it arrives, within limits, and accepted only when it is complete and undamaged: urllib3
ignores what it cannot decompress after the first part of gzip data, and returns what it has when compressed data ends
too early. Both look like a complete body.
"""

from __future__ import annotations

import io
import logging
import math
import os
import ssl
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import select_proxy, should_bypass_proxies
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from toolfold.client_call import trace_context
from toolfold.network import errors
from toolfold.network.connection import POOL_CLASSES
from toolfold.network.sockets import (
    RequestState,
    Resolver,
    ca_bundle,
    create_tls_context,
    current_request,
    described_causes,
)
from toolfold.network.ssrf import is_allowed_address, is_loopback_name, literal_address

CHUNK_BYTES = 16384
"""Decompressed bytes at a time. Between them the caller checks its limits."""

_MAX_MEMBERS = 10_000
"""Members of gzip data. Programs that write several begin one every 64 KB; 10,000 of those are 640 MB."""

_NOT_ENCODED = ("", "identity", "none", "utf-8")
"""Names that some servers send for a body that is as it is."""

_GZIP = 16 + zlib.MAX_WBITS

Chunks = Iterator[bytes]


def _gunzip(data: Chunks) -> Chunks:
    """Decompress members until the end of ``data``. Zeros after the last one are padding."""
    members, decoder = 0, None
    for chunk in data:
        rest = chunk
        while rest:
            if decoder is None:
                rest = rest.lstrip(b"\0") if members else rest
                if not rest:
                    break
                members += 1
                if members > _MAX_MEMBERS:
                    raise errors.InvalidResponse
                decoder = zlib.decompressobj(_GZIP)
            yield from _decompress(decoder, rest)
            rest = decoder.unused_data
            if decoder.eof:
                decoder = None
        yield b""
    if decoder is not None:
        raise errors.ConnectionBroken


def _decompress(decoder: zlib._Decompress, data: bytes) -> Chunks:
    try:
        while data and not decoder.eof:
            yield decoder.decompress(data, CHUNK_BYTES)
            data = decoder.unconsumed_tail
        # What was buffered when the input ended on a boundary.
        while not decoder.eof and (more := decoder.decompress(b"", CHUNK_BYTES)):
            yield more
    except zlib.error:
        raise errors.InvalidResponse from None


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
    proxies = {} if is_loopback_name(urlsplit(url).hostname or "") else urllib.request.getproxies()
    proxy = select_proxy(url, proxies) if proxies else None
    if not proxy or should_bypass_proxies(url, no_proxy=None):
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
        self._adapter, self._resolver = _Adapter(bundle), Resolver()

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
        host, began = _host_of(url), time.monotonic()
        failure: type[errors.TransportError] = errors.InvalidRequest
        cause: Exception | None = None
        try:
            sent = {**trace_context(), **headers, "Accept-Encoding": "gzip"}
            prepared = requests.Request(method, url, sent, data=body).prepare()
            parts = urlsplit(str(prepared.url))
            _check_host(host, sent_host := parts.hostname or "")
            origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        except (requests.RequestException, HTTPError, ValueError, errors.InvalidRequest):
            pass
        else:
            state = RequestState(
                method, origin, deadline, connect_timeout_s, is_allowed, self._resolver, answer_timeout_s
            )
            token = current_request.set(state)
            try:
                proxy = proxy_for(str(prepared.url))
                # A proxy resolves names, and does not know what is forbidden here.
                address = literal_address(sent_host) if proxy else None
                if address and is_allowed and not is_allowed(sent_host, address):
                    raise errors.ForbiddenAddress
                proxies = {"all": proxy} if proxy else {}
                with self._adapter.send(prepared, stream=True, proxies=proxies) as response:
                    content = _read_body(response.raw, max_bytes, state)
                    state.status, state.body_bytes = response.status_code, len(content)
                    return Response(response.status_code, response.headers, content)
            except errors.TransportError as error:
                failure, cause = type(error), error
            except Exception as error:  # noqa: BLE001 - urllib3, http.client and the parser of headers raise many kinds
                failure, cause = errors.ConnectionBroken, error
            finally:
                current_request.reset(token)
                if self.on_request is not None:
                    state.proxy, state.causes = describe_proxy(str(prepared.url)), described_causes(cause)
                    state.total_s = time.monotonic() - began
                    self.on_request(state)
        # Raised here, with no other exception as its context: those of requests hold the URL, and with it the key.
        raise failure(host)

    def load_certificates(self) -> None:
        """Read the trusted certificates before the first request needs them, since it takes long.

        Raises:
            CertificateBundleError: They cannot be read.
        """
        self._adapter.tls_context()

    def close(self) -> None:
        """Close the idle connections. Those in use are closed after their response; later requests make new ones."""
        self._adapter.close()


class _Adapter(HTTPAdapter):
    """Make urllib3 use our connections, and one TLS context for each bundle of certificates."""

    def __init__(self, bundle: str) -> None:
        super().__init__(pool_maxsize=_MAX_POOLED_CONNECTIONS)
        self._bundle = bundle
        self._contexts: dict[str, ssl.SSLContext] = {}

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = POOL_CLASSES

    def proxy_manager_for(self, proxy: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = POOL_CLASSES
        return manager

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> tuple[Any, Any]:
        host, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        if host["scheme"] == "https":
            pool["ssl_context"] = self.tls_context()
        return host, pool

    def cert_verify(self, *_: Any) -> None:
        """Add nothing to the connection: its TLS context has the certificates."""

    def close(self) -> None:
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            pools = [manager.pools[key] for key in manager.pools.keys()]  # noqa: SIM118 - it cannot be iterated
            manager.clear()
            # urllib3 leaves this to the garbage collector, which may come late: exceptions refer to pools.
            for pool in pools:
                pool.close()

    def tls_context(self) -> ssl.SSLContext:
        bundle = self._bundle or ca_bundle()[1]
        if bundle not in self._contexts:
            try:
                self._contexts[bundle] = create_tls_context(bundle)
            except OSError:
                raise errors.CertificateBundleError from None
        return self._contexts[bundle]


def _is_outside_requests(_: logging.LogRecord) -> bool:
    """Drop what urllib3 logs during a request: it names the URL, and with it the key."""
    return current_request.get(None) is None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _check_host(host: str, sent: str) -> None:
    """Check that ``sent``, the host of a request, is the ``host`` for which its URL was checked.

    Parsers of URLs differ in what ends a host (a backslash), and digits of other alphabets become those of an address.
    """
    if host.isascii():
        if host != sent:
            raise errors.InvalidRequest
    elif is_loopback_name(sent) or literal_address(sent):
        raise errors.InvalidRequest


def _read_body(raw: Any, max_bytes: int, state: RequestState) -> bytes:
    if (raw.length_remaining or 0) > max_bytes:
        raise errors.ResponseTooLarge
    chunks = iter(lambda: raw.read1(CHUNK_BYTES, decode_content=False), b"")
    named = map(str.strip, raw.headers.get("content-encoding", "").lower().split(","))
    encodings = [name for name in named if name not in _NOT_ENCODED]
    if encodings in (["gzip"], ["x-gzip"]):
        chunks = _gunzip(chunks)
    elif encodings:
        raise errors.InvalidResponse
    # Grows without a second copy at the end, as joining would make one.
    body = io.BytesIO()
    for chunk in chunks:
        size = body.tell() + len(chunk)
        if size > max(_MIN_BOMB_BYTES, raw.tell() * errors.MAX_DECOMPRESSION_RATIO):
            raise errors.DecompressionBomb
        if max(size, raw.tell()) > max_bytes:
            raise errors.ResponseTooLarge
        body.write(chunk)
        state.remaining_s()
    return body.getvalue()
