"""Stored responses: ``response_cache`` over a ``CacheStore`` in memory, SQLite or DynamoDB.

May import ``aws``, ``settings`` and ``errors``.
"""
