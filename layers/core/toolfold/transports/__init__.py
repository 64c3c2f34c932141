"""Bytes from and to the outside: Lambda events, HTTP on this machine, stdio. No rules of their own.

May import everything but ``cli``. Nothing below imports a transport.
"""

__all__ = ["health", "lambda_events", "lambda_handler", "local_http", "snapstart", "stdio", "stdio_session", "workers"]
