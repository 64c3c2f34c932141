"""Stored responses: ``response_cache`` over a :class:`~toolfold.cache.base.CacheStore` in memory, SQLite or DynamoDB.

``factory`` opens the store of the settings, and ``base`` wraps it so that its failures only cost time.
"""
