"""Responses of two servers over stdio to the same lines: ours, and the SDK's with the same three tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp.server.stdio import stdio_server

from tests.differential import peer
from tests.differential.exchanges import RpcOutcome, member, parse_json, rpc_fields
from tests.support.mcp_requests import message
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import HANDSHAKE, META_CAPABILITIES, META_VERSION, STATELESS
from toolfold.transports.stdio import StdioSession

_HELLO = {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
_ENVELOPE = {META_VERSION: STATELESS[-1], META_CAPABILITIES: {}}
_TURNS = 60
"""Turns of the event loop for one line. The slowest response takes some twenty."""

_FIRST = "the first request"

OPENINGS: dict[str, tuple[bytes, ...]] = {
    "handshake": (
        json.dumps(message("initialize", _HELLO, _FIRST)).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ),
    "stateless": (json.dumps(message("server/discover", {"_meta": _ENVELOPE}, _FIRST)).encode(),),
    "none": (),
}
"""The first lines of a client."""


@dataclass(frozen=True, slots=True)
class StdioExchange:
    """A line and the outcome of both servers."""

    line: bytes
    ours: RpcOutcome
    theirs: RpcOutcome

    @property
    def message(self) -> Any:
        return parse_json(self.line)

    @property
    def method(self) -> Any:
        return member(self.message).get("method")

    @property
    def params(self) -> Mapping[str, Any]:
        return member(self.message, "params")

    @property
    def meta(self) -> Mapping[str, Any]:
        return member(self.params, "_meta")

    @property
    def era(self) -> str:
        return "stateless" if META_VERSION in self.meta and self.method != "initialize" else "handshake"


class ServerPair:
    """Both servers, as a context manager."""

    def __init__(self, tools: MetaTools) -> None:
        self._ours, self._theirs = Server(tools), peer.server(tools)
        self._open = ExitStack()

    def __enter__(self) -> ServerPair:
        self._portal = self._open.enter_context(start_blocking_portal())
        return self

    def __exit__(self, *raised: Any) -> None:
        self._open.__exit__(*raised)

    def exchange(self, opening: str, line: bytes) -> StdioExchange:
        """Send ``line`` to our server after ``opening``, and to the SDK's after the opening of the line's own era."""
        it = StdioExchange(line, _outcome(line, run_session(self._ours, *OPENINGS[opening], line)), RpcOutcome())
        theirs = self._portal.call(_run_sdk_session, self._theirs, [*OPENINGS[it.era], line])
        return replace(it, theirs=_outcome(line, theirs))


def run_session(server: Server, *lines: bytes) -> list[dict[str, Any]]:
    """Return our server's responses to ``lines``, in its order."""
    outgoing = BytesIO()
    StdioSession(lambda: server, drain_timeout_s=20).serve(BytesIO(b"".join(line + b"\n" for line in lines)), outgoing)
    return [json.loads(one) for one in outgoing.getvalue().split(b"\n")[:-1]]


async def _run_sdk_session(server: Any, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    answers: list[str] = []

    class Stdin:
        async def __aiter__(self) -> AsyncIterator[str]:
            for line in lines:
                yield line.decode(errors="replace") + "\n"
                # At the end of stdin the SDK drops requests without a response.
                for _ in range(_TURNS):
                    await anyio.sleep(0)

    class Stdout:
        async def write(self, text: str) -> None:
            answers.append(text)

        async def flush(self) -> None: ...

    stdin: Any = Stdin()
    stdout: Any = Stdout()
    async with stdio_server(stdin, stdout) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
    return [json.loads(text) for text in answers]


def _outcome(line: bytes, answers: Sequence[dict[str, Any]]) -> RpcOutcome:
    # A notification has no id.
    later = [answer for answer in answers if answer.get("id", _FIRST) != _FIRST]
    if not later:
        return RpcOutcome()
    (answer,) = later
    sent = parse_json(line)
    assert sent is None or answer["id"] == sent["id"]
    return RpcOutcome(**rpc_fields(answer))
