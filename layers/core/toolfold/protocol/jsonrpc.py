"""The JSON-RPC 2.0 envelope: one message in, one answer out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.protocol.versions import INVALID_REQUEST, PARSE_ERROR

Id = str | int


@dataclass(frozen=True)
class Message:
    """A request (``id`` is set) or a notification (``id`` is None)."""

    method: str
    params: Mapping[str, Any]
    id: Id | None


class JsonRpcError(Exception):
    """A message that is answered with a JSON-RPC error."""

    def __init__(self, code: int, sentence: str, data: Any = None, id_: Id | None = None) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.data, self.id = code, sentence, data, id_


def parse_message(body: bytes) -> Message | None:
    """The message in ``body``; None for a response, which is taken note of and nothing more.

    Raises:
        JsonRpcError: the body is not JSON, or not one JSON-RPC message.
    """
    try:
        data = _decoded(body)
    # ValueError: broken JSON, broken UTF-8, integers of thousands of digits; RecursionError: nesting too deep.
    except (ValueError, RecursionError):
        raise JsonRpcError(PARSE_ERROR, "The body is not valid JSON.") from None
    if not isinstance(data, dict):
        kind = "Batches are not served: send" if isinstance(data, list) else "The body must be"
        raise JsonRpcError(INVALID_REQUEST, f"{kind} one JSON-RPC message as an object.")
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
    # null is how clients in some languages leave a member out.
    params = {} if data.get("params") is None else data["params"]
    if not isinstance(params, dict):
        raise JsonRpcError(INVALID_REQUEST, "params must be an object.", id_=id_)
    return Message(data["method"], params, id_)


class RawJson(str):
    """A value that is JSON already."""

    __slots__ = ()


def result(id_: Id, value: Mapping[str, Any]) -> bytes:
    """The answer to a request that went well. A member of ``value`` may be :class:`RawJson`."""
    members = [f'"{name}":{of if type(of) is RawJson else _json(of)}' for name, of in value.items()]
    shown = _json(id_) if isinstance(id_, str) else id_
    return f'{{"jsonrpc":"2.0","id":{shown},"result":{{{",".join(members)}}}}}'.encode("utf-8", "replace")


def error(rejected: JsonRpcError) -> bytes:
    """The answer to a request that was rejected."""
    detail: dict[str, Any] = {"code": rejected.code, "message": rejected.sentence}
    if rejected.data is not None:
        detail["data"] = rejected.data
    return _json({"jsonrpc": "2.0", "id": rejected.id, "error": detail}).encode("utf-8", "replace")


def _decoded(body: bytes) -> Any:
    text = body.decode().removeprefix("\ufeff")
    data = _JSON.decode(text)
    if "\\u" in text:
        # An escape can be half of a surrogate pair. No UTF-8 spells that: such an id could not be sent back.
        json.dumps(data, ensure_ascii=False).encode()
    return data


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_JSON = json.JSONDecoder(parse_constant=_refused)
"""Python's own takes NaN and Infinity, which are no JSON and would come back as none."""


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _is_response(data: Mapping[str, Any]) -> bool:
    """Whether ``data``, which names no method, answers a request. None is ever sent to a client: what it says is not
    looked at."""
    answered = isinstance(data.get("result"), dict) and _is_id(data.get("id"))
    return answered or ("id" in data and isinstance(data.get("error"), dict))


# RawJson with "replace": a lone surrogate in what an upstream or a caller sent must not break the answer.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
