"""HTTP requests: ``session`` is the client, ``connection`` and ``sockets`` have its limits.

``resolver``, ``ssrf`` and ``proxies`` find out where to connect.
"""
