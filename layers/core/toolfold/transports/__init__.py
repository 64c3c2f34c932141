"""Bytes from and to the outside world; no rules of their own.

``aws_lambda`` turns API Gateway events into requests, ``local_http`` does API Gateway's part on a laptop, ``stdio``
hands the meta-tools to the MCP SDK. May import everything below.
"""
