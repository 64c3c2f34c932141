"""The ``select`` argument of TOOL_CALL, which says what part of an answer to return.

``parser`` parses it, ``evaluator`` applies it to tables with ``aggregates``, ``jmespath_query`` to JSON. May import
``results.tables``, ``results.columns``, ``results.values``, ``fuzzy`` and ``errors``.
"""

__all__ = ["aggregates", "evaluator", "jmespath_query", "parser"]
