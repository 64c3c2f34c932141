"""Open, read and search the compiled catalog.

Data flows through one type, :class:`toolfold.catalog.model.Catalog`, which returns what is in ``entries``.
May import ``aws``, ``errors`` and ``settings``; never ``build``.
"""

__all__ = [
    "allow_list",
    "block_cache",
    "bounded_pattern",
    "entries",
    "explanation",
    "head_checks",
    "index_fields",
    "json_schema",
    "layout",
    "model",
    "profiles",
    "query",
    "reader",
    "schema_checks",
    "search",
    "semantic",
    "skills",
    "spelling",
    "start_check",
    "store",
    "tokenizer",
    "tool_checks",
    "view",
]
