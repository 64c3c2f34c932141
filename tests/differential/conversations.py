"""What two servers say over stdio to the same lines: ours, and the SDK's with the same three tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BytesIO
from types import TracebackType
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp.server.stdio import stdio_server

from tests.differential import peer
from tests.differential.exchanges import Said, member, parsed, said
from tests.support.mcp_requests import message
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import HANDSHAKE, META_CAPABILITIES, META_VERSION, STATELESS
from toolfold.transports.stdio import StdioSession

_HELLO = {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
_ENVELOPE = {META_VERSION: STATELESS[-1], META_CAPABILITIES: {}}
_TURNS = 60
"""Of the event loop. The longest way to an answer takes some twenty."""

_FIRST = "the first request"

OPENINGS: dict[str, tuple[bytes, ...]] = {
    "handshake": (
        json.dumps(message("initialize", _HELLO, _FIRST)).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ),
    "stateless": (json.dumps(message("server/discover", {"_meta": _ENVELOPE}, _FIRST)).encode(),),
    "none": (),
}
"""How a client begins."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A line and what both said to it."""

    line: bytes
    ours: Said
    theirs: Said

    @property
    def message(self) -> Any:
        return parsed(self.line)

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


class Both:
    """Both servers, as a context manager. ``hear`` says one line to each, after an opening."""

    def __init__(self, tools: MetaTools) -> None:
        self._ours, self._theirs = Server(tools), peer.server(tools)
        self._open = ExitStack()

    def __enter__(self) -> Both:
        self._portal = self._open.enter_context(start_blocking_portal())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def hear(self, opening: str, line: bytes) -> Heard:
        """What ours says to ``line`` after any opening, and theirs after the one of the line's own era."""
        it = Heard(line, _answered(line, say(self._ours, *OPENINGS[opening], line)), Said())
        theirs = self._portal.call(_converse, self._theirs, [*OPENINGS[it.era], line])
        return replace(it, theirs=_answered(line, theirs))


def say(server: Server, *lines: bytes) -> list[dict[str, Any]]:
    """What our server answers to ``lines``, in the order in which it does."""
    outgoing = BytesIO()
    StdioSession(server, drain_timeout_s=20).serve(BytesIO(b"".join(line + b"\n" for line in lines)), outgoing)
    return [json.loads(one) for one in outgoing.getvalue().split(b"\n")[:-1]]


async def _converse(server: Any, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    answers: list[str] = []

    class Stdin:
        async def __aiter__(self) -> AsyncIterator[str]:
            for line in lines:
                yield line.decode(errors="replace") + "\n"
                # At the end of stdin the SDK drops what it has not answered yet.
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


def _answered(line: bytes, answers: Sequence[dict[str, Any]]) -> Said:
    later = [answer for answer in answers if answer["id"] != _FIRST]
    if not later:
        return Said()
    (answer,) = later
    sent = parsed(line)
    assert sent is None or answer["id"] == sent["id"]
    return Said(**said(answer))
