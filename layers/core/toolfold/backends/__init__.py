"""How a call reaches a source: one file per kind of source, one small interface.

A backend is a function ``call(source, tool, arguments, key, settings) -> Reply``. It sends what it is given, once, and
returns what came back; what the reply means is decided above it (``calling.faults``). May import ``results``.
"""
