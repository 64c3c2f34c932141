"""Fill the placeholders of a path, such as ``/pets/{petId}``, with arguments that cannot leave their place in it.

A server may decode ``%2F`` before it finds the route (WSGI does), resolve ``..`` after it has decoded a path, or decode
it twice behind a proxy. So a value with a slash, a dot segment or their encodings is refused, not encoded: with
``1/refund`` for ``{id}`` the tool that reads an order would call another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from toolfold.sources.http_api.styles import scalar_text

__all__ = ["UnsafeSegment", "check_template", "expand_path", "placeholders"]

_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
_TEMPLATE = re.compile(r"(?:/[\w.~!$&'()*+,;=:@{}%-]+)+/?|/", re.ASCII)
"""A path by RFC 3986, section 3.3, without empty segments, with placeholders."""

_MAX_LAYERS = 3
"""Percent-encodings on top of each other that a proxy and a server behind it may decode."""

_DOTS = frozenset({".", ".."})

KEEP_SLASHES = frozenset({"plain", "encoded"})
"""Ways in which a value with slashes may be sent where its parameter allows them: as ``/``, or as ``%2F``."""


class UnsafeSegment(ValueError):
    """A value that would change the path beyond its place; ``str()`` is the end of a sentence about it."""


def placeholders(template: str) -> list[str]:
    """Return the names in braces in ``template``, in their order."""
    return _PLACEHOLDER.findall(template)


def check_template(template: str) -> None:
    """Check a path of a catalog.

    Raises:
        ValueError: it does not start with a slash, has an empty or a dot segment, a query or a fragment.
    """
    if _TEMPLATE.fullmatch(template) is None:
        raise ValueError("must start with / and have no empty segment, white space, ? or #")
    if any(_decoded(segment) in _DOTS for segment in template.split("/")):
        raise ValueError("has a segment . or ..")
    if "{" in _PLACEHOLDER.sub("", template) or "}" in _PLACEHOLDER.sub("", template):
        raise ValueError("has a brace that belongs to no placeholder")


def expand_path(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each placeholder replaced by its percent-encoded value.

    Args:
        template: a path that :func:`check_template` accepts.
        values: name → value, percent-encoded.

    Raises:
        UnsafeSegment: a segment becomes empty, or one of dots.
        KeyError: a placeholder has no value.
    """
    path = _PLACEHOLDER.sub(lambda found: values[found[1]], template)
    written = template.split("/")
    for number, segment in enumerate(path.split("/")):
        if not segment and (number >= len(written) or written[number]):
            raise UnsafeSegment("makes a part of the path empty")
        # Some servers drop what follows a semicolon before they resolve dot segments.
        if _decoded(segment).partition(";")[0] in _DOTS:
            raise UnsafeSegment("makes a part of the path . or ..")
    return path


def check_value(text: str, slashes: str = "") -> None:
    """Check a text that becomes a part of a path.

    Args:
        text: the text, not encoded.
        slashes: one of :data:`KEEP_SLASHES` where the parameter takes several segments.

    Raises:
        UnsafeSegment: it cannot be sent.
    """
    if not text:
        raise UnsafeSegment("is empty")
    for form in _layers(text):
        if any(ord(character) < 0x20 or character == "\x7f" for character in form):
            raise UnsafeSegment("has a control character")
        if "\\" in form:
            raise UnsafeSegment("has a backslash, which some servers take for a slash")
        if "/" in form and slashes not in KEEP_SLASHES:
            raise UnsafeSegment("has a slash, which would lead to another path")
        if "/" in form and any(part in _DOTS or not part for part in form.split("/")):
            raise UnsafeSegment("has a segment that is empty, . or ..")


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts in a value that becomes a part of a path: items, names and values of members."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield scalar_text(item)
    elif isinstance(value, list):
        yield from map(scalar_text, value)
    else:
        yield scalar_text(value)


def segment_encoder(encode: Callable[[str], str], slashes: str) -> Callable[[str], str]:
    """Return ``encode``, which keeps slashes where they are sent as they are."""
    if slashes != "plain":
        return encode
    return lambda text: "/".join(map(encode, text.split("/")))


def _layers(text: str) -> Iterator[str]:
    """Yield ``text``, and what is left of it after each further decoding."""
    for _ in range(_MAX_LAYERS):
        yield text
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded
    yield text


def _decoded(text: str) -> str:
    *_, last = _layers(text)
    return last
