"""One call, from the arguments that a model sent to data or an error that it can read.

``executor`` validates and finds the key; ``cached_executor`` caches and joins calls, ``retry`` sends them within
``rate_limiter`` and ``circuit_breaker``. Only ``executor`` and ``credentials`` are imported before the first call.
May import ``catalog.model``, ``cache``, ``sources.base``, ``sources.registry``, ``aws``, ``models`` and ``errors``.
"""

__all__ = [
    "argument_coercion",
    "cached_executor",
    "call_log",
    "circuit_breaker",
    "clock",
    "credentials",
    "executor",
    "rate_limiter",
    "result",
    "retry",
    "secrets",
    "single_flight",
    "validation",
    "validation_problems",
]
