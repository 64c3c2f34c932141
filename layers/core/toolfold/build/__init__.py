"""The build side of the catalog: YAML → checked → compiled JSON → published.

May import everything of ``catalog``, and pydantic, PyYAML and boto3. Only ``cli`` imports it.
"""
