"""A transport of the SDK's client for servers of 2024-11-05: a GET opens a stream of events, requests are POSTs.

Ours, because the SDK's own ends without a word when a POST fails, so that the request waits for its time-out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from toolfold.network.errors import ConnectionBroken, InvalidResponse, ResponseTooLarge
from toolfold.sources.mcp.exchange import PartLimit, StreamState, TooManyParts, current_exchange

__all__ = ["sse_transport"]


class _NoEndpoint(Exception):
    """The server does not open a stream that says where requests go."""


@asynccontextmanager
async def sse_transport(
    url: str, http_client: httpx2.AsyncClient, max_event_bytes: int, state: StreamState
) -> AsyncIterator[Any]:
    """Open the stream of a server and yield the streams that an SDK client reads and writes.

    Args:
        url: of the stream.
        http_client: sends the requests, with their limits and headers.
        max_event_bytes: of one message of the server. A larger one ends the connection.
        state: receives what happens to the connection.
    """
    async with http_client.sse(url, max_event_size=max_event_bytes) as events:
        if events.response.status_code != 200:
            raise _NoEndpoint(events.response.status_code)
        received, incoming = anyio.create_memory_object_stream[Any](0)
        endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        reading = asyncio.get_running_loop().create_task(_read_events(events, url, endpoint, received, state))
        try:
            yield incoming, _Posts(http_client, await endpoint)
        finally:
            reading.cancel()
            received.close()
            incoming.close()


async def _read_events(
    events: httpx2.EventSource, url: str, endpoint: asyncio.Future[str], received: Any, state: StreamState
) -> None:
    """Read the events of a stream until it ends: the first says where requests go, the others are messages."""
    try:
        async with received:
            async for event in events:
                if event.event == "endpoint" and not endpoint.done():
                    endpoint.set_result(_checked_endpoint(url, event.data))
                elif event.event == "message" and event.data:
                    if PartLimit().is_exceeded_by(event.data.encode()):
                        state.fault = TooManyParts()
                        return
                    message = jsonrpc_message_adapter.validate_json(event.data, by_name=False)
                    await received.send(SessionMessage(message))
            state.fault = ConnectionBroken()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the session has ended
    except httpx2.SSEError as error:
        state.fault = ResponseTooLarge() if "exceeded" in str(error) else InvalidResponse()
    except httpx2.StreamError:
        state.fault = ConnectionBroken()
    except ValueError:
        state.fault = InvalidResponse()  # a message without an id that can be read: whose answer it is, is unknown
    finally:
        state.is_ended = True
        if not endpoint.done():
            endpoint.set_exception(_NoEndpoint())


def _checked_endpoint(url: str, endpoint: str) -> str:
    """Return the absolute URL of requests.

    Raises:
        ValueError: it is of another origin, where the key of this source has no business.
    """
    absolute = urljoin(url, endpoint)
    if urlsplit(absolute)[:2] != urlsplit(url)[:2]:
        raise ValueError("the endpoint is of another origin")
    return absolute


class _Posts:
    """The stream of messages to the server: each is one POST, in the context of the task that sends it."""

    def __init__(self, http_client: httpx2.AsyncClient, endpoint: str) -> None:
        self._http_client, self._endpoint = http_client, endpoint

    async def __aenter__(self) -> _Posts:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def send(self, item: SessionMessage) -> None:
        """Send one message. Its answer comes over the stream of events.

        Raises:
            anyio.BrokenResourceError: the server did not accept it; the exchange of this task has the reason.
        """
        content = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace")
        response = await self._http_client.post(
            self._endpoint, content=content, headers={"Content-Type": "application/json"}
        )
        if not response.is_success:
            exchange = current_exchange.get()
            if exchange is not None:
                exchange.has_session = True  # the endpoint names one, which the server may have dropped
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """End nothing: the stream of events is the connection."""
