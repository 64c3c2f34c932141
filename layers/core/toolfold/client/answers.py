"""What the methods of a client return and raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolfold.errors import CALL_ERRORS, CallError, ToolfoldError


@dataclass(frozen=True)
class Answer:
    """The answer of a meta-tool.

    Attributes:
        text: What a model reads.
        structured: The same for a program; its keys are documented with each meta-tool.
        blocks: Further content blocks of MCP: images, audio, resources, further text.
    """

    text: str
    structured: Mapping[str, Any] = field(repr=False)
    blocks: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def result(self) -> Any:
        """The data of a call: a value, or ``{"columns", "rows", "row_count"}`` of a table; None for other answers."""
        return self.structured.get("result")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a table as objects; empty for an answer that is not one table."""
        result = self.result
        if not (isinstance(result, Mapping) and "columns" in result and "rows" in result):
            return []
        return [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that ``list`` and ``get`` found."""
        return list(self.structured.get("tools", ()))

    @property
    def results(self) -> list[dict[str, Any]]:
        """The parts of a batch or a pipe, each with ``ok`` and ``result`` or ``error``."""
        return list(self.structured.get("results", self.structured.get("steps", ())))

    @property
    def notes(self) -> list[str]:
        """What the answer lacks of what was requested, and what was assumed."""
        return list(self.structured.get("notes", ()))

    @property
    def is_preview(self) -> bool:
        """Whether the answer is shortened to the limit of tokens."""
        return "preview" in self.structured


class ClientError(ToolfoldError):
    """A server that cannot be reached, or that does not answer as MCP says; or a request that cannot be signed.

    Attributes:
        status: The HTTP status; 0 without one.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class OtherCallError(CallError):
    """An error with a code that this version of the client does not have; ``code`` is that of the server."""

    def __init__(self, code: str, message: str, suggestion: str, **details: Any) -> None:
        super().__init__(message, suggestion, **details)
        vars(self)["code"] = code  # of this error alone


def to_error(error: Mapping[str, Any]) -> CallError:
    """Return the exception for the ``error`` object of an answer, of the class that has its code."""
    details = {str(key): value for key, value in error.items() if key not in ("code", "message", "suggestion")}
    code, message, suggestion = (str(error.get(key, "")) for key in ("code", "message", "suggestion"))
    known = CALL_ERRORS.get(code)
    if known is None:
        return OtherCallError(code, message, suggestion, **details)
    return known(message, suggestion, **details)
