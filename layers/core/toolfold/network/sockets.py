"""What sockets are opened with: addresses and trusted certificates."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from toolfold.network import errors
from toolfold.network.ssrf import literal_address

_MAX_LOOKUPS = 16
"""Lookups at the same time. More are not needed: equal ones are one, and a process has few sources."""

_MAX_LOOKUPS_OF_NAME = 2
_JOIN_S = 5.0
"""A resolver tries its first name server for five seconds (resolv.conf(5)). A lookup that takes longer may never end,
so one that starts later does not wait for it."""


class _Lookup(Future[list[Any] | None]):
    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.host, self.port, self.began = host, port, time.monotonic()

    def run(self) -> None:
        found = None
        try:
            # The name as bytes: for text, Python imports its tables of international names.
            found = socket.getaddrinfo(self.host.encode("ascii"), self.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError, OverflowError):
            pass
        finally:
            self.set_result(found)


class Resolver:
    """Look up names before a deadline. Safe to use from many threads, and in a forked process.

    The system's resolver has no deadline: with name servers that do not answer, it returns after half a minute. It
    therefore runs in a thread, which nothing waits for when the time is up. The number of those threads is bounded.
    """

    def __init__(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._running: list[_Lookup] = []

    def addresses(self, host: str, port: int, timeout_s: float) -> list[Any]:
        """Return the addresses of ``host``, a name or an IP address, as ``socket.getaddrinfo`` orders them.

        Raises:
            NameResolutionError: the name has no address, or too many lookups do not end.
            TimeoutError: no result in time.
        """
        if literal_address(host) is None:
            lookup = self._find_or_start(host, port)
        else:
            lookup = _Lookup(host, port)
            lookup.run()
        if not (found := lookup.result(timeout_s)):
            raise errors.NameResolutionError
        return found

    def _find_or_start(self, host: str, port: int) -> _Lookup:
        if self._process != os.getpid():
            Resolver.__init__(self)  # the threads stay in the parent
        with self._lock:
            self._running = [lookup for lookup in self._running if not lookup.done()]
            of_name = [lookup for lookup in self._running if (lookup.host, lookup.port) == (host, port)]
            if of_name and time.monotonic() - of_name[-1].began < _JOIN_S:
                return of_name[-1]
            if len(of_name) >= _MAX_LOOKUPS_OF_NAME or len(self._running) >= _MAX_LOOKUPS:
                raise errors.NameResolutionError
            lookup = _Lookup(host, port)
            try:
                threading.Thread(target=lookup.run, daemon=True).start()
            except RuntimeError:  # no further thread
                raise errors.NameResolutionError from None
            self._running.append(lookup)
            return lookup


BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Variables that name trusted certificates, in the order of requests: the first that is set decides."""


def ca_bundle(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the variable that decides which certificates are trusted, or an empty string, and the path they are at."""
    variable = next((name for name in BUNDLE_VARIABLES if environment.get(name)), "")
    if variable:
        return variable, environment[variable]
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    return "", DEFAULT_CA_BUNDLE_PATH


_CERTIFICATE_ERRORS: Mapping[int, type[errors.CertificateError]] = {
    **dict.fromkeys((9, 10), errors.CertificateExpired),
    **dict.fromkeys((62, 64), errors.CertificateHostMismatch),
}
"""Codes of X509_verify_cert, which ``ssl.SSLCertVerificationError.verify_code`` has:
https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/"""


def tls_error(error: ssl.SSLError) -> errors.TlsError:
    """Return the error for a handshake that failed, by the reason where a certificate was refused."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATE_ERRORS.get(error.verify_code, errors.CertificateError)()
    return errors.TlsError()


def create_tls_context(bundle: str) -> ssl.SSLContext:
    """Return a context that checks certificates by ``bundle``, a file or a folder, and speaks TLS 1.2 or newer.

    Raises:
        OSError: The file does not exist, or holds no certificate.
    """
    is_folder = os.path.isdir(bundle)
    context = ssl.create_default_context(cafile=None if is_folder else bundle, capath=bundle if is_folder else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A name belongs into the alternative names; the subject's common name is text: RFC 9525, section 6.3.
    context.hostname_checks_common_name = False
    return context
