"""Bytes from and to the outside: Lambda events, HTTP on this machine, stdio. No rules of their own.

Nothing below imports a transport.
"""
