"""Decompress a body as it arrives, within limits, and accept only what is complete and undamaged.

urllib3 ignores what it cannot decompress after the first part of gzip data, and returns what it has when compressed
data ends too early. Both look like a complete body.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from toolfold.network.errors import ConnectionBroken, InvalidResponse

CHUNK_BYTES = 16384
"""Decompressed bytes at a time. Between them the caller checks its limits."""

_MAX_ENCODINGS = 2
"""Of three on top of each other, a kilobyte can keep a processor busy for half a minute without a byte of content."""

_MAX_MEMBERS = 10_000
"""Members of gzip data. Programs that write several begin one every 64 KB; 10,000 of those are 640 MB."""

_NOT_ENCODED = ("", "identity", "none", "utf-8")
"""Names that some servers send for a body that is as it is."""

_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS

Chunks = Iterator[bytes]


def decoders(content_encoding: str) -> list[Callable[[Chunks], Chunks]]:
    """Return what decodes a body with this ``Content-Encoding``, in the order of decoding.

    Raises:
        InvalidResponse: There are too many encodings, or one that was not requested.
    """
    names = [name for part in content_encoding.lower().split(",") if (name := part.strip()) not in _NOT_ENCODED]
    if len(names) > _MAX_ENCODINGS or any(name not in _DECODERS for name in names):
        raise InvalidResponse
    return [_DECODERS[name] for name in reversed(names)]


def _gunzip(data: Chunks) -> Chunks:
    """Decompress members until the end of ``data``. Zeros after the last one are padding."""
    members, decoder = 0, None
    for chunk in data:
        rest = chunk
        while rest:
            if decoder is None:
                rest = rest.lstrip(b"\0") if members else rest
                if not rest:
                    break
                members += 1
                if members > _MAX_MEMBERS:
                    raise InvalidResponse
                decoder = zlib.decompressobj(_GZIP)
            yield from _decompress(decoder, rest)
            rest = decoder.unused_data
            if decoder.eof:
                decoder = None
        yield b""
    if decoder is not None:
        raise ConnectionBroken


def _inflate(data: Chunks) -> Chunks:
    """Decompress zlib data or, as some servers send it, the same without its header."""
    decoder = None
    first = b""
    for chunk in data:
        if not chunk:
            yield b""
            continue
        if decoder is None:
            first += chunk
            if len(first) < 2:
                continue
            # RFC 1950, section 2.2: the method is 8, and the first two bytes are a multiple of 31.
            has_header = first[0] & 15 == 8 and (first[0] << 8 | first[1]) % 31 == 0
            decoder, chunk = zlib.decompressobj(_ZLIB if has_header else _RAW), first  # noqa: PLW2901
        elif decoder.eof:
            raise InvalidResponse
        yield from _decompress(decoder, chunk)
        if decoder.unused_data:
            raise InvalidResponse
        yield b""
    if first and (decoder is None or not decoder.eof):
        raise ConnectionBroken


def _decompress(decoder: zlib._Decompress, data: bytes) -> Chunks:
    try:
        while data and not decoder.eof:
            yield decoder.decompress(data, CHUNK_BYTES)
            data = decoder.unconsumed_tail
        # What was buffered when the input ended on a boundary.
        while not decoder.eof and (more := decoder.decompress(b"", CHUNK_BYTES)):
            yield more
    except zlib.error:
        raise InvalidResponse from None


_DECODERS: dict[str, Callable[[Chunks], Chunks]] = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _inflate}
