"""Split the text of a ``select`` outside quotes and brackets."""

from __future__ import annotations

import re

__all__ = ["split_outside", "split_words"]

_QUOTED = re.compile(
    r"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|`[^`]*+`|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|(?P<sign>[;,()\[\]{}])"
)


def split_outside(text: str, separator: str) -> list[tuple[str, int]]:
    """Return the parts of a text between separators outside quotes and brackets, each with its offset."""
    parts, start, depth = [], 0, 0
    for match in _QUOTED.finditer(text):
        sign = match["sign"]
        if sign is None:
            continue
        if sign == separator and depth <= 0:
            parts.append((text[start : match.start()], start))
            start = match.end()
        else:
            depth += (sign in "([{") - (sign in ")]}")
    return [*parts, (text[start:], start)]


def split_words(text: str, word: str) -> list[str]:
    """Return the parts of a text around a word outside quotes and brackets."""
    depth, places = 0, []
    for match in re.finditer(
        rf"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|[(\[]|[)\]]|(?<![\w\"'])(?P<word>{word})(?![\w\"'])", text, re.I
    ):
        if match["word"] and not depth:
            places.append(match.span())
        depth += (match[0] in "([") - (match[0] in ")]")
    starts = [0, *(end for _, end in places)]
    ends = [*(start for start, _ in places), len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
