"""The protocol held against a peer that we did not write: the MCP SDK's own server, with the same three tools.

``peer`` asks the SDK in-process, ``exchanges`` describes what both answered, ``corpus`` makes requests, and
``justified`` lists the differences that are meant. Every other difference fails a test.
"""
