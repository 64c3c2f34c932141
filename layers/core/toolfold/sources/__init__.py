"""How a call reaches a source: one file per kind of source, one small interface.

A backend is a function ``call(source, tool, arguments, key, settings, deadline) -> Reply``. It sends what it is
given, once, and returns what came back. What the reply means is decided above it (``sources.http_api.faults``), and so is
whether to try again; ``transient`` says for which failures that may help.
"""
