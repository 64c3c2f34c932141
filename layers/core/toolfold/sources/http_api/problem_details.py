"""Find what an error response says, in the forms that services use: at most a line, as data for the model.

Known are ``application/problem+json`` (RFC 9457), ``error`` and ``error_description`` of OAuth (RFC 6749), JSON:API and
GraphQL (``errors``), FastAPI (``detail`` as a list), Google (``error.message``), plain text, and the title of HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.text_safety import encodable, escape_unsafe

__all__ = ["MAX_CHARS", "said_by"]

MAX_CHARS = 300
"""Characters of an error that are passed on: enough to act on, too few to fill a context."""

_MAX_READ = 200_000
"""Characters of an error response that are parsed."""

_MAX_ERRORS = 5
_TEXTS = ("title", "detail", "message", "msg", "error_description", "error", "description", "reason", "fault", "code")
"""Members with a text, in the order in which they are shown."""

_LISTS = ("errors", "detail", "details", "violations", "invalid-params", "invalidParams")
_PLACES = ("loc", "field", "pointer", "name", "path", "parameter", "property")
"""Members of an entry of a list that say what it is about."""

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def said_by(text: str, media_type: str = "") -> str:
    """Return what an error response says in one line of up to :data:`MAX_CHARS`; empty where nothing can be read.

    >>> said_by('{"title": "Bad Request", "detail": "latitude is missing"}')
    'Bad Request: latitude is missing'
    >>> said_by('{"detail": [{"loc": ["query", "limit"], "msg": "must be a number"}]}')
    'query.limit: must be a number'
    """
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            found = "; ".join(dict.fromkeys(_sayings(json.loads(text[:_MAX_READ]))))
        except (ValueError, RecursionError):
            found = ""
    elif text[:1] == "<" or "html" in media_type:
        title = _TITLE.search(text[:_MAX_READ])
        found = title[1] if title else ""
    else:
        found = text[: 2 * MAX_CHARS]
    return escape_unsafe(encodable(_SPACES.sub(" ", found).strip()[:MAX_CHARS]))


def _sayings(data: Any, depth: int = 0) -> Iterator[str]:
    """Yield what ``data`` says: its own texts as one saying, then one for each entry of its lists."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list) and depth < 3:
        for entry in data[:_MAX_ERRORS]:
            yield from _sayings(entry, depth + 1)
    elif isinstance(data, dict) and depth < 3:
        place = next((_place(data[key]) for key in _PLACES if key in data), "") if depth else ""
        said = _own_texts(data)
        if said:
            yield f"{place}: {said}" if place and place not in said else said
        for key in ("error", *_LISTS):
            if isinstance(data.get(key), dict | list):
                yield from _members(data[key], depth)


def _members(value: Any, depth: int) -> Iterator[str]:
    """Yield the sayings of a list, or of an object of lists: ``{"limit": ["must be a number"]}``."""
    if isinstance(value, dict) and value and all(isinstance(one, list) for one in value.values()):
        for name, texts in list(value.items())[:_MAX_ERRORS]:
            yield f"{name}: {' '.join(str(text) for text in texts[:_MAX_ERRORS] if isinstance(text, str))}"
    else:
        yield from _sayings(value, depth + 1)


def _own_texts(data: Mapping[str, Any]) -> str:
    texts = [
        str(data[key]) for key in _TEXTS if isinstance(data.get(key), str | int) and data[key] not in ("", True, False)
    ]
    shown: list[str] = []
    for text in texts:
        if len(shown) < 2 and not any(text in other for other in shown):
            shown.append(text)
    return ": ".join(shown)


def _place(value: Any) -> str:
    if isinstance(value, list):
        return ".".join(str(part) for part in value if isinstance(part, str | int))
    return value if isinstance(value, str) else ""
