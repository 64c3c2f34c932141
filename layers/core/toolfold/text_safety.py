"""Keep data from being read as something else: as a line of toolfold, or as a command to a terminal.

A line that begins with ``#`` in the text of a result is toolfold's own. Data cannot make such a line, because it cannot
break a line, and because a cell that would begin one is quoted (``results.render``). What breaks lines, moves the
cursor, changes the direction of text or is invisible is written as its escape in JSON: JSON text keeps its value.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_NAME_CHARS = 60
"""Characters of a name from data in a notice: enough to recognise any column."""

MAX_QUOTED = 64
"""Characters of a value that an error repeats: enough to recognise it."""

_NOT_CONTROLS = (
    "\u061c\u180e\u200b-\u200f"  # zero width, direction marks
    "\u2028-\u202e\u2060-\u206f"  # line and paragraph separators, overrides and isolates of the direction
    "\ufeff\ufff9-\ufffb\ud800-\udfff"  # byte order mark, annotations, halves of pairs that UTF-8 cannot encode
    "\U000e0000-\U000e0fff"  # tags and further variation selectors: text that only a model sees
)
# Compiled when first used, and kept by ``re``: that takes a millisecond, and few first responses need them.
_UNSAFE = f"[\x00-\x1f\x7f-\x9f{_NOT_CONTROLS}]"
_UNSAFE_IN_LINES = f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_NOT_CONTROLS}]"

_LOOK_ALIKES = {
    "→": "->", "…": "...", "–": "-", "—": "-", "│": "|", "─": "-", "‘": "'", "’": "'", "“": "'", "”": "'",
    "≤": "<=", "≥": ">=", "×": "x", "−": "-", "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip
"""Punctuation of toolfold's own texts → ASCII. Double quotes become single ones, which are no syntax of JSON."""

_PLAIN_NAME = r"[\w.()%+/&-]{1,60}"
"""A name that needs no quotes: it has neither white space nor a colon, so it is not a sentence or a URL."""


def has_unsafe(text: str) -> bool:
    """Return whether ``text`` has a character that :func:`escape_unsafe` replaces, such as a line feed."""
    return not (text.isascii() and text.isprintable()) and re.search(_UNSAFE, text) is not None


def escape_unsafe(text: str) -> str:
    r"""Return ``text`` in one line, its unsafe characters as ``\uXXXX``; JSON text remains the same value.

    Example:
        >>> escape_unsafe("caf\u00e9\x1b[2J\u2028")
        'café\\u001b[2J\\u2028'
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE, _escape, text)


def escape_terminal(text: str) -> str:
    r"""Return the same for text of several lines: ``\n`` and ``\t`` are kept."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE_IN_LINES, _escape, text)


def encodable(text: str) -> str:
    """Return ``text`` with a question mark for each half of a surrogate pair, which no encoding of Unicode has."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def to_encoding(text: str, encoding: str) -> str:
    r"""Return ``text`` as it can be written in ``encoding``: what that lacks as a look-alike, else as ``\uXXXX``.

    Example:
        >>> to_encoding("café → 茶…", "cp1252")
        'café -> \\u8336…'
    """

    def replace(match: re.Match[str]) -> str:
        try:
            match[0].encode(encoding)
        except (UnicodeEncodeError, LookupError):
            return _LOOK_ALIKES.get(match[0]) or _escape(match)
        return match[0]

    return re.sub("[^\x00-\x7f]", replace, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def quoted_name(name: str) -> str:
    """Return a name from data for a notice or an error: as it is, or as a JSON string, shortened.

    Example:
        >>> quoted_name("close"), quoted_name("see https://example.com")
        ('close', '"see https://example.com"')
    """
    if re.fullmatch(_PLAIN_NAME, name):
        return name
    shown = name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
    return escape_unsafe(json.dumps(shown, ensure_ascii=False))


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "tool"), counted(1200, "tool")
    ('1 tool', '1,200 tools')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str) -> str:
    """Return at most :data:`MAX_QUOTED` characters of ``text``, with unprintable ones escaped."""
    printable = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text[:MAX_QUOTED]
    )
    is_cut = len(text) > MAX_QUOTED or len(printable) > MAX_QUOTED
    return printable[: MAX_QUOTED - 1] + "…" if is_cut else printable


def quoted(value: Any) -> str:
    """Return a value as an error may show it: text quoted, an object or a list by its kind, others as JSON.

    Example:
        >>> quoted("abc"), quoted(True), quoted([1])
        ("'abc'", 'true', 'a list')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return f"'{shortened(value)}'" if isinstance(value, str) else shortened(json.dumps(value, default=str))


def load_json(text: str | bytes) -> Any:
    """Parse JSON in which no object has a name twice.

    Raises:
        ValueError: one has, or it is not JSON.
    """
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"has {quoted(name)} twice")
        found[name] = value
    return found
