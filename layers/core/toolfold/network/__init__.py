"""HTTP requests to upstream services: ``session`` sends them, ``ssrf`` checks the address of the peer.

May import ``settings`` and ``errors``.
"""
