"""Bytes from and to the outside world; no rules of their own.

``aws_lambda`` turns API LambdaHandler events into requests, ``snapshot`` warms that up ahead of them, ``local_http`` does API
LambdaHandler's part on a laptop, ``stdio`` serves an agent on the same machine. May import everything below.
"""
