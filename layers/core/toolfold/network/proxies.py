"""Which proxy a URL goes through, as requests reads the environment and the settings of macOS and Windows.

``HTTPS_PROXY``, ``HTTP_PROXY`` and ``ALL_PROXY`` name it, in upper or lower case, of which the lower is preferred.
``NO_PROXY`` lists hosts that are reached directly.
"""

from __future__ import annotations

import os
import urllib.request
from urllib.parse import urlsplit

from requests.utils import select_proxy, should_bypass_proxies
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from toolfold.network.errors import ProxyError, UnsupportedProxy
from toolfold.network.ssrf import is_loopback_name


def proxy_for(url: str) -> str:
    """Return the URL of the proxy for ``url``, or an empty string. This machine is never reached through a proxy.

    Raises:
        ProxyError: The proxy's URL is not valid.
        UnsupportedProxy: The proxy is not reached by plain HTTP.
    """
    if is_loopback_name(urlsplit(url).hostname or "") or should_bypass_proxies(url, no_proxy=None):
        return ""
    proxy = select_proxy(url, urllib.request.getproxies())
    return _checked(proxy if "://" in proxy else f"http://{proxy}") if proxy else ""


def describe_proxy(url: str) -> str:
    """Return host and port of the proxy for ``url`` and the variable that names it; empty without a proxy.

    A user name and a password in it are left out.
    """
    try:
        if not (proxy := proxy_for(url)):
            return ""
    except (ProxyError, UnsupportedProxy):
        proxy = "://"
    scheme = urlsplit(url).scheme
    names = (f"{scheme}_proxy", f"{scheme}_PROXY".upper(), "all_proxy", "ALL_PROXY")
    name = next((name for name in names if os.environ.get(name)), "")
    given = os.environ.get(name, proxy)
    place = given.rpartition("://")[2].rpartition("@")[2].partition("/")[0]
    return f"{place} ({name})" if name else place


def _checked(proxy: str) -> str:
    try:
        parsed = parse_url(proxy)
    except (HTTPError, ValueError):
        raise ProxyError from None
    if parsed.scheme != "http":
        raise UnsupportedProxy
    if not parsed.host:
        raise ProxyError
    return proxy
