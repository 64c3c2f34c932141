"""Write arguments as text in the styles of OpenAPI, percent-encoded.

The table of styles: https://spec.openapis.org/oas/v3.1.1.html#style-examples. What the specification leaves undefined
is written so that no value is lost: an object or array inside a value is JSON, and ``deepObject`` goes to any depth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

__all__ = ["DEFAULT_STYLES", "STYLES", "cookie_text", "encode_all", "named_values", "path_value", "scalar_text"]

STYLES = {
    "path": frozenset({"simple", "label", "matrix"}),
    "query": frozenset({"form", "spaceDelimited", "pipeDelimited", "deepObject"}),
    "header": frozenset({"simple"}),
    "cookie": frozenset({"form"}),
}
"""Location of a parameter → the styles that it can have."""

DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
"""Location of a parameter → its style where none is given."""

_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
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

    Args:
        name: the name of the parameter.
        value: a JSON value; None has none.
        style: one of the styles of ``query``.
        explode: whether each item or member is a pair of its own.
        encode: percent-encodes a name or a value.

    >>> named_values("id", [3, 4], "form", True), named_values("id", [3, 4], "form", False)
    (['id=3', 'id=4'], ['id=3,4'])
    """
    if value is None:
        return []
    if style == "deepObject" and isinstance(value, dict | list):
        return [f"{encode(path)}={encode(text)}" for path, text in _deep(name, value)]
    if isinstance(value, dict) and explode:
        return [f"{encode(key)}={encode(scalar_text(item))}" for key, item in value.items() if item is not None]
    if isinstance(value, list) and explode:
        return [f"{encode(name)}={encode(scalar_text(item))}" for item in value]
    if isinstance(value, dict | list):
        return [f"{encode(name)}={_SEPARATORS.get(style, ',').join(encode(text) for text in _flat(value))}"]
    return [f"{encode(name)}={encode(scalar_text(value))}"]


def path_value(name: str, value: Any, style: str, explode: bool, encode: Encode = encode_all) -> str:
    """Return a parameter of a path or a header in the style ``simple``, ``label`` or ``matrix``.

    >>> path_value("id", [3, 4], "matrix", True), path_value("id", {"x": 1}, "simple", True)
    (';id=3;id=4', 'x=1')
    """
    is_container = isinstance(value, dict | list)
    if isinstance(value, dict) and explode:
        texts = [f"{encode(key)}={encode(scalar_text(item))}" for key, item in value.items()]
    else:
        texts = [encode(text) for text in (_flat(value) if is_container else [scalar_text(value)])]
    if style == "label":
        return "." + ("." if explode else ",").join(texts)
    if style != "matrix":
        return ",".join(texts)
    if isinstance(value, dict) and explode:
        return "".join(f";{text}" for text in texts)
    if isinstance(value, list) and explode:
        return "".join(f";{encode(name)}={text}" for text in texts)
    joined = ",".join(texts)
    return f";{encode(name)}={joined}" if joined else f";{encode(name)}"


def _flat(value: dict[str, Any] | list[Any]) -> list[str]:
    """Return the items of a list, or names and values of an object in turn, as texts."""
    if isinstance(value, list):
        return [scalar_text(item) for item in value]
    return [text for key, item in value.items() for text in (key, scalar_text(item))]


def _deep(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each scalar in ``value``: ``a[b][0]``."""
    # Validation bounds how deep arguments are nested.
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _deep(f"{path}[{key}]", item)
    elif value is not None:
        yield path, scalar_text(value)
