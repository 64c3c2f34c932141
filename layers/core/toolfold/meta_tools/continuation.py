"""Tokens for the rest of a batch or a pipe whose time was over.

A token has everything in it: the meta-tool, its arguments, which catalog they were read with, and for which caller.
It is compressed JSON with a checksum; its content is checked like any request, so that a forged one can do no more
than the same arguments sent openly. A token with calls that may change something is signed, and used once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.errors import ApprovalUnavailable, CallError
from toolfold.execution.credentials import principal_id
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.reader import read_call, read_values
from toolfold.meta_tools.result import dumps_compact

if TYPE_CHECKING:
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.meta_tools.call import Item
    from toolfold.meta_tools.dispatcher import MetaRequest

_VERSION = 2
_MAX_CHARS = 16_000
"""Characters of a token: a model has to repeat it."""

_MAX_BYTES = 1_000_000
"""Bytes of a decompressed token: fifty calls with the longest arguments that a token can hold."""

_CHECKSUM_CHARS, _CATALOG_CHARS = 8, 16


def issue(request: MetaRequest, tool: str, arguments: Mapping[str, Any], items: Sequence[Item]) -> str | None:
    """Return the token for the rest of a request; None where it is too long, or its writes cannot be signed."""
    arguments = {name: value for name, value in arguments.items() if name not in ("continue", "approval_token")}
    payload: dict[str, Any] = {
        "v": _VERSION,
        "tool": tool,
        "catalog": request.catalog.fingerprint[:_CATALOG_CHARS],
        "caller": caller_id(request.credentials),
        "arguments": arguments,
    }
    if not all(item.is_read for item in items):
        try:
            payload["once"] = request.tools.executor.services.approvals.sign_once(dumps_compact(payload))
        except ApprovalUnavailable:
            return None
    text = dumps_compact(payload)
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode().rstrip("=")
    token = f"{packed}.{_checksum(packed)}"
    return token if len(token) <= _MAX_CHARS else None


def resume(request: MetaRequest, tool: str) -> dict[str, Any]:
    """Return the arguments of a request: its own, or those of the token in ``continue``.

    Raises:
        InvalidArguments: the token is damaged, of another catalog, caller or meta-tool, or was used before.
    """
    arguments = dict(request.arguments)
    token = arguments.pop("continue", None)
    if token is None:
        return arguments
    payload = _decode(token) if isinstance(token, str) else None
    if payload is None:
        raise _refused(tool, "is damaged")
    if payload["tool"] != tool:
        raise _refused(tool, f"is one of {payload['tool'] if payload['tool'] in _TOOLS else 'another tool'}")
    if payload["catalog"] != request.catalog.fingerprint[:_CATALOG_CHARS]:
        raise _refused(tool, "was made with another catalog, whose tools may differ")
    if not hmac.compare_digest(str(payload["caller"]), caller_id(request.credentials)):
        raise _refused(tool, "is one of another caller")
    read_only = _reads_only(request, payload["arguments"])
    once = payload.pop("once", None)
    if not read_only:
        approvals, text = request.tools.executor.services.approvals, dumps_compact(payload)
        try:
            is_first_use = isinstance(once, str) and approvals.use_once(once, text)
        except ApprovalUnavailable:
            is_first_use = False
        if not is_first_use:
            raise _refused(tool, "has calls that change something, and was used before, has expired, or is not signed")
    given = {**payload["arguments"], **arguments}
    done = given.pop("done", 0)
    return {**read_values(request.catalog, tool, given), "done": done}


_TOOLS = ("TOOL_BATCH", "TOOL_PIPE")


def _decode(token: str) -> dict[str, Any] | None:
    packed, _, checksum = token.strip().partition(".")
    if len(token) > _MAX_CHARS or checksum != _checksum(packed):
        return None
    try:
        decompress = zlib.decompressobj()
        raw = decompress.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), _MAX_BYTES)
        payload = json.loads(raw) if decompress.eof else None
    except (ValueError, RecursionError, zlib.error):
        return None
    known = {"tool": str, "catalog": str, "caller": str, "arguments": dict}
    if not isinstance(payload, dict) or any(not isinstance(payload.get(key), type_) for key, type_ in known.items()):
        return None
    return payload if payload.get("v") == _VERSION else None


def _checksum(packed: str) -> str:
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()[:_CHECKSUM_CHARS]


def _reads_only(request: MetaRequest, arguments: Mapping[str, Any]) -> bool:
    """Return whether all calls in ``arguments`` change nothing; one that cannot be read is not performed either."""
    listed = arguments.get("calls", arguments.get("steps"))
    for item in listed if isinstance(listed, list) else ():
        try:
            call = read_call(request.catalog, {key: value for key, value in item.items() if key not in ("id", "as")})
        except (CallError, AttributeError):
            continue
        tool = request.catalog.get(call["tool_name"])
        if tool is not None and not tool.only_reads:
            return False
    return True


def caller_id(credentials: RequestCredentials) -> str:
    """Return the caller as a token names it: a hash of its principal, or of the keys in its request."""
    principal = principal_id(credentials, b"toolfold continue")
    return hashlib.sha256(principal.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _refused(tool: str, problem: str) -> Exception:
    return invalid(tool, f"the token in continue {problem}", "Send the remaining calls again; nothing was sent.")
