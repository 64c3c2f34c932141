"""Comparison of the protocol with an independent implementation: the MCP SDK's own server, with the same three tools.

``servers`` runs the SDK in-process and has the responses of both, ``corpus`` generates requests, and
``allowed_differences`` lists the intended differences. Every other difference fails a test.
"""
