"""HTTP requests: ``session`` is the client, ``connection`` and ``sockets`` have its limits.

``ssrf`` decides where to connect.
"""
