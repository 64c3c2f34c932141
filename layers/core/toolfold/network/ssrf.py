"""Server-side request forgery: which IP addresses a host name may have.

A name server can be made to answer with an address in the network of this process. All addresses of a name are checked
before the first connection, and so is the address of the connected socket. Through a proxy (``HTTPS_PROXY``) it is the
proxy that resolves names and connects; there the check is the proxy's, except for hosts that are addresses.

What is allowed is listed, not what is forbidden: unicast addresses that are assigned to hosts of the internet. The
tables are those of IANA. ``ipaddress.is_global`` differs between versions of Python and takes some of these for global.

Addresses of private networks are for the hosts that the operator names (``TOOLFOLD_PRIVATE_HOSTS``) alone.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine that a source may have."""

_Address = IPv4Address | IPv6Address


def _blocks(*written: str) -> Callable[[_Address], bool]:
    """Return whether an address is in one of these blocks."""
    blocks = [ip_network(block) for block in written]
    return lambda ip: any(ip in block for block in blocks)


_is_loopback = _blocks("127.0.0.0/8", "::1/128")

_is_unicast = _blocks("0.0.0.0/0", "2000::/3")
"""All of IPv6 that is assigned so far: https://www.iana.org/assignments/ipv6-address-space"""

# https://www.iana.org/assignments/iana-ipv4-special-registry, all blocks, also those that are "globally reachable":
# none is for hosts. Multicast: https://www.iana.org/assignments/multicast-addresses
# https://www.iana.org/assignments/iana-ipv6-special-registry, the blocks inside 2000::/3
_is_special = _blocks(
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private use
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local, metadata of cloud providers
    "172.16.0.0/12",  # private use
    "192.0.0.0/24",  # IETF protocol assignments
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # automatic multicast tunnels
    "192.88.99.0/24",  # relays of 6to4
    "192.168.0.0/16",  # private use
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
    "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID, …
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4, which holds an IPv4 address
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
)

_is_private = _blocks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")  # RFC 1918, RFC 4193

_is_metadata = _blocks("fd00:ec2::/32", "fd20:ce::/32")
"""Services of AWS and Google Cloud for one machine, among them its credentials. Their IPv4 addresses are link-local."""

_is_nat64 = _blocks("64:ff9b::/96")
"""An IPv4 address in the last four bytes (RFC 6052): how a network without IPv4 reaches hosts that have only that."""

_ISATAP = (0x00005EFE, 0x02005EFE)
"""The third quarter of an address that holds an IPv4 address of a site: RFC 5214, section 6.1."""


def _parsed(address: str) -> _Address | None:
    """Return an IP address; None for others, and for those with a zone, which are addresses of one link only."""
    try:
        ip = ip_address(address)
    except ValueError:
        return None
    return None if isinstance(ip, IPv6Address) and ip.scope_id is not None else ip


@functools.lru_cache(maxsize=1000)  # called several times for each request, to a few hosts
def is_allowed_address(host: str, address: str) -> bool:
    """Return whether ``host`` may have ``address``: loopback for names of this machine, public for all others.

    Args:
        host: the host name of a URL.
        address: an IP address, with or without a zone (``%eth0``).
    """
    ip = _parsed(address)
    if ip is None or is_this_machine(host):
        return ip is not None and _is_loopback(ip)
    if _is_nat64(ip):
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    is_isatap = ip.version == 6 and (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP
    return _is_unicast(ip) and not _is_special(ip) and not is_isatap


def address_check(private_hosts: Collection[str], source_id: str, url: str) -> Callable[[str, str], bool]:
    """Return which addresses hosts may have in a request of a source: ``is_allowed_address``, or more for one host.

    Args:
        private_hosts: hosts that may have an address in a private network, each ``HOST`` or ``ID=HOST``, with ``:PORT``
            if that is not 443.
        source_id: the source.
        url: where the request is sent. The exception is for its host, and for no other.
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return is_allowed_address
    entry = f"[{name}]" if ":" in name else name
    if port is not None and port != 443:
        entry = f"{entry}:{port}"
    if not {entry, f"{source_id}={entry}"}.intersection(private_hosts) or is_this_machine(name):
        return is_allowed_address

    def is_allowed(host: str, address: str) -> bool:
        ip = _parsed(address) if host.strip("[]").lower() == name else None
        is_private = ip is not None and _is_private(ip) and not _is_metadata(ip)
        return is_private or is_allowed_address(host, address)

    return is_allowed


def is_secure_url(url: str) -> bool:
    """Return whether ``url`` is one of HTTPS, or of this machine."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    return False


def is_this_machine(host: str) -> bool:
    """Return whether ``host`` is one of ``LOOPBACK``, as written in a URL or not.

    >>> is_this_machine("[::1]"), is_this_machine("LocalHost."), is_this_machine("x.localhost")
    (True, True, False)
    """
    return host.strip("[]").lower().removesuffix(".") in LOOPBACK


@functools.lru_cache(maxsize=1000)
def is_loopback_name(host: str) -> bool:
    """Return whether ``host`` can only be this machine, in any notation.

    Names below ``localhost`` are: https://www.rfc-editor.org/rfc/rfc6761#section-6.3
    """
    name = host.strip("[]").lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = literal_address(name)
    return address is not None and is_allowed_address("localhost", address)


_PORTS = {"http": 80, "https": 443}


def origin(url: str) -> str:
    """Return scheme, host and port of a URL of HTTP, without the port where it is the usual one.

    Raises:
        ValueError: It has no host, one that is not ASCII, or another scheme.

    >>> origin("https://user@A.example:443/path"), origin("http://[::1]:80/"), origin("http://a.example:8080")
    ('https://a.example', 'http://[::1]', 'http://a.example:8080')
    """
    parts = urlsplit(url)
    host, usual_port = parts.hostname or "", _PORTS.get(parts.scheme)
    if not host or not host.isascii() or usual_port is None:
        raise ValueError("is not a URL that can be requested")
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" if parts.port in (None, usual_port) else f"{parts.scheme}://{name}:{parts.port}"


def literal_address(host: str) -> str | None:
    """Return the IP address that ``host`` is, in any notation that resolvers accept, or None for a name.

    >>> literal_address("0x7f.1"), literal_address("2130706433"), literal_address("[::1]"), literal_address("a.example")
    ('127.0.0.1', '127.0.0.1', '::1', None)
    """
    name = host.strip("[]").removesuffix(".")
    with suppress(ValueError):
        return str(ip_address(name))
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except (OSError, ValueError):
        return None
