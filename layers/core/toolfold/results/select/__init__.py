"""The ``select`` argument of TOOL_CALL, which says what part of an answer to return.

``parser`` parses it to a ``selection``, with ``clauses``, ``conditions`` and ``expressions``; ``evaluator`` applies it:
``resolver`` looks up the names, with ``table_names`` and ``phrases``; ``rows`` and ``calculations`` choose and compute
with ``statements`` of SQL; ``requested`` says what it requests of a series, ``explanations`` why nothing is found;
``sql_query`` applies SQL, with ``sql_engine``, which runs statements within ``sql_guard``;
``jmespath_query`` applies it to JSON, with an interpreter and functions that stop at an ``expression_budget`` and
``json_values``, which measures. May import ``results.tables``, ``results.columns``, ``results.values``, ``budget``,
``text_safety``, ``fuzzy`` and ``errors``.
"""

__all__ = [
    "amounts",
    "calculations",
    "calendar_units",
    "clause_words",
    "clauses",
    "comparison_words",
    "conditions",
    "dates",
    "empty_notes",
    "evaluator",
    "explanations",
    "expression_budget",
    "expressions",
    "functions",
    "grouping",
    "jmespath_functions",
    "jmespath_interpreter",
    "jmespath_periods",
    "jmespath_query",
    "json_values",
    "names",
    "parser",
    "period_words",
    "periods",
    "phrases",
    "request_objects",
    "requested",
    "resolver",
    "rows",
    "selection",
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
    "sql_values",
    "statements",
    "table_names",
]
