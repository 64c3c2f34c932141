"""Make texts and schemas of others fit a catalog: one paragraph, visible characters, https addresses, limited length.

What a tool is called with is not changed: only descriptions are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from toolfold.build.schema.field_types import SUMMARY_LIMIT
from toolfold.catalog.head_checks import MAX_TEXT, text_problem

__all__ = ["clean_schema", "clean_text", "first_sentence"]

_TEXT_KEYWORDS = frozenset({"description", "title", "$comment"})
_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_INSECURE = re.compile(r"\b(?:http|ftp|file|ws)://", re.IGNORECASE)
_USER_NAME = re.compile(r"(?<=://)[^/\s@]*@")
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][A-Za-z0-9-]{0,20})(?P<rest>(?:\s[^<>]{0,200})?/?)>")
_FENCE = re.compile(r"`{1,3}|\*\*")
_ALONE = frozenset(("br", "dd", "dt", "hr", "iframe", "img", "li", "p", "script", "style", "td", "th", "tr", "wbr"))
"""Elements of HTML that are written without an end tag. Any other ``<word>`` is a placeholder unless it is closed."""

_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{0,500}\)")
_SENTENCE_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!\bvs)(?<!\betc)(?:(?<=[a-z0-9)\]'\"])[.!?](?=\s|$)|(?<=[A-Z]{2})[.!?](?=\s|$))"
)
_MIN_SENTENCE = 12
"""Characters below which what looks like a sentence is the start of one, as in "E.g."."""


def clean_text(text: Any, most: int = MAX_TEXT) -> str:
    """Return ``text`` as one paragraph of at most ``most`` characters that a catalog may have.

    Line breaks become spaces, invisible characters and markup are left out, links are their text, and addresses
    without encryption lose their scheme. What is no text becomes "".
    """
    return _clean(text, most) if isinstance(text, str) else ""


@lru_cache(maxsize=20_000)
def _clean(text: str, most: int) -> str:
    """Return a clean text. Tools of one source share definitions, and with them hundreds of texts."""
    visible = "".join(
        " " if character.isspace() else character
        for character in text
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    plain = _FENCE.sub(" ", _without_tags(_LINK.sub(r"\1", visible)))
    plain = _USER_NAME.sub("", _INSECURE.sub("", plain))
    plain = " ".join(plain.split()).lstrip("#＃﹟ ").strip()
    if len(plain) > most:
        plain = plain[: most - 1].rsplit(" ", 1)[0].rstrip() + "…"
    return "" if text_problem(plain) else plain


def _without_tags(text: str) -> str:
    """Return ``text`` without the tags of HTML. ``<path>`` and ``<your name>`` are placeholders, and stay.

    >>> _without_tags("<p>Run <code>git show &lt;rev&gt;</code> or git show <rev>:<path><br/>")
    '  Run  git show &lt;rev&gt;  or git show <rev>:<path> '
    """
    if "<" not in text:
        return text
    ends = {found["name"].lower() for found in _TAG.finditer(text) if found["slash"]}

    def replaced(found: re.Match[str]) -> str:
        name, rest = found["name"].lower(), found["rest"]
        is_tag = found["slash"] or rest.endswith("/") or "=" in rest or name in ends or name in _ALONE
        return " " if is_tag else found[0]

    return _TAG.sub(replaced, text)


def first_sentence(text: str, most: int = SUMMARY_LIMIT) -> str:
    """Return the first sentence of a clean text, without its full stop, shortened to ``most`` characters at a word."""
    end = next((found for found in _SENTENCE_END.finditer(text) if found.start() >= _MIN_SENTENCE), None)
    sentence = (text if end is None else text[: end.start()]).strip().rstrip(".").rstrip()
    if len(sentence) <= most:
        return sentence
    cut = sentence[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:(–-")
    return f"{cut or sentence[: most - 1]}…"


def clean_schema(schema: Any) -> Any:
    """Return a JSON Schema whose descriptions are clean, and without annotations that are not of JSON Schema."""
    if isinstance(schema, list):
        return [clean_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _TEXT_KEYWORDS:
            if text := clean_text(value):
                cleaned[key] = text
        elif key in _DATA_KEYWORDS:
            cleaned[key] = value
        elif key in _NAMED and isinstance(value, Mapping):
            cleaned[key] = {name: clean_schema(inner) for name, inner in value.items()}
        elif not key.startswith("x-"):
            cleaned[key] = clean_schema(value)
    return cleaned
