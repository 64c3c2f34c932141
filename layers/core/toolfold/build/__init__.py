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
    "example_arguments",
    "imported_source",
    "imported_texts",
    "importers",
    "lint",
    "loaded_source",
    "output_file",
    "overlay",
    "pointer",
    "preparation",
    "prompt_injection",
    "publisher",
    "schema",
    "search_index",
    "tool_names",
    "tool_references",
    "unattended",
    "validation_errors",
    "writer",
    "yaml_loader",
    "yaml_source",
]
