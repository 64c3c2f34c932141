"""HTTP APIs that a person describes by hand, in ``source.yaml`` and a YAML file for each further category.

``models`` are what the YAML may have; ``importer`` reads the files, and makes the JSON Schema and the HTTP binding of
each tool. May import ``build``, ``catalog`` and ``sources.http_api``.
"""
