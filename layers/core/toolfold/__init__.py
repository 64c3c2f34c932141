"""toolfold: hundreds of API tools behind three meta-tools, TOOL_LIST, TOOL_GET and TOOL_CALL.

Packages in the order in which a request passes them; imports go only to the right::

    transports → protocol → meta_tools → {catalog, execution} → sources → network, results

``app`` makes the objects of a process; ``errors``, ``settings`` and ``models`` may be imported by every package. This
module imports none of them: a cold start on Lambda waits only for what its first request needs.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
