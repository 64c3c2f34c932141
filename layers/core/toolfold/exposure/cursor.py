"""Cursors of ``tools/list``: which list a page belongs to, and where it begins.

A cursor has a hash of the catalog, the profile and its mode, and an offset. A cursor of another catalog or profile is
not valid: the client starts again.
"""

from __future__ import annotations

import re

__all__ = ["PAGE_SIZE", "decode_cursor", "encode_cursor", "list_id"]

PAGE_SIZE = 100
"""Definitions of a page: some 25,000 tokens, and 100 kB."""

_HASH_DIGITS = 16
_CURSOR = re.compile(r"([0-9a-f]{16})\.([1-9][0-9]{0,8})")


def list_id(*parts: str) -> str:
    """Return the hash that names a list, from everything that its entries depend on."""
    import hashlib  # loads a compiled library, which a list of one page does not need

    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_HASH_DIGITS]


def encode_cursor(list_hash: str, offset: int) -> str:
    """Return the cursor of the page that begins at ``offset``.

    Example:
        >>> encode_cursor("0123456789abcdef", 100)
        '0123456789abcdef.100'
    """
    return f"{list_hash}.{offset}"


def decode_cursor(cursor: object, list_hash: str, entries: int) -> int | None:
    """Return the offset in ``cursor``, or None for one that no page of this list has returned.

    Args:
        cursor: As the client sent it.
        list_hash: Of the list that is requested.
        entries: How many entries it has.
    """
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or match[1] != list_hash:
        return None
    offset = int(match[2])
    return offset if offset % PAGE_SIZE == 0 and offset < entries else None
