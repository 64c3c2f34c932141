"""JSON-RPC 2.0 messages: decode what a client sends, encode results and errors (https://www.jsonrpc.org/specification)."""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.protocol.versions import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

Id = str | int

MAX_DEPTH = 100
"""Levels of nesting of a message. Real ones have fewer than ten; code that recurses fails at some 300."""


class Message(NamedTuple):
    """A request, or, where ``id`` is None, a notification."""

    method: str
    params: Mapping[str, Any]
    id: Id | None

    @property
    def meta(self) -> Mapping[str, Any]:
        """Its metadata."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


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
        data = json.loads(body.decode().removeprefix("\ufeff"))
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
    if problem := _find_problem(data, body):
        raise JsonRpcError(PARSE_ERROR, problem, id_=id_)
    if data.get("jsonrpc") != "2.0":
        raise JsonRpcError(INVALID_REQUEST, 'jsonrpc must be "2.0".', id_=id_)
    if "method" not in data and ("result" in data or "error" in data):
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


class JsonText(bytes):
    """A value of a result that is JSON already, in UTF-8."""

    __slots__ = ()


def encode_result(id_: Id, result: Mapping[str, Any]) -> bytes:
    """Encode the response to a request that succeeded. A value that is :class:`JsonText` is copied as it is."""
    try:
        members = [
            _encode(key) + b":" + (value if isinstance(value, JsonText) else _encode(value))
            for key, value in result.items()
        ]
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deep for any client
        error = JsonRpcError(INTERNAL_ERROR, "The answer has a value that JSON cannot express.", id_=id_)
        return encode_error(error)
    return b'{"jsonrpc":"2.0","id":' + _encode(id_) + b',"result":{' + b",".join(members) + b"}}"


def encode_notification(method: str, params: Mapping[str, Any]) -> bytes:
    """Encode a notification."""
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_error(error: JsonRpcError) -> bytes:
    """Encode the response to a request that failed."""
    data = {} if error.data is None else {"data": error.data}
    return _encode({"jsonrpc": "2.0", "id": error.id, "error": {"code": error.code, "message": error.message, **data}})


# Made once: json.dumps makes an encoder at each call that names options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode(message: Any) -> bytes:
    try:
        text = _ENCODER.encode(message)
    except ValueError:  # NaN and infinity, which are not JSON, are null
        text = _ENCODER.encode(json.loads(json.dumps(message), parse_constant=lambda _: None))
    # "replace": a lone surrogate sent by an upstream or a client must not break the response.
    return text.encode("utf-8", "replace")


def _find_problem(data: Any, body: bytes) -> str:
    """Return why ``data``, the JSON in ``body``, could not be sent back, or an empty string."""
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_deeper(data, MAX_DEPTH):
        return f"The body is nested deeper than {MAX_DEPTH} levels."
    try:
        _ENCODER.encode(data).encode()
    except UnicodeEncodeError:
        return "A string in the body has half of a surrogate pair."
    except ValueError:
        return "A number in the body is NaN, or out of range."
    return ""


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and (not levels or any(_is_deeper(each, levels - 1) for each in inner))


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        # Half of a surrogate pair, which UTF-8 cannot encode, could not be sent back.
        return value == value.encode(errors="replace").decode()
    return isinstance(value, int) and not isinstance(value, bool)
