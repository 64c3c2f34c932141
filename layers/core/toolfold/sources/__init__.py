"""Source adapters: the code that reaches one kind of source, one folder for each kind.

``base`` is their interface, ``registry`` finds one by name, ``errors`` are the failures worth a retry.
May import ``catalog.model``, ``network``, ``models``, ``settings`` and ``errors``; nothing of ``execution``.
"""

__all__ = ["alpha_vantage", "base", "errors", "http_api", "mcp", "registry", "skills", "sql"]
