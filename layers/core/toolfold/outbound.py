"""How requests leave this machine: whose certificates are trusted, and which proxy stands between."""

from __future__ import annotations

import functools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


def tls(*own: str) -> ssl.SSLContext:
    """What TLS connections are checked with: certifi's bundle, or the file or folder that one of the variables of the
    environment names; ``own`` are looked at before those that are known everywhere.

    One for each bundle: reading certifi's takes some 40 ms.
    """
    return _context(next((os.environ[name] for name in (*own, *_BUNDLES) if os.environ.get(name)), ""))


@functools.cache
def _context(bundle: str) -> ssl.SSLContext:
    import ssl

    if os.path.isdir(bundle):
        return ssl.create_default_context(capath=bundle)
    if not bundle:
        import certifi

        bundle = certifi.where()
    return ssl.create_default_context(cafile=bundle)


def proxy_for(scheme: str, host: str) -> str:
    """The address of the proxy for ``host`` (``name`` or ``name:port``), by ``HTTP_PROXY``, ``HTTPS_PROXY``,
    ``ALL_PROXY`` and ``NO_PROXY`` in either case; empty where there is none."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies_environment, proxy_bypass

    known = getproxies_environment()
    found = known.get(scheme) or known.get("all") or ""
    if not found or proxy_bypass(host):
        return ""
    return found if "://" in found else f"http://{found}"
