"""Random tables and pipelines of ``select``, and what the specification of the language says they return.

``table`` has the cells with their meanings, ``table_maker`` makes tables. An expression and a step (``language``) have
their text, and a function that evaluates them in plain Python, with ``aggregates`` and ``times``: ``expressions`` and
``steps`` make both. ``pipeline_maker`` makes pipelines for given tables, with ``expression_maker`` and ``literals``.
The evaluation shares nothing with the product, neither SQLite nor sqlglot, and reads no text at all. ``judge`` compares
it with the product. ``scripts/fuzz_select.py`` runs them by the hundred thousand.
"""
