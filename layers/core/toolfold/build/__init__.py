"""Check, compile, lint and publish a catalog.

May import ``catalog``, ``sources.registry``, ``execution.validation``, ``results.tokens``, pydantic, PyYAML and boto3.
Imported by ``cli``.
"""

__all__ = [
    "checks",
    "compiler",
    "emitter",
    "lint",
    "output_file",
    "prompt_injection",
    "publisher",
    "schema",
    "search_index",
    "writer",
    "yaml_loader",
]
