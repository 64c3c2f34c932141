"""The ``select`` argument of TOOL_CALL, which says what part of an answer to return.

``parser`` parses it; ``evaluator`` applies it to tables, with ``names``, ``conditions`` and ``aggregates``;
``sql_query`` applies SQL, with ``sql_engine``, which runs statements within ``sql_guard``;
``jmespath_query`` applies it to JSON, with an interpreter and functions that stop at an ``expression_budget`` and
``json_values``, which measures. May import ``results.tables``, ``results.columns``, ``results.values``, ``budget``,
``text_safety``, ``fuzzy`` and ``errors``.
"""

__all__ = [
    "aggregates",
    "conditions",
    "empty_notes",
    "evaluator",
    "expression_budget",
    "jmespath_functions",
    "jmespath_interpreter",
    "jmespath_query",
    "json_values",
    "names",
    "parser",
    "sql_dates",
    "sql_dialect",
    "sql_engine",
    "sql_errors",
    "sql_functions",
    "sql_guard",
    "sql_names",
    "sql_periods",
    "sql_query",
    "sql_tokens",
]
