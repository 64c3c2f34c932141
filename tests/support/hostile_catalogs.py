"""Change compiled catalogs as an attacker would, with hashes that fit."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from toolfold.catalog.reader import HASH_DIGITS, parse_head


def with_head(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the catalog ``content`` after ``change`` of its head."""
    line, _, rest = content.partition(b"\n")
    head = parse_head(line)
    change(head)
    return json.dumps(head, ensure_ascii=False).encode("utf-8", "surrogatepass")[:-1] + b"\n" + rest


def with_line(content: bytes, section: str, key: str, value: bytes) -> bytes:
    """Return the catalog ``content`` with ``value``, the bytes of a JSON value, under ``key`` of a section.

    The blocks of the section become one block, whose hash fits.
    """
    line, _, rest = content.partition(b"\n")
    head = parse_head(line)
    first = head["sections"][section][0][1]
    last = head["sections"][section][-1]
    end = last[1] + last[2]
    lines = rest[first:end].rstrip(b"\n").split(b",\n")
    prefix = json.dumps(key, ensure_ascii=False).encode() + b":"
    changed = sorted([other for other in lines if not other.startswith(prefix)] + [prefix + value])
    block = b",\n".join(changed) + b"\n"
    for blocks in head["sections"].values():
        for entry in blocks:
            if entry[1] > first:
                entry[1] += len(block) - (end - first)
    digest = hashlib.sha256(block).hexdigest()[:HASH_DIGITS]
    head["sections"][section] = [[_key_of(changed[0]), first, len(block), digest]]
    rest = rest[:first] + block + rest[end:]
    head["bytes"] = len(rest)
    return json.dumps(head, ensure_ascii=False).encode()[:-1] + b"\n" + rest


def _key_of(line: bytes) -> str:
    key: str = json.JSONDecoder().raw_decode(line.decode(errors="replace"))[0]
    return key
