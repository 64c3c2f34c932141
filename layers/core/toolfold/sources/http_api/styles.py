"""Write arguments as text in the styles of OpenAPI, percent-encoded.

The table of styles: https://spec.openapis.org/oas/v3.1.1.html#style-examples. What the specification leaves undefined
is written so that no value is lost: an object or array inside a value is JSON, and ``deepObject`` goes to any depth.

Fill the placeholders of a path, such as ``/pets/{petId}``, with arguments that cannot leave their place in it.

A server may decode ``%2F`` before it finds the route (WSGI does), resolve ``..`` after it has decoded a path, or decode
it twice behind a proxy. So a value with a slash, a dot segment or their encodings is refused, not encoded: with
``1/refund`` for ``{id}`` the tool that reads an order would call another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Location = Literal["path", "query", "header", "cookie"]
PathStyle = Literal["simple", "label", "matrix"]
QueryStyle = Literal["form", "spaceDelimited", "pipeDelimited", "deepObject"]

STYLES: Mapping[str, tuple[str, ...]] = {
    "path": get_args(PathStyle),
    "query": get_args(QueryStyle),
    "header": ("simple",),
    "cookie": ("form",),
}
"""Location of a parameter → the styles that it can have, the default first (OpenAPI 3.1, section 4.8.12.2)."""

SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
"""Style → text between the items of a value that is not exploded. The items have their own percent-encoding."""

_COOKIE_VALUE = "!#$%&'()*+-./:<=>?@[]^_`{|}~"
"""Signs of a cookie's value beside letters and digits: RFC 6265, section 4.1.1."""

Encode = Callable[[str], str]


def encode_all(text: str) -> str:
    """Return ``text`` with every character percent-encoded that is not unreserved (RFC 3986, section 2.3)."""
    return quote(text, safe="")


def cookie_text(text: str) -> str:
    """Return ``text`` as the value of a cookie: as it is, or percent-encoded where it has other characters."""
    is_value = text.isascii() and all(sign.isalnum() or sign in _COOKIE_VALUE for sign in text)
    return text if is_value else encode_all(text)


def scalar_text(value: Any) -> str:
    """Return ``value`` as text: strings as they are, everything else as in JSON, 5 for 5.0 where it is an integer.

    >>> scalar_text(True), scalar_text("a b"), scalar_text({"x": [1]}), scalar_text(2.5)
    ('true', 'a b', '{"x":[1]}', '2.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | dict | list) or value is None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def named_values(name: str, value: Any, style: str, explode: bool, encode: Encode = encode_all) -> list[str]:
    """Return ``name=value`` for each pair that a parameter of a query, a form or a cookie has.

    >>> named_values("id", [3, 4], "form", True), named_values("id", [3, 4], "form", False)
    (['id=3', 'id=4'], ['id=3,4'])
    """
    if not isinstance(value, list | dict):
        return [] if value is None else [f"{encode(name)}={encode(scalar_text(value))}"]
    if style == "deepObject":
        return [f"{encode(path)}={encode(text)}" for path, text in _deep(name, value)]
    if explode:
        # OpenAPI leaves a list in an object undefined: frameworks read its key again and again, as that of a list.
        pairs = value.items() if isinstance(value, dict) else [(name, value)]
        texts = [(key, item if isinstance(item, list) else [item]) for key, item in pairs if item is not None]
        return [f"{encode(key)}={encode(scalar_text(item))}" for key, items in texts for item in items]
    return [f"{encode(name)}={SEPARATORS.get(style, ',').join(map(encode, texts_of(value)))}"]


def path_value(name: str, value: Any, style: str, explode: bool, encode: Encode = encode_all) -> str:
    """Return a parameter of a path or a header in the style ``simple``, ``label`` or ``matrix``.

    >>> path_value("id", [3, 4], "matrix", True), path_value("id", {"x": 1}, "simple", True)
    (';id=3;id=4', 'x=1')
    """
    if style == "matrix":
        return "".join(f";{pair}" for pair in named_values(name, value, "form", explode, encode)).removesuffix("=")
    is_named = isinstance(value, dict) and explode
    texts = named_values(name, value, "form", True, encode) if is_named else list(map(encode, texts_of(value)))
    return "." + ("." if explode else ",").join(texts) if style == "label" else ",".join(texts)


def _deep(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each scalar in ``value``: ``a[b][0]``."""
    # Validation bounds how deep arguments are nested.
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _deep(f"{path}[{key}]", item)
    elif value is not None:
        yield path, scalar_text(value)


_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
_TEMPLATE = re.compile(r"(?:/[\w.~!$&'()*+,;=:@{}%-]+)+/?|/")
"""A path by RFC 3987, section 2.2, without empty segments, with placeholders."""

_KEPT_IN_PATH = "/.~!$&'()*+,;=:@%-"

_MAX_LAYERS = 3
"""Percent-encodings on top of each other that a proxy and a server behind it may decode."""

_DOTS = frozenset({".", ".."})

KEEP_SLASHES = frozenset({"plain", "encoded"})
"""Ways in which a value with slashes may be sent where its parameter allows them: as ``/``, or as ``%2F``."""


class InvalidArgument(ValueError):
    """An argument that cannot be sent; ``str()`` is a sentence without its subject.

    Attributes:
        argument: its name, or that of the field of a body.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(problem)
        self.argument = argument


def placeholders(template: str) -> list[str]:
    """Return the names in braces in ``template``, in their order."""
    return _PLACEHOLDER.findall(template)


def check_template(template: str) -> None:
    """Check a path of a catalog.

    Raises:
        ValueError: it does not start with a slash, has an empty or a dot segment, a query or a fragment.
    """
    if _TEMPLATE.fullmatch(template) is None:
        raise ValueError(
            "must start with / and have no empty segment, and no sign that no path has, such as ? or a space"
        )
    if any(_decoded(segment) in _DOTS for segment in template.split("/")):
        raise ValueError("has a segment . or ..")
    if "{" in _PLACEHOLDER.sub("", template) or "}" in _PLACEHOLDER.sub("", template):
        raise ValueError("has a brace that belongs to no placeholder")


def expand_path(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each placeholder replaced by its percent-encoded value.

    Raises:
        InvalidArgument: a placeholder has no value, or a segment becomes empty, or one of dots.
    """
    if _PLACEHOLDER.search(template) is None:
        return quote(template, safe=_KEPT_IN_PATH)
    for name in placeholders(template):
        if name not in values:
            raise InvalidArgument(name, "is missing, and is a part of the path")
    path = _PLACEHOLDER.sub(lambda found: values[found[1]], template)
    written, arguments = template.split("/"), " and ".join(values)
    for number, segment in enumerate(path.split("/")):
        if not segment and (number >= len(written) or written[number]):
            raise InvalidArgument(arguments, "makes a part of the path empty")
        # Some servers drop what follows a semicolon before they resolve dot segments.
        if _decoded(segment).partition(";")[0] in _DOTS:
            raise InvalidArgument(arguments, "makes a part of the path . or ..")
    return quote(path, safe=_KEPT_IN_PATH)  # letters of the template that are not ASCII: RFC 3987, section 3.1


def check_value(argument: str, text: str, slashes: str = "") -> None:
    """Check a text that becomes a part of a path.

    Args:
        argument: the name of the argument.
        text: the text, not encoded.
        slashes: one of :data:`KEEP_SLASHES` where the parameter takes several segments.

    Raises:
        InvalidArgument: it cannot be sent.
    """
    if not text:
        raise InvalidArgument(argument, "is empty")
    for form in _layers(text):
        if any(ord(character) < 0x20 or character == "\x7f" for character in form):
            raise InvalidArgument(argument, "has a control character")
        if "\\" in form:
            raise InvalidArgument(argument, "has a backslash, which some servers take for a slash")
        if "/" in form and slashes not in KEEP_SLASHES:
            raise InvalidArgument(argument, "has a slash, which would lead to another path")
        if "/" in form and any(part in _DOTS or not part for part in form.split("/")):
            raise InvalidArgument(argument, "has a segment that is empty, . or ..")


def texts_of(value: Any) -> list[str]:
    """Return the texts in a value: the items of a list, names and values of the members of an object in turn."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, scalar_text(item))]
    return [scalar_text(item) for item in (value if isinstance(value, list) else [value])]


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
