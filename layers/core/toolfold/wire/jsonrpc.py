"""The JSON-RPC 2.0 envelope: one message in, one answer out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.wire.versions import INVALID_REQUEST, PARSE_ERROR

Id = str | int


@dataclass(frozen=True, slots=True)
class Message:
    """A request (``id`` is set) or a notification (``id`` is None)."""

    method: str
    params: Mapping[str, Any]
    id: Id | None


class Rejected(Exception):
    """A message that is answered with a JSON-RPC error."""

    def __init__(self, code: int, sentence: str, data: Any = None, id_: Id | None = None) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.data, self.id = code, sentence, data, id_


def read(body: bytes) -> Message | None:
    """The message in ``body``; None for a response, which is taken note of and nothing more.

    Raises:
        Rejected: the body is not JSON, or not one JSON-RPC message.
    """
    try:
        data = json.loads(body)
    # ValueError: broken JSON, broken UTF-8, integers of thousands of digits; RecursionError: nesting too deep.
    except (ValueError, RecursionError):
        raise Rejected(PARSE_ERROR, "The body is not valid JSON.") from None
    if not isinstance(data, dict):
        kind = "Batches are not served: send" if isinstance(data, list) else "The body must be"
        raise Rejected(INVALID_REQUEST, f"{kind} one JSON-RPC message as an object.")
    id_ = data.get("id")
    if not _is_id(id_):
        id_ = None
    if data.get("jsonrpc") != "2.0":
        raise Rejected(INVALID_REQUEST, 'jsonrpc must be "2.0".', id_=id_)
    if "method" not in data and ("result" in data or "error" in data):
        return None
    if "id" in data and id_ is None:
        raise Rejected(INVALID_REQUEST, "id must be a string or an integer.")
    if not isinstance(data.get("method"), str):
        raise Rejected(INVALID_REQUEST, "method must be a string.", id_=id_)
    params = data.get("params", {})
    if not isinstance(params, dict):
        raise Rejected(INVALID_REQUEST, "params must be an object.", id_=id_)
    return Message(data["method"], params, id_)


def result(id_: Id, value: Mapping[str, Any]) -> bytes:
    """The answer to a request that went well."""
    return _encoded({"jsonrpc": "2.0", "id": id_, "result": value})


def error(rejected: Rejected) -> bytes:
    """The answer to a request that was rejected."""
    detail: dict[str, Any] = {"code": rejected.code, "message": rejected.sentence}
    if rejected.data is not None:
        detail["data"] = rejected.data
    return _encoded({"jsonrpc": "2.0", "id": rejected.id, "error": detail})


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _encoded(value: Mapping[str, Any]) -> bytes:
    # "replace": a lone surrogate in what an upstream or a caller sent must not break the answer.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
