"""Sources that are HTTP APIs: ``adapter`` sends, ``faults`` reads responses, ``transport_errors`` words failures.

May import ``catalog.model``, ``network``, ``models``, ``settings``, ``errors`` and ``sources.errors``.
"""

__all__ = ["adapter", "faults", "transport_errors"]
