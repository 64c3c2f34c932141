"""HTTP requests: ``session`` is the client, ``connection`` and ``sockets`` have its limits.

``resolver`` and ``ssrf`` find out where to connect.
"""
