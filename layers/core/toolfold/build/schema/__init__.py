"""Pydantic models of the YAML of a source. They refuse unknown keys, missing keys and contradictions.

``sources`` has the content of ``source.yaml``, ``tools`` that of each ``<category>.yaml``, ``vocabulary`` that of
``vocabulary.yaml``, ``field_types`` what their fields are made of. May import ``catalog`` and ``build.relations``. The
request path does not import pydantic.
"""

__all__ = ["field_types", "sources", "tools", "vocabulary"]
