"""Tell what a response contains by its ``Content-Type``, and decode its text."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

__all__ = ["Content", "decode_content", "media_type_of"]

_MEDIA_TYPE = re.compile(r"\s*([\w!#$&^.+-]{1,80}/[\w!#$&^.+-]{1,80})\s*(?:;|$)", re.ASCII)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]{1,40})", re.ASCII | re.IGNORECASE)
_CHARSETS = re.compile(
    r"utf-?(8|16|16le|16be|32)(-sig)?|(us-)?ascii|(iso-?)?8859-\d{1,2}|iso-?8859-\d{1,2}|latin-?1|(windows|cp)-?125\d|koi8-[ru]"
    r"|shift[_-]?jis|euc-(jp|kr)|gb(k|2312|18030)|big5|iso-2022-jp|macintosh",
    re.IGNORECASE,
)
"""Encodings that responses have. Python has further codecs, which are no encodings of texts or take long."""

_TEXT_TYPES = re.compile(
    r"text/.*|.*[/+](json|xml|yaml|x-yaml|csv|toml|x-ndjson|ndjson|jsonl|x-jsonlines|javascript|ecmascript|graphql|sql"
    r"|x-www-form-urlencoded|rtf|x-sh|ld\+json|vnd\.api\+json)",
    re.IGNORECASE,
)


class Content(NamedTuple):
    """What a response contains.

    Attributes:
        media_type: in lower case, without parameters; empty where the response has none that can be read.
        text: the text; empty for other content.
        is_text: whether it is text.
    """

    media_type: str
    text: str
    is_text: bool


def media_type_of(content_type: str) -> str:
    """Return the media type of a header.

    >>> media_type_of('Application/JSON; charset="utf-8"'), media_type_of("nonsense")
    ('application/json', '')
    """
    found = _MEDIA_TYPE.match(content_type)
    return found[1].lower() if found else ""


def decode_content(body: bytes, content_type: str) -> Content:
    """Return what ``body`` is. Bytes that the encoding of a text does not have become U+FFFD.

    What names no type, or one that may be text or not, is text where it is UTF-8 without control characters.
    """
    media_type = media_type_of(content_type)
    if _TEXT_TYPES.fullmatch(media_type):
        return Content(media_type, _decoded(body, content_type), True)
    if media_type.partition("/")[0] in ("image", "audio", "video", "font", "model"):
        return Content(media_type, "", False)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Content(media_type, "", False)
    is_text = not any(sign in text[:4096] for sign in "\x00\x01\x02\x03\x04\x05\x06\x0e\x0f") and text[:4] != "%PDF"
    return Content(media_type, text if is_text else "", is_text)


def _decoded(body: bytes, content_type: str) -> str:
    found = _CHARSET.search(content_type)
    charset = found[1] if found and _CHARSETS.fullmatch(found[1]) else "utf-8"
    if charset.lower().replace("-", "") in ("utf8", "usascii", "ascii"):
        charset = "utf-8-sig"
    try:
        return body.decode(charset, errors="replace")
    except LookupError:
        return body.decode("utf-8-sig", errors="replace")


def json_lines(text: str) -> str:
    """Return JSON texts in lines (NDJSON) as one JSON array.

    Raises:
        ValueError: a line is not JSON.
    """
    lines = [line.strip(" \t\r\x1e") for line in text.split("\n")]
    given = [line for line in lines if line]
    for line in given:
        json.loads(line)
    return f"[{','.join(given)}]"
