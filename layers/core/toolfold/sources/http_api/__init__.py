"""Sources that are plain HTTP APIs: ``adapter`` sends a call, ``faults`` reads the response.

May import ``catalog.model``, ``network``, ``settings`` and ``errors``.
"""
