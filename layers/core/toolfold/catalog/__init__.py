"""The catalog: what can be called.

Read side (``model``, ``store``, ``search``): on the request path, standard library only. One type flows through it:
:class:`toolfold.catalog.model.Catalog`.

Build side (``yaml_lines``, ``sources``, ``lint``, ``compile``, ``publish``): YAML → checked → compiled JSON → S3. It
may import pydantic, PyYAML and boto3; the read side may not import the build side.
"""
