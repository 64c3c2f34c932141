"""Packed bodies: unpacked piece by piece, so that what is made to do harm is found before it does."""

from __future__ import annotations

import time
import zlib

RATIO = 100
"""Prices as JSON shrink to a tenth at best, so what unpacks to a hundredfold, and to over 1 MB, is made to do harm."""

_SMALL = 1_000_000
_PIECE = 65536
_LAYERS = 5
_KNOWN = frozenset({"gzip", "x-gzip", "deflate"})
_ANY, _DEFLATE = 47, -15
"""How zlib is told to expect either of the two headers, or none."""

_GZIP_BEGINS = 0x1F
"""Of two gzip bodies after each other, both count."""


class Undecodable(Exception):
    """It is not packed as it says, or was cut off."""


class TooLarge(Exception):
    """It unpacks to more than is allowed; ``harmful``, when to more than its size explains."""

    def __init__(self, harmful: bool) -> None:
        super().__init__(harmful)
        self.harmful = harmful


def unpack(body: bytearray, encodings: str, limit: int, deadline: float) -> bytearray:
    """``body`` without its ``encodings``, as ``Content-Encoding`` lists them: gzip and deflate, up to five on top of
    each other. Others stay as they are, since nobody asked for them: often what they name is no packing.

    Raises:
        Undecodable: there is no unpacking it.
        TooLarge: one of the layers has more than ``limit`` bytes, or more than its share of them.
        TimeoutError: ``deadline`` has come (``time.monotonic``).
    """
    layers = [name for name in encodings.lower().replace(" ", "").split(",") if name in _KNOWN]
    if len(layers) > _LAYERS:
        raise Undecodable
    most = min(limit, max(_SMALL, len(body) * RATIO))
    for name in reversed(layers):
        body = _one_layer(body, name, most, most < limit, deadline) if body else body
    return body


def _one_layer(body: bytearray, name: str, most: int, harmful: bool, deadline: float) -> bytearray:
    unpacked = bytearray()
    bits = _DEFLATE if name == "deflate" and not _has_zlib_header(body) else _ANY
    decoder = zlib.decompressobj(bits)
    for start in range(0, len(body), _PIECE):
        data, more = bytes(body[start : start + _PIECE]), True
        while more:
            if time.monotonic() >= deadline:
                raise TimeoutError
            if decoder.eof:
                if data[0] != _GZIP_BEGINS:  # what follows the end is none of ours
                    return unpacked
                decoder = zlib.decompressobj(bits)
            try:
                piece = decoder.decompress(data, _PIECE)
            except zlib.error:
                raise Undecodable from None
            unpacked += piece
            if len(unpacked) > most:
                raise TooLarge(harmful)
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            more = bool(data) or (len(piece) == _PIECE and not decoder.eof)
    if not decoder.eof:
        raise Undecodable
    return unpacked


def _has_zlib_header(body: bytearray) -> bool:
    """Whether ``deflate`` means what the standard says, or, as from many servers, the same without its header:
    https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2"""
    return body[0] & 15 == zlib.DEFLATED and (body[0] << 8 | (body[1] if len(body) > 1 else 0)) % 31 == 0
