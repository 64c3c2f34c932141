"""Listen for changes of a server's list of tools where its version of MCP has ``subscriptions/listen`` (2026-07-28).

Servers of earlier versions send ``notifications/tools/list_changed`` without a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.sources.mcp.exchange import Exchange, current_exchange

if TYPE_CHECKING:
    from mcp.client import Client

__all__ = ["listen_for_changes"]

RELISTEN_S = 60.0
"""Seconds before a stream that has ended is opened again: a fifth of the time after which tools are listed anyway."""


async def listen_for_changes(client: Client, on_change: Callable[[], None]) -> None:
    """Call ``on_change`` when the server reports a change of its tools, until this task is cancelled.

    Returns at once where the server does not offer it, and as soon as it refuses it. What changed while there was no
    stream is unknown, so each new stream counts as a change.
    """
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        return
    current_exchange.set(Exchange())
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                if not subscription.honored.tools_list_changed:
                    return
                on_change()
                async for _ in subscription:
                    on_change()
        except SubscriptionLost:
            pass
        except (MCPError, ListenNotSupportedError):
            return
        await asyncio.sleep(RELISTEN_S)
