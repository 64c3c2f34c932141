"""Convert what a script returns to JSON.

Find where a script makes several calls at once: inside ``gather(…)``, and behind ``await``.

A lexical look at the text is enough: a call that is not recognized is made at once, with the same result.
"""

from __future__ import annotations

import io
import math
import re
import tokenize
from typing import Any, NamedTuple

_IMPORTED = re.compile(r"^\s*from\s+asyncio\s+import\b.*\bgather\b", re.MULTILINE)


class CallPlace(NamedTuple):
    """How a call is made.

    Attributes:
        is_gathered: inside the parentheses of toolfold's ``gather``.
        is_awaited: behind ``await``, or inside ``asyncio.gather``.
    """

    is_gathered: bool
    is_awaited: bool


class CallPlaces:
    """The calls of one script, by where they begin.

    Args:
        script: its text.
    """

    def __init__(self, script: str) -> None:
        self._gathered: list[tuple[int, int]] = []
        self._native: list[tuple[int, int]] = []
        self._awaited: set[int] = set()
        if "gather" not in script and "await" not in script:
            return
        lines = script.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line.encode("utf-8", "surrogatepass")))
        self._lines = lines
        has_native = _IMPORTED.search(script) is not None
        try:
            self._read(list(tokenize.generate_tokens(io.StringIO(script).readline)), has_native)
        except (tokenize.TokenError, SyntaxError, IndexError, RecursionError):
            return  # the interpreter reports what is wrong with the text

    def at(self, start: int) -> CallPlace:
        """Return how the call is made that begins at this byte of the script."""
        is_native = any(first <= start < last for first, last in self._native)
        is_gathered = not is_native and any(first <= start < last for first, last in self._gathered)
        return CallPlace(is_gathered, is_native or start in self._awaited)

    def _read(self, found: list[tokenize.TokenInfo], has_native: bool) -> None:
        tokens = [token for token in found if token.type not in (tokenize.NL, tokenize.COMMENT)]
        opened: list[tuple[str, int]] = []
        for index, token in enumerate(tokens):
            if token.string in "([{" and token.type == tokenize.OP:
                before = tokens[index - 1] if index else token
                is_gather = before.string == "gather" and token.string == "("
                is_method = index > 1 and tokens[index - 2].string == "."
                kind = "" if not is_gather else "native" if is_method or has_native else "gather"
                opened.append((kind, self._offset(token.end)))
            elif token.string in ")]}" and token.type == tokenize.OP and opened:
                kind, start = opened.pop()
                if kind:
                    (self._native if kind == "native" else self._gathered).append((start, self._offset(token.start)))
            elif token.string == "await" and index + 1 < len(tokens):
                following = tokens[index + 1]
                if following.string != "gather" or has_native:
                    self._awaited.add(self._offset(following.start))

    def _offset(self, place: tuple[int, int]) -> int:
        """Return the byte of a line and column."""
        line, column = place
        text = self._lines[line - 1][:column] if line <= len(self._lines) else ""
        return self._starts[line - 1] + len(text.encode("utf-8", "surrogatepass"))


_MAX_VALUES = 200_000
"""Values of a result: a table of 10,000 rows and 20 columns, more than any budget of tokens."""

_MAX_CHARS = 5_000_000
"""Characters of a result; a Lambda function returns at most 6 MB."""

_MAX_DEPTH = 60
_MAX_DIGITS = 1_000
"""Digits of a whole number; a longer one takes seconds to write."""


class TooLarge(Exception):
    """A value has more in it than a result may have."""


def to_json(value: Any) -> Any:
    """Return a value of a script as JSON.

    Tuples and sets become lists, keys texts, objects of a class their attributes, and what JSON has no form for text.

    Raises:
        TooLarge: it has too many values or characters, or is nested too deeply.
    """
    return _Converter().convert(value, 0)


class _Converter:
    def __init__(self) -> None:
        self._values, self._chars = _MAX_VALUES, _MAX_CHARS

    def convert(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0 or depth > _MAX_DEPTH:
            raise TooLarge
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if value.bit_length() > 4 * _MAX_DIGITS:
                raise TooLarge
            return int(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key if isinstance(key, str) else str(key)): self.convert(item, depth + 1)
                    for key, item in value.items()}  # fmt: skip
        if isinstance(value, list | tuple | set | frozenset):
            return [self.convert(item, depth + 1) for item in value]
        if isinstance(attributes := getattr(value, "attributes", None), dict):  # of a class of the script
            return self.convert(attributes, depth)
        return self._text(str(value))

    def _text(self, text: str) -> str:
        self._chars -= len(text)
        if self._chars < 0:
            raise TooLarge
        return text
