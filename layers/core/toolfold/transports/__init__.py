"""Bytes from and to the outside: Lambda events, HTTP on this machine, stdio. No rules of their own.

May import everything but ``cli``. Nothing below imports a transport.
"""

__all__ = [
    "asgi",
    "background_log",
    "connection_limits",
    "http_connection",
    "http_protocol",
    "http_server",
    "lambda_events",
    "lambda_handler",
    "snapstart",
    "stdio",
    "workers",
]
