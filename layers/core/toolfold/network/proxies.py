"""Which proxy a URL goes through, by the environment.

``HTTPS_PROXY``, ``HTTP_PROXY`` and ``ALL_PROXY`` name it, in upper or lower case, of which the lower is preferred; else
the settings of macOS or Windows do. With ``REQUEST_METHOD`` set, ``HTTP_PROXY`` is a header of a request to a CGI
program (https://httpoxy.org) and is ignored. ``NO_PROXY`` lists hosts that are reached directly.
"""

from __future__ import annotations

import os
import urllib.request
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from toolfold.network.errors import ProxyError, UnsupportedProxy
from toolfold.network.ssrf import is_loopback_name, literal_address

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str) -> str:
    """Return the URL of the proxy for ``url``, or an empty string. This machine is never reached through a proxy.

    Raises:
        ProxyError: The proxy's URL is not valid.
        UnsupportedProxy: The proxy is not reached by plain HTTP.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback_name(host):
        return ""
    proxies = urllib.request.getproxies_environment()
    if proxies:
        if is_direct(host, parts.port or _PORTS.get(parts.scheme, 0), proxies.get("no", "")):
            return ""
    else:
        proxies = urllib.request.getproxies()
        if not proxies or urllib.request.proxy_bypass(host):
            return ""
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
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


def is_direct(host: str, port: int, no_proxy: str) -> bool:
    """Return whether ``host`` is reached without a proxy.

    Args:
        host: the host name of a URL, or an IP address.
        port: the port of the URL.
        no_proxy: entries with commas between them: ``*``; a host, which stands for those below it as well, with or
            without a leading ``.`` or ``*.``, and may end in ``:port``; an IP address or a network (``10.0.0.0/8``).
    """
    host = host.strip("[]").removesuffix(".")
    address = literal_address(host)
    entries = no_proxy.replace(",", " ").split()
    if address is not None:
        return "*" in entries or any(_contains(entry, address) for entry in entries)
    names = ",".join(entry.removeprefix("*").removesuffix(".") for entry in entries)
    listed = urllib.request.proxy_bypass_environment(f"{host}:{port}", {"no": names})  # type: ignore[attr-defined]  # not in the stubs
    return "*" in entries or bool(listed)


def _contains(network: str, address: str) -> bool:
    try:
        return ip_address(address) in ip_network(network.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False


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
