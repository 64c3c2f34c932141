"""HTTP requests: ``session`` is the client, ``connection`` and ``sockets`` have its limits.

``resolver``, ``ssrf`` and ``proxies`` find out where to connect; ``framing``, ``response`` and ``decompression`` parse
what is received. May import nothing of toolfold.
"""

__all__ = [
    "connection",
    "decompression",
    "errors",
    "framing",
    "proxies",
    "resolver",
    "response",
    "session",
    "sockets",
    "ssrf",
    "trace",
]
