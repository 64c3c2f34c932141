"""What two servers answered to one request, brought into a form that can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.wire.http import Request, Response
from toolfold.wire.versions import HANDSHAKE, META_VERSION

_DATA_IS_SPECIFIED = (-32021, -32022)
"""Error codes for which the specification says what ``data`` holds; for others it is each server's own."""

_REFUSED_BY_HTTP = (405, 406, 413, 415, 421)
"""Statuses that say it all; the SDK sends a JSON-RPC error with some of them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response without its wording and headers: ``code`` and ``data`` of an error, or ``result``.

    None where there is no JSON-RPC: a refusal by HTTP is its status alone.
    """

    status: int
    code: int | None = None
    id: Any = None
    data: Any = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and both answers."""

    request: Request
    ours: Answer
    theirs: Answer

    @property
    def message(self) -> Any:
        """The JSON in the request's body; None where there is none."""
        return parsed(self.request.body)

    @property
    def codes(self) -> tuple[int | None, int | None]:
        return self.ours.code, self.theirs.code

    @property
    def statuses(self) -> tuple[int, int]:
        return self.ours.status, self.theirs.status

    @property
    def version(self) -> str | None:
        """What ``MCP-Protocol-Version`` says."""
        return self.request.header("mcp-protocol-version")

    @property
    def media_type(self) -> str:
        """``Content-Type`` without its parameters, in small letters."""
        return (self.request.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()

    @property
    def sdk_takes_for_handshake(self) -> bool:
        """The SDK tells the eras apart by this header alone."""
        return self.version is None or self.version in HANDSHAKE

    @property
    def has_envelope(self) -> bool:
        return META_VERSION in self.member("params", "_meta")

    def member(self, *names: str) -> Mapping[str, Any]:
        """An object inside the message, by the names that lead to it; empty where there is none."""
        value = self.message
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}


def answer(response: Response) -> Answer:
    """``response``, ready to be compared."""
    status = int(response.status)
    body = parsed(response.body)
    if not isinstance(body, dict) or status in _REFUSED_BY_HTTP:
        return Answer(status)
    error = body.get("error") or {}
    data = error.get("data") if error.get("code") in _DATA_IS_SPECIFIED else None
    return Answer(status, error.get("code"), body["id"], data, body.get("result"))


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
