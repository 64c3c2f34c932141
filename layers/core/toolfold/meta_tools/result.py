"""What a meta-tool returns, before any protocol dresses it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolfold.errors import CallError


class Result:
    """``structured`` is a JSON object that fits the meta-tool's output schema, ``text`` the same for a model.

    ``as_json`` is ``structured`` as JSON, for whoever has it at hand.
    """

    __slots__ = ("_as_json", "_text_as_json", "is_error", "structured", "text")

    def __init__(self, structured: Mapping[str, Any], text: str, is_error: bool = False, as_json: str = "") -> None:
        self.structured, self.text, self.is_error = structured, text, is_error
        self._as_json, self._text_as_json = as_json, ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return (self.structured, self.text, self.is_error) == (other.structured, other.text, other.is_error)

    __hash__ = None  # type: ignore[assignment]  # what is structured has none either

    def as_json(self) -> tuple[str, str]:
        """``structured`` and ``text`` as JSON. Made once: there are results that are given again and again."""
        self._as_json = self._as_json or compact(self.structured)
        self._text_as_json = self._text_as_json or compact(self.text)
        return self._as_json, self._text_as_json


# One for all: json.dumps makes another each time that it is asked for less than everything.
compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""JSON without white space: what a model reads costs tokens."""


def failed(error: CallError) -> Result:
    """The result of a call that ended in ``error``."""
    structured = {"error": error.as_dict()}
    return Result(structured, compact(structured), is_error=True)
