"""HTTP requests: ``session`` (the client), ``connection`` and ``sockets`` (limits), ``ssrf`` (addresses), ``errors``.

May import nothing of toolfold.
"""

__all__ = ["connection", "errors", "session", "sockets", "ssrf"]
