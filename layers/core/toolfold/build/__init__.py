"""Check, compile, lint and publish a catalog.

May import ``catalog``, ``sources.registry``, ``execution.validation``, ``results.tokens``, pydantic, PyYAML and boto3.
Imported by ``cli``.
"""

__all__ = [
    "aws_errors",
    "catalog_bucket",
    "catalog_diff",
    "checks",
    "compiler",
    "custom_resource",
    "emitter",
    "lint",
    "output_file",
    "pointer",
    "preparation",
    "prompt_injection",
    "publisher",
    "schema",
    "search_index",
    "unattended",
    "writer",
    "yaml_loader",
]
