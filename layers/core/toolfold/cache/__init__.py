"""Stored responses: ``response_cache`` over a :class:`~toolfold.cache.base.CacheStore` in memory, SQLite or DynamoDB.

``entry`` encodes a response, ``key`` names it; ``factory`` opens the store of the settings, ``fail_safe`` wraps it.
May import ``aws``, ``catalog.model``, ``settings``, ``models`` and ``errors``.
"""

__all__ = [
    "base",
    "dynamodb",
    "entry",
    "factory",
    "fail_safe",
    "key",
    "memo",
    "memory",
    "response_cache",
    "sqlite",
    "sqlite_file",
]
