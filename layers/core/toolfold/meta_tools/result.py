"""A call of a meta-tool in the documented form, with what performs it, and its result: independent of any protocol."""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.errors import CallError
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from toolfold.wording import Reader

# One encoder for all calls: json.dumps makes one at each call that names options.
dumps_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Encode a value as JSON without white space, which would cost a model tokens."""


def to_text(value: Any) -> str:
    """Return a value as JSON in one line; characters that break lines, move a cursor or are invisible as escapes."""
    return safe_line(dumps_compact(value))


def safe_line(text: str) -> str:
    """Return text of a catalog or an error in one line; see :mod:`toolfold.text_safety`."""
    if text.isascii() and text.isprintable():
        return text

    return escape_unsafe(" ".join(text.split("\n")))


class Result(NamedTuple):
    """What a meta-tool returns.

    Attributes:
        structured: a JSON object that fits the meta-tool's output schema.
        text: the same for a model.
        is_error: whether the call failed; then ``structured`` is ``{"error": {"code", "message", "suggestion", …}}``.
        usage: figures for the log: see :func:`toolfold.meta_tools.dispatcher.usage_of`.
        blocks: further content blocks of MCP, which follow the text.
        errors: those in the result, in order, for who words them for another reader.
        answered: requests of a call that have their answer, where the same call again would get further: its time is
            over, and nothing in it may not be repeated. None: the result is complete.
    """

    structured: Mapping[str, Any]
    text: str
    is_error: bool = False
    usage: Mapping[str, int] = MappingProxyType({})
    blocks: Sequence[Mapping[str, Any]] = ()
    errors: Sequence[CallError] = ()
    answered: int | None = None


def error_result(error: CallError, reader: "Reader | None" = None) -> Result:
    """Return the result of a call that ended in ``error``."""
    structured = {"error": error.as_dict(reader)}
    return Result(structured, to_text(structured), is_error=True, errors=(error,))


def error_text(error: CallError, reader: "Reader | None") -> str:
    """Return an error as a line of text: without the schema, which TOOL_GET returns and which the problems quote."""
    return to_text({"error": {key: value for key, value in error.as_dict(reader).items() if key != "schema"}})


def repeated_by(error: CallError, how: str) -> CallError:
    """Return ``error`` with ``how`` as the way to repeat the call after an approval."""
    step = error.next_step
    return error if isinstance(step, str) else error.changed(next_step=step.filled(repeat=how))


WRITE = "TOOL_CALL_WRITE"
"""TOOL_CALL for tools that change data as well. Every catalog accepts it; those with such tools list it."""


class MetaCall(NamedTuple):
    """A call of a meta-tool, with the arguments of :data:`.definitions.TOOLS` and no others."""

    name: str
    arguments: Mapping[str, Any]
