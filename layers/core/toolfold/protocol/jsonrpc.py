"""JSON-RPC 2.0 messages: decode what a client sends, encode results and errors (https://www.jsonrpc.org/specification)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.protocol.versions import INVALID_REQUEST, PARSE_ERROR

Id = str | int


class Message(NamedTuple):
    """A request, or, where ``id`` is None, a notification."""

    method: str
    params: Mapping[str, Any]
    id: Id | None


class JsonRpcError(Exception):
    """An error to be sent as the answer to a message."""

    def __init__(self, code: int, message: str, data: Any = None, id_: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id_


def parse_message(body: bytes) -> Message | None:
    """Parse one message.

    Returns:
        None for a response: this server sends no requests, so responses are accepted and ignored.

    Raises:
        JsonRpcError: the body is not JSON, or not one JSON-RPC message.
    """
    try:
        data = _decode(body)
    # ValueError: malformed JSON or UTF-8, integers of thousands of digits. RecursionError: nesting too deep.
    except (ValueError, RecursionError):
        raise JsonRpcError(PARSE_ERROR, "The body is not valid JSON.") from None
    if isinstance(data, list):
        raise JsonRpcError(INVALID_REQUEST, "Batches are not supported: send one JSON-RPC message as an object.")
    if not isinstance(data, dict):
        raise JsonRpcError(INVALID_REQUEST, "The body must be one JSON-RPC message as an object.")
    id_ = data.get("id")
    if not _is_id(id_):
        id_ = None
    if data.get("jsonrpc") != "2.0":
        raise JsonRpcError(INVALID_REQUEST, 'jsonrpc must be "2.0".', id_=id_)
    if "method" not in data and _is_response(data):
        return None
    if "id" in data and id_ is None:
        raise JsonRpcError(INVALID_REQUEST, "id must be a string or an integer.")
    if not isinstance(data.get("method"), str):
        raise JsonRpcError(INVALID_REQUEST, "method must be a string.", id_=id_)
    # Clients in some languages send null for a member that they leave out.
    params = {} if data.get("params") is None else data["params"]
    if not isinstance(params, dict):
        raise JsonRpcError(INVALID_REQUEST, "params must be an object.", id_=id_)
    return Message(data["method"], params, id_)


def encode_result(id_: Id, result: Mapping[str, Any]) -> bytes:
    """Encode the response to a request that succeeded."""
    return _encode({"jsonrpc": "2.0", "id": id_, "result": result})


def encode_error(error: JsonRpcError) -> bytes:
    """Encode the response to a request that failed."""
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        detail["data"] = error.data
    return _encode({"jsonrpc": "2.0", "id": error.id, "error": detail})


def _encode(message: Mapping[str, Any]) -> bytes:
    # "replace": a lone surrogate sent by an upstream or a client must not break the response.
    return _ENCODER.encode(message).encode("utf-8", "replace")


# Made once: json.dumps makes an encoder at each call that names options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _decode(body: bytes) -> Any:
    text = body.decode().removeprefix("\ufeff")
    data = _DECODER.decode(text)
    if "\\u" in text:
        # An escape can be half of a surrogate pair, which UTF-8 cannot encode: such an id could not be sent back.
        json.dumps(data, ensure_ascii=False).encode()
    return data


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
"""Python's default accepts NaN and Infinity, which are not JSON and could not be sent back as JSON."""


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _is_response(data: Mapping[str, Any]) -> bool:
    """Return whether ``data``, which has no method, has the members of a response."""
    has_result = isinstance(data.get("result"), dict) and _is_id(data.get("id"))
    return has_result or ("id" in data and isinstance(data.get("error"), dict))
