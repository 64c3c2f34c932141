"""Check the HTTP binding of a tool, and the headers of a source, before anything is made of them.

A catalog may be hostile: with what passes these checks, ``binding.bind`` raises ``InvalidArgument`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolfold.sources.http_api.binding import Parameter, bound_parameters
from toolfold.sources.http_api.styles import STYLES, check_template, placeholders

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})

RESERVED_HEADERS = frozenset(
    {
        "authorization", "proxy-authorization", "cookie", "host", "content-length", "content-type", "transfer-encoding",
        "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "accept-encoding",
    }
)  # fmt: skip
"""Headers that no argument may set: those of the credentials, of the connection, and of the body."""

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header or a cookie: RFC 9110, section 5.6.2."""

_PARAMETER_FIELDS: Mapping[str, type] = {
    "in": str, "name": str, "style": str, "explode": bool, "content_type": str, "slashes": str, "reserved": bool,
    "filename": str, "base64": bool,
}  # fmt: skip
_BODY_FIELDS: Mapping[str, type] = {
    "content_type": str,
    "argument": str,
    "fields": dict,
    "encoding": dict,
    "base64": bool,
}
_TYPE_WORDS = {str: "text", bool: "true or false", dict: "objects", object: "values"}
"""Type → what errors call it."""


class BindingError(ValueError):
    """A binding that cannot be used: the catalog is damaged, or another program wrote it."""


def check_binding(call: Mapping[str, Any]) -> None:
    """Check the binding of a tool.

    Raises:
        BindingError: it has a value that it cannot have.
    """
    method, path = call.get("method", "GET"), call.get("path")
    if not isinstance(method, str) or method not in METHODS:
        raise BindingError(f"method must be one of {', '.join(sorted(METHODS))}")
    if not isinstance(path, str):
        raise BindingError("path is missing")
    try:
        check_template(path)
    except ValueError as error:
        raise BindingError(f"path {error}") from None
    _check_types("parameters", call.get("parameters", {}), dict)
    _check_types("sends", call.get("sends", {}), object)
    for argument, how in call.get("parameters", {}).items():
        _check_fields(f"parameter {argument[:64]!a}", how, _PARAMETER_FIELDS)
    if "body" in call:
        _check_body(call["body"])
    found = list(bound_parameters(call))
    if unbound := set(placeholders(path)) - {one.name for one in found if one.location == "path"}:
        raise BindingError(f"the placeholder {{{sorted(unbound)[0]}}} of the path has no parameter")
    for one in found:
        _check_parameter(one, path)


def check_header(name: Any, value: Any) -> None:
    """Check a header that a source wants with each request.

    Raises:
        BindingError: its name or its value cannot be sent, or it is one that the source may not set.
    """
    if not (isinstance(name, str) and TOKEN.fullmatch(name)):
        raise BindingError(f"{ascii(name)[:64]} cannot be the name of a header")
    if name.lower() in RESERVED_HEADERS:
        raise BindingError(f"the header {name} is not set by source.yaml; for credentials there is auth")
    if not (isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip()):
        raise BindingError(f"the header {name} must have a text of printable ASCII")


def _check_parameter(one: Parameter, path: str) -> None:
    shown = ascii(one.argument[:64])
    if one.location not in STYLES:
        raise BindingError(f"parameter {shown}: in must be one of {', '.join(STYLES)}")
    if one.style not in STYLES[one.location]:
        raise BindingError(f"parameter {shown}: style must be one of {', '.join(sorted(STYLES[one.location]))}")
    if one.location == "path" and one.name not in placeholders(path):
        raise BindingError(f"parameter {shown}: the path has no placeholder {{{one.name}}}")
    if one.location in ("header", "cookie") and TOKEN.fullmatch(one.name) is None:
        raise BindingError(f"parameter {shown}: {one.name[:64]!a} cannot be the name of a {one.location}")
    if one.location == "header" and one.name.lower() in RESERVED_HEADERS:
        raise BindingError(f"parameter {shown}: the header {one.name} is not set by an argument")


def _check_body(body: Any) -> None:
    if not isinstance(body, dict) or ("argument" in body) == ("fields" in body):
        raise BindingError("body must have either argument or fields")
    _check_fields("body", body, _BODY_FIELDS)
    _check_types("body.fields", body.get("fields", {}), str)
    _check_types("body.encoding", body.get("encoding", {}), dict)
    for how in body.get("encoding", {}).values():
        _check_fields("body.encoding", how, _PARAMETER_FIELDS)
        if how.get("style", "form") not in STYLES["query"]:
            raise BindingError("body.encoding has a style that it cannot have")


def _check_types(what: str, value: Any, type_: type) -> None:
    if not (isinstance(value, dict) and all(isinstance(one, type_) for one in value.values())):
        raise BindingError(f"{what} must be an object of {_TYPE_WORDS[type_]}")


def _check_fields(what: str, value: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    for name, type_ in fields.items():
        given = value.get(name, type_())
        if not isinstance(given, type_) or (isinstance(given, str) and not given.isprintable()):
            raise BindingError(f"{what}: {name} must be {_TYPE_WORDS[type_]}")
        if name == "content_type" and not str(given).isascii():
            raise BindingError(f"{what}: content_type must be a media type")
