"""Read ``Link: <…>; rel="next"`` (RFC 8288) of a response, and say which arguments return the next page.

The URL itself is never requested: a model calls the tool again, with arguments that are validated like all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from toolfold.results.content_blocks import NEXT_PAGE
from toolfold.sources.http_api.binding import bound_parameters

__all__ = ["next_link", "next_page_block"]

MAX_VALUE_CHARS = 2_000
"""Of one argument: cursors are tokens of some hundred characters."""

_MAX_HEADER_CHARS = 16_000
_LINK = re.compile(
    r"<([^<>]{1,8000})>((?:\s*;\s*[\w!#$%&'*+.^`|~-]{1,40}\s*=\s*(?:\"[^\"]{0,200}\"|[^\s\",;]{1,200}))*)"
)
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))", re.IGNORECASE)


def next_link(header: str, url: str) -> str:
    """Return the URL of the next page; empty where a response has none on the host of its request.

    Args:
        header: the value of ``Link``.
        url: of the request.

    >>> next_link('</pets?page=3>; rel="next", </pets?page=9>; rel="last"', "https://a.test/pets?page=2")
    'https://a.test/pets?page=3'
    """
    for target, parameters in _LINK.findall(header[:_MAX_HEADER_CHARS]):
        relation = _REL.search(parameters)
        if relation is None or "next" not in (relation[1] or relation[2] or "").lower().split():
            continue
        try:
            absolute = urljoin(url, target.strip())
            return absolute if urlsplit(absolute)[:2] == urlsplit(url)[:2] else ""
        except ValueError:  # not a URL
            return ""
    return ""


def next_page_block(
    url: str,
    call: Mapping[str, Any],
    schema: Mapping[str, Any],
    arguments: Mapping[str, Any],
    taken: Collection[tuple[str, str]],
) -> dict[str, Any]:
    """Return the content block about the next page: the arguments that differ, and names that are no argument.

    It is cached with the answer, and :mod:`toolfold.results.content_blocks` makes a note of it.

    Args:
        url: of the next page.
        call: the binding of the tool.
        schema: of its parameters.
        arguments: of the call.
        taken: location and name of what the credentials are sent as.

    >>> next_page_block("https://a.test/pets?p=3", {"path": "/pets"}, {"properties": {"p": {}}}, {"p": 2}, ())
    {'type': 'toolfold/next_page', 'arguments': {'p': '3'}, 'unknown': []}
    """
    known = {
        one.name: one.argument
        for one in bound_parameters(call, schema.get("properties", {}))
        if one.location == "query" and one.argument in schema.get("properties", {})
    }
    sent = {**call.get("sends", {}), **arguments}
    found: dict[str, str] = {}
    unknown: list[str] = []
    for name, value in parse_qsl(urlsplit(url).query):
        argument = known.get(name)
        if ("query", name) in taken:
            continue
        if argument is None:
            if name not in sent:
                unknown.append(name)
        elif _text(sent.get(argument)) != value and isinstance(sent.get(argument), str | int | float | bool | None):
            found[argument] = value
    is_usable = all(len(value) <= MAX_VALUE_CHARS and value.isprintable() for value in found.values())
    return {"type": NEXT_PAGE, "arguments": found if is_usable else {}, "unknown": unknown[:5]}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
