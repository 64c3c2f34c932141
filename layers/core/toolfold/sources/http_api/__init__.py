"""Sources that are HTTP APIs: ``adapter`` sends, ``faults`` reads responses, ``transport_errors`` words failures.

Two forms of tools: ``function_request`` is one GET with a parameter that names the function; ``binding`` has methods,
paths, headers and bodies, and ``bound_calls``, ``authentication``, ``oauth2`` and ``bound_parser`` belong to it.
May import ``catalog``, ``network``, ``models``, ``settings``, ``errors``, ``sources.base`` and ``sources.errors``.
"""

__all__ = [
    "adapter",
    "authentication",
    "binding",
    "binding_checks",
    "body",
    "bound_calls",
    "bound_parser",
    "content",
    "faults",
    "function_request",
    "next_page",
    "notices",
    "oauth2",
    "path_template",
    "problem_details",
    "request",
    "retry_after",
    "styles",
    "transport_errors",
]
