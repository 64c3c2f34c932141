"""HTTP requests: ``session`` (the client), ``connection`` (deadline and limits), ``ssrf`` (peer addresses), ``errors``.

May import nothing of toolfold.
"""

__all__ = ["connection", "errors", "session", "ssrf"]
