"""What a meta-tool returns, before any protocol dresses it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolfold.errors import CallError
from toolfold.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Result(Record):
    """``structured`` is a JSON object that fits the meta-tool's output schema, ``text`` the same for a model."""

    structured: Mapping[str, Any]
    text: str
    is_error: bool = False


def compact(value: Any) -> str:
    """JSON without white space: what a model reads costs tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def failed(error: CallError) -> Result:
    """The result of a call that ended in ``error``."""
    structured = {"error": error.as_dict()}
    return Result(structured, compact(structured), is_error=True)
