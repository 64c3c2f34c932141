"""Which proxy the environment names for an address, read as most clients do: curl's variables, in either case.

``urllib.request`` reads them, and knows what macOS and Windows have set; importing it costs, so it is left alone where
no variable is there. ``NO_PROXY`` may also hold networks (``10.0.0.0/8``), and names with a port.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_OF_THE_SYSTEM = sys.platform in {"darwin", "win32"}


def proxy_for(address: str) -> str | None:
    """The proxy's own address, a scheme before it; ``None`` where ``address`` is reached directly."""
    if not _OF_THE_SYSTEM and _VARIABLES.isdisjoint(name.lower() for name in os.environ):
        return None
    from urllib.request import getproxies

    parts, proxies = urlsplit(address), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or _excepted(parts, proxies.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _excepted(parts: SplitResult, no_proxy: str) -> bool:
    """Whether ``NO_PROXY`` names the host of an address, or what the system has set does."""
    from urllib.request import proxy_bypass

    host = parts.hostname or ""
    try:
        ip = ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return bool(proxy_bypass(f"{host}:{parts.port}" if parts.port else host))
    for name in no_proxy.replace(" ", "").split(","):
        with suppress(ValueError):
            if "/" in name and ip in ipaddress.IPv4Network(name, strict=False):
                return True
    return bool(proxy_bypass(host))
