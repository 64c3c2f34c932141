"""How requests leave this machine: whose certificates are trusted, and which proxy stands between."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_OF_THE_SYSTEM = sys.platform in {"darwin", "win32"}
"""There proxies may also be set without a variable."""


def tls(*own: str) -> ssl.SSLContext:
    """What TLS connections are checked with: certifi's bundle, or the file or folder that one of the variables of the
    environment names; ``own`` are looked at before those that are known everywhere. TLS 1.2 or newer.

    One for each bundle: it takes long to read.

    Raises:
        OSError: the file is not there, or holds no certificate.
    """
    return _context(next((os.environ[name] for name in (*own, *_BUNDLES) if os.environ.get(name)), ""))


@functools.cache
def _context(bundle: str) -> ssl.SSLContext:
    import ssl

    bundle = bundle or _certifi()
    folder = os.path.isdir(bundle)
    context = ssl.create_default_context(cafile=None if folder else bundle, capath=bundle if folder else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _certifi() -> str:
    """The path of certifi's bundle, found beside its code: certifi imports all of importlib.resources to tell it."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec("certifi")
    path = os.path.join(os.path.dirname(found.origin), "cacert.pem") if found and found.origin else ""
    if os.path.isfile(path):
        return path
    import certifi  # as some distributions ship it: it names the system's own bundle

    return certifi.where()


def proxy_for(scheme: str, host: str) -> str:
    """The address of the proxy for ``host`` (``name`` or ``name:port``), by ``HTTP_PROXY``, ``HTTPS_PROXY``,
    ``ALL_PROXY`` and ``NO_PROXY`` in either case; empty where there is none.

    ``NO_PROXY`` may also hold IPv4 networks (``10.0.0.0/8``), and names with a port. ``urllib.request`` reads them, and
    knows what macOS and Windows have set; importing it costs, so it is left alone where no variable is there.
    """
    if not _OF_THE_SYSTEM and _PROXIES.isdisjoint(name.lower() for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass

    known = getproxies()
    found = known.get(scheme) or known.get("all") or ""
    if not found or proxy_bypass(host) or _within(host.partition(":")[0], known.get("no", "")):
        return ""
    return found if "://" in found else f"http://{found}"


def _within(host: str, no_proxy: str) -> bool:
    """Whether ``host`` is an IPv4 address of one of the networks in ``no_proxy``."""
    import socket
    from ipaddress import IPv4Address, IPv4Network

    try:
        ip = IPv4Address(socket.inet_aton(host))  # in all the ways of writing one that a connection understands
    except OSError:
        return False
    for name in no_proxy.replace(" ", "").split(","):
        with suppress(ValueError):
            if "/" in name and ip in IPv4Network(name, strict=False):
                return True
    return False


def proof(address: str) -> str:
    """What the name and the password in ``address`` are sent as, in ``Authorization``; empty unless both are there."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(address)
    if not parts.username or parts.password is None:
        return ""
    from base64 import b64encode

    return f"Basic {b64encode(f'{unquote(parts.username)}:{unquote(parts.password)}'.encode()).decode()}"
