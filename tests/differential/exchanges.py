"""What two servers answered to one request, brought into a form that can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.protocol.http import Request, Response
from toolfold.protocol.versions import HANDSHAKE, META_VERSION

_DATA_IS_SPECIFIED = (-32021, -32022)
"""Error codes for which the specification says what ``data`` holds; for others it is each server's own."""

_REFUSED_BY_HTTP = (405, 406, 413, 415, 421)
"""Statuses that say it all; the SDK sends a JSON-RPC error with some of them."""


@dataclass(frozen=True, slots=True)
class Said:
    """JSON-RPC without its wording: the ``code`` and ``data`` of an error, or a ``result``; or nothing of it."""

    code: int | None = None
    data: Any = None
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Said):
    """A response without its headers. A refusal by HTTP is its status alone."""

    status: int
    id: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and both answers."""

    request: Request
    ours: Answer
    theirs: Answer

    @property
    def message(self) -> Any:
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
        """An object inside the message, empty where there is none."""
        return member(self.message, *names)


def answer(response: Response) -> Answer:
    """``response``, ready to be compared."""
    status = int(response.status)
    body = parsed(response.body)
    if not isinstance(body, dict) or status in _REFUSED_BY_HTTP:
        return Answer(status=status)
    return Answer(status=status, id=body["id"], **said(body))


def said(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``Said`` in the JSON-RPC response ``body``."""
    error = body.get("error") or {}
    data = error.get("data") if error.get("code") in _DATA_IS_SPECIFIED else None
    return {"code": error.get("code"), "data": data, "result": body.get("result")}


def member(message: Any, *names: str) -> Mapping[str, Any]:
    """An object inside ``message``, by the names that lead to it; empty where there is none."""
    for name in names:
        message = message.get(name) if isinstance(message, dict) else None
    return message if isinstance(message, dict) else {}


def parsed(body: bytes) -> Any:
    """The JSON in ``body``; None where there is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
