"""Connections that look whom they reached before anything is said, and do not wait for ever for its first words.

A name service can be made to answer with an address inside the network that this process stands in. The address is
checked on the connected socket, so that what was checked is what is used. Through a proxy (``HTTPS_PROXY``) it is the
proxy that resolves names and connects; there the check is the proxy's.
"""

from __future__ import annotations

import ipaddress
import threading
from contextlib import suppress

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from toolfold.backends.http_api import LOOPBACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from urllib3.util import Url

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address in the last four bytes


class ForbiddenAddress(Exception):
    """The connection leads where nothing may be sent: a private, loopback or otherwise special address.

    Not an ``OSError``, which urllib3 would wrap into errors of its own.
    """


def may_be_reached(host: str, address: str) -> bool:
    """Whether ``host`` may be found at ``address``: names of this machine on this machine, all others in public."""
    ip = _unwrapped(ipaddress.ip_address(address.partition("%")[0]))
    if host.strip("[]").lower() in LOOPBACK:
        return ip.is_loopback
    return ip.is_global and not ip.is_multicast


def _unwrapped(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address inside an IPv6 one, where there is one."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        return ip.ipv4_mapped or ip.sixtofour or ip
    return ip


class _Checked:
    host: str
    proxy: Url | None
    sock: socket.socket | None
    timeout: float | None

    def getresponse(self) -> Any:
        """The response, its headers within the time-out as a whole: the socket's own starts anew with every byte."""
        sock = self.sock
        timer = threading.Timer(self.timeout or 60.0, _hang_up, (sock,))
        timer.daemon = True
        timer.start()
        try:
            return super().getresponse()  # type: ignore[misc]  # as below
        finally:
            timer.cancel()

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]  # of the connection it is mixed into
        if self.proxy is None and not may_be_reached(self.host, sock.getpeername()[0]):
            sock.close()
            raise ForbiddenAddress
        return sock


def _hang_up(sock: socket.socket | None) -> None:
    sock = getattr(sock, "socket", sock)  # TLS within the TLS of a proxy is a wrapper around the proxy's
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(2)  # both ways; whoever reads from it sees its end


class _CheckedHttp(_Checked, HTTPConnection):
    pass


class _CheckedHttps(_Checked, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _CheckedHttp


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedHttps


POOLS: dict[str, type[HTTPConnectionPool]] = {"http": _HttpPool, "https": _HttpsPool}
"""What a manager of urllib3's makes its pools of, by scheme."""
