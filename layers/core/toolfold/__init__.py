"""toolfold: hundreds of API tools behind three meta-tools, TOOL_LIST, TOOL_GET and TOOL_CALL.

A request walks through the rooms in this order and never back::

    transports → wire → meta_tools → {catalog, calling} → backends → results

``errors`` and ``settings`` may be imported by all of them. Importing this package imports none of them: a Lambda
start pays only for what the request needs.
"""

__version__ = "0.1.0"
