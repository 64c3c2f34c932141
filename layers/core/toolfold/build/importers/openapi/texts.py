"""Make the texts of a document fit for a catalog: one paragraph of visible characters, without markup."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from toolfold.build.prompt_injection import find_prompt_injection

__all__ = ["first_sentence", "one_paragraph", "shorten", "without_instructions"]

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_COMMENT = re.compile(r"<!--.{0,5000}?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_LINK = re.compile(r"!?\[([^\[\]]{1,500})\](?:\([^()\s]{0,1000}(?:\s[^()]{0,200})?\)|\[[^\[\]]{0,200}\])")
_HEADING = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>+|[*+-])[ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*|__|\*)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1(?![\w*])")
_FENCED = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]{0,100}\n.{0,20000}?(?:^[ \t]{0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""Code, mostly a command with curl: what a tool is called with is in its schema."""

_UNSAFE_URL = re.compile(r"\b(?:http|ftp|file|ws)://", re.IGNORECASE)
_USER_IN_URL = re.compile(r"://[^\s/@]{1,500}@")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no)\.$", re.IGNORECASE)


def one_paragraph(text: object, max_chars: int) -> str:
    r"""Return ``text`` in one line: without markup, invisible characters, and web addresses that no catalog may have.

    Example:
        >>> one_paragraph("# Pets\n\nReturns **all** [pets](https://x.test/doc).", 100)
        'Pets Returns all pets.'
    """
    if not isinstance(text, str):
        return ""
    # What is cut off later is not worth the time: the description of a document may be a whole manual.
    text = text[: 4 * max_chars + 2000].replace("\r\n", "\n")
    if "```" in text or "~~~" in text:
        text = _FENCED.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", _COMMENT.sub(" ", text))
    if "&" in text:
        text = html.unescape(text)
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    text = _HEADING.sub("", text)
    if "*" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
    text = _INVISIBLE.sub("", re.sub(r"[\x85\u2028\u2029]", " ", text))
    text = " ".join(text.split())
    if "://" in text:
        text = _USER_IN_URL.sub("://", _UNSAFE_URL.sub("", text))
    return shorten(text.lstrip("# "), max_chars)


@lru_cache(maxsize=20_000)
def without_instructions(text: str) -> tuple[str, str]:
    """Return ``text`` without the sentences that look like instructions to a model, and what they look like.

    Descriptions for programmers have many ("You must be an owner"). Nothing of them is needed for a call.
    """
    found = next(iter(find_prompt_injection(text)), None)
    if found is None:
        return text, ""
    kept = [sentence for sentence in _SENTENCE_END.split(text) if not any(find_prompt_injection(sentence))]
    joined = " ".join(kept)
    what = f"a sentence {found[0]}: {found[1]}"
    return ("" if any(find_prompt_injection(joined)) else joined), what


def shorten(text: str, max_chars: int) -> str:
    """Return ``text``, cut at the end of a sentence or of a word to at most ``max_chars``."""
    if len(text) <= max_chars:
        return text
    kept = text[:max_chars]
    ends = [match.start() for match in _SENTENCE_END.finditer(kept)]
    if ends and ends[-1] >= max_chars // 2:
        return kept[: ends[-1]]
    return (
        kept[: max_chars - 2].rpartition(" ")[0].rstrip(" ,;:(") + " …" if " " in kept else kept[: max_chars - 1] + "…"
    )


def first_sentence(text: str) -> str:
    """Return the first sentence of a text that :func:`one_paragraph` returned.

    Example:
        >>> first_sentence("List pets, e.g. Cats. Needs a key.")
        'List pets, e.g. Cats.'
    """
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[: match.start()]):
            return text[: match.start()]
    return text
