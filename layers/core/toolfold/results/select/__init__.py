"""The ``select`` argument of TOOL_CALL: ``parser`` reads it, ``evaluator`` applies it to rows.

May import ``results.values`` and ``errors``.
"""
