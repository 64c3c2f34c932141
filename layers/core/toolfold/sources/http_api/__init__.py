"""Sources that are HTTP APIs: ``adapter`` sends, ``faults`` reads responses, ``transport_errors`` words failures.

May import ``catalog``, ``network``, ``models``, ``settings``, ``errors``, ``sources.base`` and ``sources.errors``.
"""

__all__ = ["adapter", "faults", "transport_errors"]
