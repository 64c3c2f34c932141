"""Check, compile, lint and publish a catalog.

May import ``catalog``, ``sources.registry``, ``execution.validation``, ``results.tokens``, pydantic, PyYAML and boto3.
Imported by ``cli``.
"""
