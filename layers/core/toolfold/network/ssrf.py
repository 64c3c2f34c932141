"""Server-side request forgery: which IP addresses a host name may have.

A name server can be made to answer with an address in the network of this process. The address of the connected socket
is checked, so that the address that was checked is the one that is used. Through a proxy (``HTTPS_PROXY``) it is the
proxy that resolves names and connects; there the check is the proxy's.
"""

from __future__ import annotations

import ipaddress

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address in the last four bytes


def is_allowed_address(host: str, address: str) -> bool:
    """Return whether ``host`` may have ``address``: loopback for names of this machine, public for all others."""
    ip = _unwrapped(ipaddress.ip_address(address.partition("%")[0]))
    if host.strip("[]").lower() in LOOPBACK:
        return ip.is_loopback
    return ip.is_global and not ip.is_multicast


def _unwrapped(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address inside an IPv6 one, or ``ip``."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        return ip.ipv4_mapped or ip.sixtofour or ip
    return ip
