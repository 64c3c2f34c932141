"""Responses of two servers to one request, in a form that can be compared."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.protocol.http import Request, Response
from toolfold.protocol.public_documents import ABOUT
from toolfold.protocol.versions import HANDSHAKE, META_SERVER, META_VERSION

_DATA_IS_SPECIFIED = (-32021, -32022)
"""Error codes whose ``data`` is specified; for others each server chooses its own."""

_REFUSED_BY_HTTP = (405, 406, 413, 415, 421)
"""Statuses that are compared without a body; the SDK sends a JSON-RPC error with some of them."""


_DURATIONS = ("elapsed_ms", "upstream_ms")
"""Members of the result of a call that no two calls have in common."""


@dataclass(frozen=True, slots=True)
class RpcOutcome:
    """A JSON-RPC response without its wording: ``code`` and ``data`` of an error, or a ``result``."""

    code: int | None = None
    data: Any = None
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOutcome(RpcOutcome):
    """An HTTP response without its headers. For a refusal by HTTP only the status counts."""

    status: int
    id: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and both outcomes."""

    request: Request
    ours: HttpOutcome
    theirs: HttpOutcome

    @property
    def message(self) -> Any:
        return parse_json(self.request.body)

    @property
    def codes(self) -> tuple[int | None, int | None]:
        return self.ours.code, self.theirs.code

    @property
    def statuses(self) -> tuple[int, int]:
        return self.ours.status, self.theirs.status

    @property
    def version(self) -> str | None:
        """The value of ``MCP-Protocol-Version``."""
        return self.request.header("mcp-protocol-version")

    @property
    def media_type(self) -> str:
        """``Content-Type`` without its parameters, in lower case."""
        return (self.request.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()

    @property
    def sdk_takes_for_handshake(self) -> bool:
        """Whether the SDK uses the handshake era: it decides by this header alone."""
        return self.version is None or self.version in HANDSHAKE

    @property
    def has_envelope(self) -> bool:
        return META_VERSION in self.member("params", "_meta")

    def member(self, *names: str) -> Mapping[str, Any]:
        """Return an object inside the message, or an empty one."""
        return member(self.message, *names)


def outcome(response: Response) -> HttpOutcome:
    """Return the comparable part of ``response``."""
    status = int(response.status)
    body = parse_json(response.body)
    if not isinstance(body, dict) or status in _REFUSED_BY_HTTP:
        return HttpOutcome(status=status)
    return HttpOutcome(status=status, id=body["id"], **rpc_fields(body))


def rpc_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``RpcOutcome`` of the JSON-RPC response ``body``."""
    error = body.get("error") or {}
    data = error.get("data") if error.get("code") in _DATA_IS_SPECIFIED else None
    return {"code": error.get("code"), "data": data, "result": _without_appearance(body.get("result"))}


def _without_appearance(result: Any) -> Any:
    """Return a result without what differs between two equal calls.

    A server has a name, a title and a version: toolfold says more of itself in some of them. A call has no duration.
    """
    if not isinstance(result, dict):
        return result
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        result["structuredContent"] = {key: value for key, value in structured.items() if key not in _DURATIONS}
    for holder, name in ((result, "serverInfo"), (result.get("_meta", {}), META_SERVER)):
        if isinstance(holder, dict) and isinstance(holder.get(name), dict):
            holder[name] = {key: value for key, value in holder[name].items() if key not in ABOUT or key == "title"}
    return result


def member(message: Any, *names: str) -> Mapping[str, Any]:
    """Return the object inside ``message`` at this path of names, or an empty one."""
    for name in names:
        message = message.get(name) if isinstance(message, dict) else None
    return message if isinstance(message, dict) else {}


def parse_json(body: bytes) -> Any:
    """Return the JSON in ``body``, or None where it is not valid."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
