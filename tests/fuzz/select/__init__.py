"""Random tables and pipelines of ``select``, and what the specification of the language says they return.

``table`` has the cells with their meanings, ``table_maker`` makes tables. ``pipeline`` is a ``select`` as a structure,
``pipeline_maker`` makes one for given tables, with ``expression_maker`` and ``literals``; ``spelling`` writes it as
text. ``reference`` evaluates the structure in plain Python, with ``expressions``, ``steps``, ``aggregates`` and
``times``: it shares nothing with the product, neither SQLite nor sqlglot, and reads no text at all. ``judge`` compares
it with the product. ``scripts/fuzz_select.py`` runs them by the hundred
thousand.
"""
