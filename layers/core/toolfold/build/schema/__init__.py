"""Pydantic models of the YAML of a source. They refuse unknown keys, missing keys and contradictions.

``sources`` has the content of ``source.yaml`` and of each ``<category>.yaml``, ``field_types`` what their fields are
made of and the content of ``vocabulary.yaml``. The request path does not import pydantic.
"""
