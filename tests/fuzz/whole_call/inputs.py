"""File format of an input: JSON that a person can read and change."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

CORPUS = Path(__file__).parent.parent / "calls"

WORDS: dict[str, list[Any]] = json.loads((Path(__file__).parent / "words.json").read_text())
"""What inputs are made of: keys, options, values, headers, and texts that are hard to parse."""

MAX_BODY_BYTES = 400_000
"""Larger bodies are cut: what is quadratic shows with these, and an input takes milliseconds."""


def _wrapped_base64(before: str) -> Callable[[str], str]:
    return lambda key: base64.b64encode(before.encode() + _utf8(key)).decode()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "json": lambda key: json.dumps(key)[1:-1],
    "json-all": lambda key: "".join(f"\\u{ord(character) & 0xFFFF:04x}" for character in key),
    "json-one": lambda key: f"\\u{ord(key[0]) & 0xFFFF:04X}{key[1:]}" if key else "",
    "json-slash": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "json-twice": lambda key: json.dumps(json.dumps(key))[3:-3],
    "percent": lambda key: quote(_utf8(key), safe=""),
    "percent-lower": lambda key: re.sub("%..", lambda match: match[0].lower(), quote(_utf8(key), safe="")),
    "percent-all": lambda key: "".join(f"%{byte:02X}" for byte in _utf8(key)),
    "percent-twice": lambda key: quote(quote(_utf8(key), safe=""), safe=""),
    "base64": _wrapped_base64(""),
    "base64-1": _wrapped_base64("a"),
    "base64-2": _wrapped_base64("k="),
    "base64-url": lambda key: base64.urlsafe_b64encode(_utf8(key)).decode().rstrip("="),
    "hex": lambda key: _utf8(key).hex(),
}
"""How an upstream may repeat a key."""

_ECHO = re.compile("<<(" + "|".join(map(re.escape, ENCODINGS)) + ")>>")


@dataclass(frozen=True)
class CallInput:
    """One whole call.

    Attributes:
        key: the caller's key, empty for none.
        carrier: ``bearer``, ``x-api-key`` or ``query``.
        transport: ``event`` (of API Gateway) or ``http`` (the local server).
        tool: name of the tool.
        arguments: its arguments, any JSON value.
        options: ``select``, ``max_tokens`` and ``fresh`` as sent.
        times: how often the caller repeats the call.
        served_to: ``all``, or ``caller``: then other keys get ordinary data for the same call.
        status: the status line's code and reason.
        headers: further headers of the response, as sent.
        framing: ``length``, ``chunked``, ``close``, ``gzip``, ``short`` and ``long`` (a wrong length), ``cut`` (closed
            early), ``stall`` (left open), ``none`` (the body is the whole response).
        body: texts, and ``{"repeat": text with {i}, "times": n, "join": text}``. ``<<plain>>`` and the other names of
            :data:`ENCODINGS` are replaced by the key of the request. Lone surrogates are bytes that are not UTF-8.
    """

    key: str = "ATTACKERKEY01234"
    carrier: str = "bearer"
    transport: str = "event"
    tool: str = "WTI"
    arguments: Any = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    times: int = 1
    served_to: str = "all"
    status: str = "200 OK"
    headers: tuple[str, ...] = ()
    framing: str = "length"
    body: tuple[Any, ...] = ("",)

    def template(self) -> str:
        """Return the body with its repetitions written out, and without a key."""
        parts = []
        length = 0
        for part in self.body:
            text = part if isinstance(part, str) else _repeated(part)
            parts.append(text)
            length += len(text)
            if length > MAX_BODY_BYTES:
                break
        return "".join(parts)[:MAX_BODY_BYTES]

    def echoes(self) -> set[str]:
        """Return the encodings in which the upstream repeats the key."""
        return set(_ECHO.findall(self.template()))

    def content(self, key: str) -> bytes:
        """Return the body for a request with ``key``."""
        return _to_bytes(_ECHO.sub(lambda match: ENCODINGS[match[1]](key), self.template()))

    def response(self, key: str) -> bytes:
        """Return the whole response for a request with ``key``."""
        content = self.content(key)
        if self.framing == "none":
            return content
        lines = [f"HTTP/1.1 {self.status}", *self.headers]
        if self.framing == "gzip":
            content = gzip.compress(content, 1, mtime=0)
            lines.append("Content-Encoding: gzip")
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
            middle = len(content) // 2
            content = b"".join(_chunk(part) for part in (content[:middle], content[middle:]) if part) + b"0\r\n\r\n"
        elif self.framing == "close":
            lines.append("Connection: close")
        else:
            change = {"short": -3, "long": 3}.get(self.framing, 0)
            lines.append(f"Content-Length: {max(0, len(content) + change)}")
        if self.framing in ("cut", "stall"):
            content = content[: len(content) // 2]
        return _to_bytes("\r\n".join(lines) + "\r\n\r\n") + content

    @property
    def closes(self) -> bool:
        """Whether the upstream closes the connection after the response."""
        return self.framing in ("close", "cut", "long", "none")

    @classmethod
    def from_json(cls, text: str) -> CallInput:
        """Parse the text of a file."""
        values = json.loads(text)
        known = {one.name for one in fields(cls)}
        assert set(values) <= known, set(values) - known
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _repeated(part: dict[str, Any]) -> str:
    text, join, times = part["repeat"], part.get("join", ""), part["times"]
    times = min(times, MAX_BODY_BYTES // max(1, len(text)) + 1)
    return str(join).join(text.replace("{i}", str(number)) for number in range(times))


def _chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


def _to_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@functools.lru_cache(maxsize=64)
def spellings(key: str, least: int = 4) -> Sequence[str]:
    """Return the texts in which ``key`` can be read; those of fewer than ``least`` characters mean nothing."""
    found = {encode(key) for name, encode in ENCODINGS.items() if not name.startswith("base64-") and name != "hex"}
    # The characters of base64 that depend on what surrounds the key are left out.
    found |= {ENCODINGS["base64-1"](key)[2:].rstrip("=")[:-2], ENCODINGS["base64-2"](key)[3:].rstrip("=")[:-2]}
    found |= {ENCODINGS["base64"](key).rstrip("=")[:-2], ENCODINGS["base64-url"](key)[:-2]}
    found = {text for text in found if len(text) >= least}
    return sorted(found | {json.dumps(text)[1:-1] for text in found})


@functools.cache
def corpus() -> dict[str, CallInput]:
    """Return the inputs of the corpus by the names of their files."""
    return {path.stem: CallInput.from_json(path.read_text()) for path in sorted(CORPUS.glob("*.json"))}
