"""The build side of the catalog: YAML is checked, compiled to JSON, judged by the lint and published.

May import ``catalog``, ``execution.validation``, ``results.tokens``, pydantic, PyYAML and boto3. Imported by ``cli``.
"""

__all__ = [
    "checks",
    "compiler",
    "emitter",
    "lint",
    "prompt_injection",
    "publisher",
    "schema",
    "search_index",
    "writer",
    "yaml_loader",
]
