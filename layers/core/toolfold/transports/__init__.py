"""Bytes from and to the outside world; no rules of their own.

``aws_lambda`` turns API Gateway events into requests, ``snapshot`` warms that up ahead of them, ``local_http`` does API
Gateway's part on a laptop, ``stdio`` serves an agent on the same machine. May import everything below.
"""
