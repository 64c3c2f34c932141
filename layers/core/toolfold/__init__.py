"""toolfold: hundreds of API tools behind three meta-tools, TOOL_LIST, TOOL_GET and TOOL_CALL.

Packages in the order in which a request passes them; imports go only to the right::

    transports → protocol → meta_tools → {catalog, execution} → sources → network, results

``app`` makes the objects of a process; ``errors``, ``settings`` and ``models`` may be imported by every package. This
module imports none of them: a cold start on Lambda waits only for what its first request needs.
"""

from typing import TYPE_CHECKING, Any

from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the client when it is used: no server needs it."""
    if name in ("AsyncClient", "Client"):
        import importlib

        return getattr(importlib.import_module("toolfold.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
