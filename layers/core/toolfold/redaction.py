"""Keep API keys out of answers, in every encoding in which an upstream may repeat them.

Only what is returned to a caller is redacted. What is cached is the upstream's own text: an answer that repeats a key
is cached for that key alone.

A key is found in upper and lower case, as it is and in hexadecimal digits, in base64 (both alphabets, at any position
of the encoded text, in lines or not, once or twice), in UTF-16, and behind up to three layers of escapes of JSON, URLs
and HTML. An ordinary answer costs a few searches for fixed strings: only a text with escapes is decoded, and base64
never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

REPLACEMENT = "[key]"

MIN_KEY_CHARS = 8
"""A shorter key is a word, such as "demo", and may be part of the data: in an answer it is replaced as a word only."""

_MIN_BASE64_CHARS = 5
"""Characters of base64 that depend on the key alone. Fewer occur in every long text."""

_MIN_DECODED_CHARS = 5
"""What is left of a key with many backslashes is searched only if it is as long."""

_MAX_LAYERS = 3
"""Encodings on top of each other, such as a URL, encoded twice, in JSON."""

_ESCAPE = re.compile(r"[\\\0]|%[0-9A-Fa-f]{2}|&[#A-Za-z]")
"""How every escape begins: of JSON and UTF-16, of URLs, of HTML."""

_JSON_ESCAPE = re.compile(r"\\(?:u00|x|u\{0{0,4})([0-9a-f]{2})\}?", re.IGNORECASE)

_ESCAPED_BREAK = re.compile(r"\\{1,8}[rn]")
"""The end of a line in a JSON string. Decoding an escape leaves its letter, which is also one of base64."""

_BETWEEN_BASE64 = r"(?:\s|\\{1,8}[rn])*"

_PIECE = re.compile(r"""[^\s,;"'<>|()\[\]{}]+""")


class Redactor:
    """Replace API keys in what a caller gets. Making one costs nothing; it is prepared by its first use.

    Args:
        keys: the keys of the call: the caller's and the operator's.

    Attributes:
        keys: each once, without empty ones.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.keys = tuple(dict.fromkeys(filter(None, keys)))
        self._min_chars = min(map(len, self.keys), default=0)

    def appears_in(self, *texts: str) -> bool:
        """Return whether a key is in one of ``texts``, the raw texts of an upstream, in any encoding.

        A key that is part of a longer word counts, however short it is: this decides what is shared with others.
        """
        return any(pattern.is_in(text) for pattern in self._patterns for text in texts)

    def redact_text(self, text: str) -> str:
        """Return ``text`` without the keys."""
        if len(text) < self._min_chars:
            return text
        for pattern in self._patterns:
            if pattern.is_in(text):
                text = pattern.redact(text)
        return text

    def redact_value(self, value: Any) -> Any:
        """Return a parsed JSON value without the keys, at any depth.

        A number that has the digits of a key becomes a text. Names of object members count as text.
        """
        if not self.keys:
            return value
        unfinished: list[tuple[Any, Any]] = []

        def copy(item: Any) -> Any:
            if isinstance(item, dict | list):
                copied: Any = {} if isinstance(item, dict) else []
                unfinished.append((item, copied))
                return copied
            return self._redact_scalar(item)

        result = copy(value)
        while unfinished:
            source, target = unfinished.pop()
            if isinstance(source, list):
                target.extend(map(copy, source))
                continue
            repeated = 1
            for name, item in source.items():
                redacted = self.redact_text(name)
                while redacted in target:  # two names that differ in the key alone
                    repeated += 1
                    redacted = f"{redacted} ({repeated})"
                target[redacted] = copy(item)
        return result

    def _redact_scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if value is None or isinstance(value, bool):
            return value
        digits = str(value)
        return value if self.redact_text(digits) == digits else REPLACEMENT

    @cached_property
    def _patterns(self) -> list[_KeyPattern]:
        return list(map(_KeyPattern, self.keys))


class _KeyPattern:
    """What to search for one key."""

    def __init__(self, key: str) -> None:
        self._key = key
        # A key may itself look like an escape, and is then decoded with the text.
        # Backslashes are removed then: what they leave counts, even if it is a little shorter.
        least = min(MIN_KEY_CHARS, len(key), max(_MIN_DECODED_CHARS, len(key.replace("\\", ""))))
        spellings = {*_spellings(key), *[form for form in _layers(key) if len(form) >= least]}
        self._folded = sorted({spelling.lower() for spelling in spellings}, key=len, reverse=True)
        once = _base64_cores(key.encode())
        self._base64 = [*once, *[core for encoded in once for core in _base64_cores(encoded.encode())]]
        self._word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)") if len(key) < MIN_KEY_CHARS else None

    def is_in(self, text: str) -> bool:
        """Return whether the key is in ``text`` in any encoding."""
        return self._is_plain(text) or any(map(self._is_plain, _layers(text)))

    def redact(self, text: str) -> str:
        """Return ``text`` with the key replaced; a word that has it in another encoding is replaced as a whole."""
        if self._word is not None:
            text = self._word.sub(REPLACEMENT, text)
        else:
            text = re.sub("|".join(map(re.escape, self._folded)), REPLACEMENT, text, flags=re.IGNORECASE)
        if not self._remains(text):
            return text
        text = "\n".join(map(self._redact_line, text.split("\n")))
        if self._is_in_base64(text):
            text = self._replace_lines_of_base64(text)
        # Escapes hide the ends of lines.
        return REPLACEMENT if self._remains(text) else text

    def _redact_line(self, line: str) -> str:
        if not self._remains(line):
            return line
        line = _PIECE.sub(lambda piece: REPLACEMENT if self._remains(piece[0]) else piece[0], line)
        return REPLACEMENT if self._remains(line) else line

    def _remains(self, text: str) -> bool:
        if len(text) < len(self._key):
            return False
        if self._word is not None:
            word = self._word
            return any(word.search(form) is not None for form in _layers(text))
        return self.is_in(text)

    def _replace_lines_of_base64(self, text: str) -> str:
        for core in self._base64:
            # The character beside a core has some bits of the key.
            spaced = _BETWEEN_BASE64.join(map(re.escape, core))
            text = re.sub(f"[A-Za-z0-9+/_-]?{spaced}[A-Za-z0-9+/_-]?", REPLACEMENT, text)
        return text

    def _is_plain(self, text: str) -> bool:
        return any(map(text.lower().__contains__, self._folded)) or self._is_in_base64(text)

    def _is_in_base64(self, text: str) -> bool:
        joined = _ESCAPED_BREAK.sub("", text) if "\\" in text else text
        for space in "\n\r\t ":
            joined = joined.replace(space, "")
        return any(map(joined.__contains__, self._base64))


NO_REDACTION = Redactor()
"""For an answer in which no key can appear."""


def _spellings(key: str) -> Iterator[str]:
    """Yield the key as it is written in texts, URLs, CSV and dumps of memory."""
    from urllib.parse import quote, quote_plus

    yield from (key, quote(key), quote(key, safe=""), quote_plus(key), key.replace('"', '""'))
    if len(key) >= MIN_KEY_CHARS:
        yield key.encode().hex()
    if not key.isascii():  # an upstream may send Latin-1, of which only ASCII is also UTF-8
        narrow = key.encode("latin-1", errors="replace")
        yield from (quote(narrow), narrow.decode(errors="replace"))


def _base64_cores(key: bytes) -> tuple[str, ...]:
    """Return the characters of base64 that depend on ``key`` alone, at the three positions it can have in a text."""
    from base64 import b64encode

    cores = set()
    for before in range(3):
        encoded = b64encode(bytes(before) + key).decode()
        # A character has six bits: the first and the last one may share bits with what is beside the key.
        core = encoded[-(-before * 8 // 6) : (before + len(key)) * 8 // 6]
        if len(core) >= _MIN_BASE64_CHARS:
            cores |= {core, core.replace("+", "-").replace("/", "_")}
    return tuple(cores)


def _layers(text: str) -> Iterator[str]:
    """Yield ``text`` with one layer of escapes decoded, then with two, as long as that changes it."""
    if not _ESCAPE.search(text):  # as nearly every answer
        return
    from html import unescape
    from urllib.parse import unquote

    for _ in range(_MAX_LAYERS):
        before = text
        for decode in (_without_json, unquote, unescape):
            decoded = decode(text)
            if decoded != text:
                text = decoded
                yield text
        if text is before:
            return


def _without_json(text: str) -> str:
    for _ in range(_MAX_LAYERS if "\\" in text else 0):
        text = _JSON_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    # A zero byte, which HTML has as U+FFFD, is UTF-16 read as UTF-8; a backslash is left before a slash or a quote.
    return text.replace("\0", "").replace("\ufffd", "").replace("\\", "")
