"""Comparison of the protocol with an independent implementation: the MCP SDK's own server, with the same three tools.

``servers`` has both and their responses, ``corpus`` generates requests, and ``allowed_differences`` lists the intended
differences. Every other difference fails a test.
"""
