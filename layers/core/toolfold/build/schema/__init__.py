"""Pydantic models of sources and tools. They refuse unknown keys, missing keys and contradictions.

``sources`` has what every kind of source has, ``field_types`` what the fields are made of and the content of
``vocabulary.yaml``. The request path does not import pydantic.
"""
