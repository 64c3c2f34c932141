"""HTTP requests: ``session`` is the client, ``connection`` and ``sockets`` have its limits.

``framing`` and ``response`` parse what is received, ``ssrf`` checks addresses. May import nothing of toolfold.
"""

__all__ = ["connection", "errors", "framing", "response", "session", "sockets", "ssrf"]
