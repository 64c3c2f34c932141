"""Find where a script makes several calls at once: inside ``gather(…)``, and behind ``await``.

A lexical look at the text is enough: a call that is not recognized is made at once, with the same result.
"""

from __future__ import annotations

import io
import re
import tokenize
from typing import NamedTuple

__all__ = ["CallPlace", "CallPlaces"]

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
