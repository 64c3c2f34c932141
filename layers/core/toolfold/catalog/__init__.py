"""Open, read and search the compiled catalog.

Data flows through one type, :class:`toolfold.catalog.model.Catalog`. May import ``aws``, ``errors`` and ``settings``;
never ``build``.
"""

__all__ = ["block_cache", "json_schema", "model", "query", "reader", "search", "spelling", "store", "tokenizer"]
