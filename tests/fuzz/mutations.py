"""New inputs from old ones: damaged bytes, changed JSON structure, moved headers."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import inputs

_DATA: dict[str, list[str]] = json.loads((Path(__file__).parent / "words.json").read_text())
_WORDS, _HEADERS = _DATA["words"], _DATA["headers"]
_HEADER_VALUES = [*_WORDS, *_DATA["header_values"], "x" * 5000]
_TOKENS = [word.encode() for word in _WORDS] + [
    *(b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"\0", b"\r\n", b"\n\n", b"\n", b":", b'"'),
    *(b"NaN", b"1e999", b"-0", b"1.0", b"9" * 400, b"[" * 1200, b'{"a":' * 300, b"true", b"null", b"[]", b"{}", b","),
]
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 1e308, 10**400, 2**63, "", " ", "x", "é", "\ud800", "\0", "a" * 3000, "["),
    '["CPI"]',
    *([], {}, [[]], {"": None}, ["CPI"] * 25, {"symbol": "IBM"}, '{"symbol": "IBM"}', "{" * 1200, {"a" * 70: 1}),
    *_WORDS,
]


def mutate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Apply one to four changes to ``data``; ``others`` are the inputs that it may be combined with."""
    for _ in range(random.choice((1, 1, 2, 4))):
        data = random.choice(_KINDS)(data, others, random)
    return data


def _bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    to = min(len(data), at + random.choice((1, 1, 2, 8, 64)))
    kind = random.randrange(6)
    if kind == 0:
        return data[:at] + data[to:]
    if kind == 1:
        return data[:at] + data[at:to] * random.choice((2, 2, 3, 50)) + data[to:]
    if kind == 2:
        return data[:at] + random.randbytes(random.choice((1, 2, 4))) + data[to:]
    if kind == 3:
        other = random.choice(others)
        return data[:at] + other[random.randrange(len(other) + 1) :]
    if kind == 4 and at < len(data):
        return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
    return data[:at] + random.choice(_TOKENS) + data[random.choice((at, to)) :]


def _structure(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    head, _, body = data.partition(b"\n\n")
    try:
        value = json.loads(body)
        value = _changed(value, random)
        # Both encodings: escapes can express half of a surrogate pair; without them, letters are bytes.
        body = json.dumps(value, ensure_ascii=random.random() < 0.7).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return data + random.choice(_TOKENS)
    return head + b"\n\n" + body


def _changed(value: Any, random: Random) -> Any:
    """Return ``value`` with one change, mostly in a nested member."""
    if isinstance(value, dict | list) and value and random.random() < 0.85:
        key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        kind = random.randrange(8)
        if kind == 0:
            del value[key]
        elif kind == 1 and isinstance(value, dict):
            value[random.choice(_WORDS)] = value.pop(key)
        elif kind == 2 and isinstance(value, dict):
            value[random.choice(_WORDS)] = random.choice(_VALUES)
        else:
            value[key] = _changed(value[key], random)
        return value
    kind = random.randrange(6)
    if kind == 0:
        return [value] * random.choice((1, 2, 25))
    if kind == 1:
        return {random.choice(_WORDS): value}
    if kind == 2:
        return str(value)
    return random.choice(_VALUES)


def _headers(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    head, _, body = data.partition(b"\n\n")
    if head == inputs.EVENT:
        return _structure(data, others, random)
    method, *lines = head.split(b"\n")
    at = random.randrange(len(lines) + 1)
    kind = random.randrange(5)
    if kind == 0 and at < len(lines):
        del lines[at]
    elif kind == 1 and at < len(lines):
        lines.append(lines[at])
    elif kind == 2 and at < len(lines):
        name = lines[at].partition(b":")[0]
        lines[at] = name + b":" + random.choice(_HEADER_VALUES).encode("latin-1")
    elif kind == 3:
        method = random.choice((b"POST", b"POST", b"GET", b"OPTIONS", b"DELETE", b"", b"post"))
    else:
        line = random.choice(_HEADERS) + ": " + random.choice(_HEADER_VALUES)
        lines.insert(at, line.encode("latin-1"))
    return b"\n".join([method, *lines]) + b"\n\n" + body


_KINDS: list[Callable[[bytes, Sequence[bytes], Random], bytes]] = [_bytes, _structure, _structure, _headers]
