"""The ``select`` argument of TOOL_CALL, which says what part of an answer to return.

``parser`` parses it to a ``selection``, with ``clauses``, ``conditions`` and ``expressions``; ``evaluator`` applies it:
``resolver`` looks up the names, with ``table_names`` and ``phrases``; ``rows`` and ``calculations`` choose and compute
with ``statements`` of SQL; ``requested`` says what it requests of a series, ``explanations`` why nothing is found;
``sql_query`` applies SQL, with ``sql_engine``, which runs statements within ``sql_guard``;
``jmespath`` applies an expression to JSON within limits. May import ``results.tables``, ``results.values``, ``budget``,
``text_safety``, ``fuzzy`` and ``errors``.
"""
