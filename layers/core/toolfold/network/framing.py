"""HTTP/1.1 responses as RFC 9112 frames them: status line, fields, length of the body, chunks. Pure functions, no I/O.

http.client accepts what the RFC forbids: a length of ``6_2``, ``+5`` or ``-1``, two lengths, a length beside chunks,
lines that are no fields and end the head. Each makes a body shorter than the one that was sent, and a shorter body may
look complete. Here they are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from toolfold.network.errors import InvalidResponse

MAX_HEADER_BYTES = 16384
"""Bytes of one response's status lines and fields, with interim responses and trailers. As in Node."""

MAX_FIELDS = 100
"""Fields of one head, as in http.client."""

# https://www.rfc-editor.org/rfc/rfc9112#section-4: the reason may be missing, with the space before it.
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
# https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 (token) and #section-5.5 (value)
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_FOLDED = re.compile(rb"[\t ]([\t\x20-\x7e\x80-\xff]*)")
# https://www.rfc-editor.org/rfc/rfc9112#section-7.1, with at most 60 bits
_CHUNK_SIZE = re.compile(rb"0*([0-9A-Fa-f]{1,15})[\t ]*(;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_LENGTH = re.compile(r"[0-9]{1,18}")


class BodyEnd(Enum):
    """How the end of a body is marked that has no length in the head."""

    CHUNKS = "the last chunk"
    CLOSE = "the end of the connection"


class StatusLine(NamedTuple):
    """The first line of a response.

    Attributes:
        version: 10 or 11, as http.client writes it.
        status: Three digits; those over 599 are no status, and are passed on for the caller to refuse.
        reason: May be empty.
    """

    version: int
    status: int
    reason: str


def parse_status_line(line: bytes) -> StatusLine:
    """Return the parts of a status line."""
    found = _STATUS_LINE.fullmatch(_without_line_end(line))
    if found is None:
        raise InvalidResponse
    reason = (found[3] or b"").decode("latin-1").strip()
    # A higher minor version is processed as the highest known one: RFC 9110, section 2.5.
    return StatusLine(10 if found[1] == b"0" else 11, int(found[2]), reason)


def parse_fields(lines: Iterable[bytes]) -> list[tuple[str, str]]:
    """Return the names and values of a head or a trailer, whose empty last line is not among ``lines``."""
    fields: list[tuple[str, str]] = []
    for line in lines:
        text = _without_line_end(line)
        if found := _FIELD.fullmatch(text):
            fields.append((found[1].decode("ascii"), found[2].decode("latin-1").strip("\t ")))
        elif fields and (found := _FOLDED.fullmatch(text)):
            # A line break inside a value becomes a space: RFC 9112, section 5.2.
            name, value = fields[-1]
            fields[-1] = name, " ".join((value, found[1].decode("latin-1").strip("\t "))).strip("\t ")
        else:
            raise InvalidResponse
        if len(fields) > MAX_FIELDS:
            raise InvalidResponse
    return fields


def body_end(method: str, status_line: StatusLine, fields: Iterable[tuple[str, str]]) -> int | BodyEnd:
    """Return the length of the body in bytes, or what marks its end: RFC 9112, section 6.3.

    Raises:
        InvalidResponse: The head contradicts itself, so the end of the body is not known.
    """
    lengths = _values(fields, "content-length")
    codings = _values(fields, "transfer-encoding")
    if any(not _LENGTH.fullmatch(length) for length in lengths) or len({int(length) for length in lengths}) > 1:
        raise InvalidResponse
    if codings and (lengths or status_line.version < 11 or [coding.lower() for coding in codings] != ["chunked"]):
        raise InvalidResponse
    if method == "HEAD" or status_line.status in (204, 304):
        return 0
    if codings:
        return BodyEnd.CHUNKS
    return int(lengths[0]) if lengths else BodyEnd.CLOSE


def is_last_response(status_line: StatusLine, fields: Iterable[tuple[str, str]]) -> bool:
    """Return whether the connection ends after this response: RFC 9112, section 9.3."""
    options = {option.lower() for option in _values(fields, "connection")}
    return "close" in options or (status_line.version < 11 and "keep-alive" not in options)


class ChunkSize(NamedTuple):
    """The line before a chunk.

    Attributes:
        size: Bytes of the chunk; 0 for the last.
        extension_bytes: Bytes of the line that say nothing.
    """

    size: int
    extension_bytes: int


def parse_chunk_size(line: bytes) -> ChunkSize:
    """Return what the line before a chunk says."""
    found = _CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise InvalidResponse
    return ChunkSize(int(found[1], 16), len(line) - 2 - len(found[1]))


def _values(fields: Iterable[tuple[str, str]], name: str) -> list[str]:
    """Return the members of a list that may be spread over several fields; empty ones too, which no length may be."""
    return [member.strip("\t ") for field, value in fields if field.lower() == name for member in value.split(",")]


def _without_line_end(line: bytes) -> bytes:
    # A line feed alone ends a line, too: RFC 9112, section 2.2.
    return line[:-2] if line.endswith(b"\r\n") else line[:-1]
