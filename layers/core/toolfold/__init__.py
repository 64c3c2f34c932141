"""toolfold: hundreds of API tools behind three meta-tools, TOOL_LIST, TOOL_GET and TOOL_CALL.

Packages in the order in which a request passes them; imports go only to the right::

    transports → protocol → meta_tools → {catalog, execution} → sources → network, results

``app`` makes the objects of a process; ``errors``, ``settings`` and ``models`` may be imported by every package. This
module imports none of them: a cold start on Lambda waits only for what its first request needs.
"""

from typing import TYPE_CHECKING, Any

from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.client import Client
    from toolfold.execution.call import CallContext, Middleware

__all__ = ["CallContext", "Client", "Middleware", "__version__"]

_MODULES = {
    "CallContext": "toolfold.execution.call",
    "Client": "toolfold.client",
    "Middleware": "toolfold.execution.call",
}


def __getattr__(name: str) -> Any:
    """Import what others use when they use it: no server needs it for its first response."""
    if name in _MODULES:
        import importlib

        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
