"""Check the texts, names and URLs of a catalog that a model reads, or that this process connects to.

The first response needs them, which is why they use methods of ``str`` where an expression would have to be compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

MAX_TEXT = 20_000
"""Characters of a text that a model reads: several times the longest description of a large OpenAPI document."""

MAX_SUMMARY = 500

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_DEFAULT_PORTS = {"https": "443", "http": "80"}
_MAX_PORT_DIGITS = 5
_HOST_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")
_IPV6 = frozenset("abcdef0123456789:")
_REFUSED = frozenset(" @#\\{}")
"""A user name in a URL is not shown as one by every program, some parsers take a backslash for a slash, and what is in
braces was to be filled in."""

_WEB_SCHEMES = ("http", "ftp", "file", "ws")
"""Schemes of URLs that are not encrypted, or that read this machine."""


def text_problem(text: str) -> str:
    """Return what is wrong with a text of a catalog that a model or a person reads, or "".

    Such a text is one paragraph. It has no character that is not visible, none that changes the order of others, and
    does not look like a notice of toolfold, which starts with ``#``. Its web addresses are https, without user names.
    """
    if not (text.isascii() and text.isprintable()) and (found := _invisible().search(text)):
        return f"contains the character U+{ord(found[0]):04X}"
    if text.lstrip().startswith("#"):
        return "starts with #, as notices of toolfold do"
    before, *rest = text.split("://")
    for after in rest:
        if before.lower().endswith(_WEB_SCHEMES):
            return "contains a web address that is not https"
        words = after.split(maxsplit=1)
        authority = words[0].partition("/")[0] if words and not after[:1].isspace() else ""
        if "@" in authority:
            return "contains a web address with a user name"
        before = after
    return ""


@cache
def _invisible() -> re.Pattern[str]:
    """Return the expression for characters that do not show, or that change how others show.

    Controls and line breaks, soft hyphen, joiners and fillers, directions, separators of lines and paragraphs,
    selectors, tags, and surrogates. U+FE0F, which follows many emoji, is allowed.
    """
    return re.compile(
        "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
        "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
    )


def host_of(url: str) -> str:
    """Return the host of ``url``, with its port where that is not 443, or "" for a URL that no source may have.

    A source has an https URL, or an http URL of this machine, with neither user name nor fragment.
    """
    # Strict, and without urllib.parse, which takes a millisecond to import and removes line breaks from a URL.
    scheme, separator, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].lower()
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    elif not (port.isdecimal() and len(port) <= _MAX_PORT_DIGITS):
        return ""
    name = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    has_only_known_characters = set(name) <= (_HOST_NAME if name == host else _IPV6) and _REFUSED.isdisjoint(url)
    is_scheme_allowed = scheme == "https" or (scheme == "http" and name in _LOOPBACK)
    if not (separator and name and url.isascii() and url.isprintable()):
        return ""
    if not (has_only_known_characters and is_scheme_allowed):
        return ""
    return host if port in ("", _DEFAULT_PORTS[scheme]) else f"{host}:{port}"


def _url_problem(url: str) -> str:
    return "" if host_of(url) else "must be an https URL without user name, {} and fragment; http is for this machine"


FORMATS: Mapping[str, Callable[[str], str]] = {
    "text": text_problem,
    "printable": lambda text: "" if text.isprintable() else "has a character that cannot be printed",
    "url": _url_problem,
    "page": lambda url: _url_problem(url.partition("#")[0] if url.startswith("https:") else "") or text_problem(url),
}
"""Format of a text, in the YAML of sources and in ``catalog.contract`` → what is wrong with one, or ""."""
