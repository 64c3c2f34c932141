"""JSON-RPC 2.0 messages: decode what a client sends, encode results and errors (https://www.jsonrpc.org/specification)."""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from toolfold.protocol.versions import INVALID_REQUEST, PARSE_ERROR

Id = str | int

MAX_DEPTH = 100
"""Levels of nesting of a message. Real ones have fewer than ten; code that recurses fails at some 300."""

_MAX_ID_CHARS = 100_000
"""An id is a part of the response, of which a Lambda function returns at most 6 MB, quotes escaped twice."""

_MAX_INTEGER_BITS = 14_000
"""Integers of more than 4,300 digits cannot be written as text in Python."""


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
        data, problem = _decode(body)
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
    if problem:
        raise JsonRpcError(PARSE_ERROR, problem, id_=id_)
    if data.get("jsonrpc") != "2.0":
        raise JsonRpcError(INVALID_REQUEST, 'jsonrpc must be "2.0".', id_=id_)
    if "method" not in data and _is_response(data):
        return None
    if "id" in data and id_ is None:
        limits = f"id must be an integer, or a string of at most {_MAX_ID_CHARS:,} characters."
        raise JsonRpcError(INVALID_REQUEST, limits)
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
    """Encode the response to a request that succeeded. A list of tools that is :class:`JsonText` is copied as it is."""
    if isinstance(result.get("tools"), JsonText):
        members = b",".join(
            _encode(key) + b":" + (value if isinstance(value, JsonText) else _encode(value))
            for key, value in result.items()
        )
        return b'{"jsonrpc":"2.0","id":' + _encode(id_) + b',"result":{' + members + b"}}"
    return _encode({"jsonrpc": "2.0", "id": id_, "result": result})


def encode_notification(method: str, params: Mapping[str, Any]) -> bytes:
    """Encode a notification."""
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_error(error: JsonRpcError) -> bytes:
    """Encode the response to a request that failed."""
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        detail["data"] = error.data
    return _encode({"jsonrpc": "2.0", "id": error.id, "error": detail})


def _encode(message: Any) -> bytes:
    try:
        text = _ENCODER.encode(message)
    except (ValueError, RecursionError):
        # NaN, infinity, an integer of thousands of digits, nesting too deep: not JSON, or not JSON that clients read.
        text = _ENCODER.encode(_sendable(message, MAX_DEPTH))
    # "replace": a lone surrogate sent by an upstream or a client must not break the response.
    return text.encode("utf-8", "replace")


# Made once: json.dumps makes an encoder at each call that names options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _sendable(value: Any, depth: int) -> Any:
    """Return ``value`` with null in place of what JSON cannot express, or what is nested deeper than ``depth``."""
    if isinstance(value, dict | list | tuple) and not depth:
        return None
    if isinstance(value, dict):
        return {str(key): _sendable(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(inner, depth - 1) for inner in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return None
    return value


class _OutOfRange(ValueError):
    """A number is larger than any that is represented."""


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise _OutOfRange
    return number


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# Python's default accepts NaN and Infinity, which are not JSON and could not be sent back as JSON.
_DECODER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite)
_LENIENT_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _decode(body: bytes) -> tuple[Any, str]:
    """Return the JSON in ``body``, and why it is refused nevertheless, or an empty string."""
    text = body.decode().removeprefix("\ufeff")
    try:
        data = _DECODER.decode(text)
    except _OutOfRange:
        return _LENIENT_DECODER.decode(text), "A number in the body is out of range."
    # An escape can be half of a surrogate pair, which UTF-8 cannot encode. Most bodies have none, and few brackets.
    may_have_surrogates = "\\u" in text
    if may_have_surrogates or text.count("[") + text.count("{") > MAX_DEPTH:
        return data, _find_problem(data, may_have_surrogates)
    return data, ""


def _find_problem(data: Any, may_have_surrogates: bool) -> str:
    """Return what is wrong with ``data``, level by level, or an empty string."""
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif may_have_surrogates and isinstance(value, str) and not _is_encodable(value):
                return "A string in the body has half of a surrogate pair."
        if not inner:
            return ""
        level = inner
    return f"The body is nested deeper than {MAX_DEPTH} levels."


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_ID_CHARS and _is_encodable(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_response(data: Mapping[str, Any]) -> bool:
    if _is_id(data.get("id")) and isinstance(data.get("result"), dict):
        return True
    # An error whose request could not be read has the id null (JSON-RPC 2.0, 5).
    if "id" not in data or not (data["id"] is None or _is_id(data["id"])):
        return False
    error = data.get("error")  # which has a code and a message (5.1)
    return isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
