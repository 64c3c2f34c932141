"""One call, from the arguments that a model sent to data or an error that it can read.

``executor`` validates and finds the key; ``cached_executor`` caches and joins calls, ``retry`` sends them within
``rate_limiter`` and ``circuit_breaker``. Only ``executor`` and ``credentials`` are imported before the first call.
May import ``catalog.model``, ``cache``, ``sources.base``, ``sources.registry``, ``aws``, ``models`` and ``errors``.
"""

__all__ = [
    "api_keys",
    "approval",
    "approval_decision",
    "approval_prompt",
    "approval_record",
    "approval_resources",
    "approval_secret",
    "approval_store",
    "approval_token",
    "argument_coercion",
    "argument_dates",
    "argument_names",
    "argument_repair",
    "argument_tickers",
    "argument_values",
    "audit",
    "audit_file",
    "cached_executor",
    "calendar_dates",
    "call_log",
    "call_log_file",
    "canonical_arguments",
    "circuit_breaker",
    "client_limits",
    "clock",
    "credentials",
    "executor",
    "observer",
    "period_hint",
    "plan_memory",
    "principal",
    "rate_limiter",
    "result",
    "retry",
    "secrets",
    "single_flight",
    "single_use",
    "upstream",
    "validation",
    "validation_problems",
]
