"""The connections of all calls: kept, shared by all threads, over TLS with servers that prove who they are.

One that the other end has closed meanwhile is not used again. Which they are is decided anew at each call: another
proxy, or other certificates, in the environment make others.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from base64 import b64encode
from urllib.parse import unquote, urlencode, urlsplit

from urllib3 import PoolManager, ProxyManager, Timeout
from urllib3.exceptions import LocationValueError
from urllib3.util import create_urllib3_context, parse_url

from toolfold import __version__
from toolfold.backends.checked import POOLS
from toolfold.backends.proxies import proxy_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from toolfold.backends.http_api import Query

_HEADERS = {
    "User-Agent": f"toolfold/{__version__}",
    # What is bounded while it is unpacked; other packages, where they happen to be installed, would add to it.
    "Accept-Encoding": "gzip, deflate",
    "Accept": "*/*",
    "Connection": "keep-alive",
}

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Variables that name certificates to trust instead of certifi's, a file or a folder; the first that is set holds."""

_managers: dict[tuple[str | None, str | None], PoolManager] = {}
_lock = threading.Lock()


def get(address: str, query: Query, connect_s: float, read_s: float) -> BaseHTTPResponse:
    """Send one GET with ``query`` after what ``address`` already asks for, and return when the headers are there.

    Its body is still to be read; whoever has done with it, read or not, calls ``close`` and ``release_conn``. Redirects
    are answers like all others, and nothing is repeated. ``connect_s`` and ``read_s`` are the time-outs in seconds.

    Raises:
        checked.ForbiddenAddress: the name leads where it may not.
        urllib3.exceptions.HTTPError, OSError: all else that can fail. Their texts hold the query.
    """
    base = parse_url(address)
    asked = "&".join(part for part in (base.query, urlencode(query)) if part)
    headers = {**_HEADERS, **_proof("Authorization", address)}
    return manager(address).urlopen(
        "GET",
        base._replace(auth=None, query=asked, fragment=None).url,
        redirect=False,  # one would carry the key to another host
        headers=headers,
        retries=False,
        timeout=Timeout(connect=connect_s, read=read_s),
        preload_content=False,
        decode_content=False,
    )


def forget_connections() -> None:
    """Close every connection that is kept. Calls on their way end as they would; the next ones connect anew."""
    with _lock:
        managers = list(_managers.values())
    for manager in managers:
        pools = [manager.pools.get(key) for key in manager.pools.keys()]  # noqa: SIM118 - it cannot be walked itself
        manager.clear()
        # Not left to the collector of garbage: an error that somebody still holds would hold them open.
        for pool in filter(None, pools):
            pool.close()


def manager(address: str) -> PoolManager:
    """What keeps the connections to ``address``: one for each proxy and each set of certificates, made once."""
    proxy = proxy_for(address)
    secure = proxy is not None or address.lower().startswith("https:")
    bundle = next(filter(None, map(os.environ.get, _BUNDLES)), "") if secure else None
    with _lock:
        if (proxy, bundle) not in _managers:
            _managers[proxy, bundle] = _made(proxy, bundle)
        return _managers[proxy, bundle]


def _made(proxy: str | None, bundle: str | None) -> PoolManager:
    # Its lines name whole addresses, the key with them: of each request, and in warnings of odd headers and full pools.
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)
    context = None if bundle is None else _trusting(bundle)
    manager: PoolManager
    if proxy is None:
        manager = PoolManager(4, maxsize=16, ssl_context=context)
    else:
        if not parse_url(proxy).host:
            raise LocationValueError("no host")
        manager = ProxyManager(
            proxy,
            4,
            maxsize=16,
            ssl_context=context,
            proxy_ssl_context=context,
            proxy_headers=_proof("Proxy-Authorization", proxy),
        )
    manager.pool_classes_by_scheme = POOLS
    return manager


def _proof(header: str, address: str) -> dict[str, str]:
    """The header for the name and the password in ``address``, where both are there."""
    parts = urlsplit(address)
    if not parts.username or parts.password is None:
        return {}
    known = f"{unquote(parts.username)}:{unquote(parts.password)}"
    return {header: f"Basic {b64encode(known.encode('latin-1')).decode()}"}


def _trusting(bundle: str) -> ssl.SSLContext:
    """TLS 1.2 or newer, with servers that prove their names by ``bundle``, or by certifi's where that is empty."""
    if not bundle:
        import certifi

        bundle = certifi.where()
    context = create_urllib3_context(ssl_minimum_version=ssl.TLSVersion.TLSv1_2, cert_reqs=ssl.CERT_REQUIRED)
    if os.path.isdir(bundle):
        context.load_verify_locations(capath=bundle)
    else:
        context.load_verify_locations(cafile=bundle)
    return context
