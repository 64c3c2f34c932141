"""Make a request of a tool's HTTP binding and the arguments of a call: pure functions, without keys and hosts.

A catalog may be hostile: with what passes :func:`check_binding`, :func:`bind` raises ``InvalidArgument`` alone.

The binding is the tool's ``call``, written by the importers of the kinds ``http_api`` and ``openapi``::

    {
        "method": "GET",
        "path": "/pets/{petId}",
        "parameters": {argument: {"in": …, "name": …, "style": …, "explode": …, …}},
        "body": {"content_type": …, "argument": …} or {"content_type": …, "fields": {argument: name}},
        "sends": {argument: value},
    }

Keys with their default value are left out: ``GET``; ``in`` is ``path`` for a placeholder of the path and else
``query``; ``name`` is that of the argument; ``style`` and ``explode`` are those of OpenAPI. Further keys of parameters:

=================  ====================================================================================================
``content_type``   the value is one text of this type: JSON for ``application/json``
``slashes``        a value of a path may have slashes, and they are sent ``plain`` or ``encoded``; else it is refused
=================  ====================================================================================================

``sends`` are values of arguments that a call leaves out, also of some that no schema has. An argument that the binding
does not mention is a part of the query. An empty path is that of the source.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

from toolfold.catalog.contract import check_part
from toolfold.catalog.entries import Rule, parse_entry
from toolfold.sources.http_api.body import encode_body, is_json_type
from toolfold.sources.http_api.styles import (
    SEPARATORS,
    STYLES,
    InvalidArgument,
    Location,
    check_template,
    check_value,
    cookie_text,
    encode_all,
    expand_path,
    named_values,
    path_value,
    placeholders,
    scalar_text,
    texts_of,
)

_ENCODED_SLASH = re.compile("%2F", re.IGNORECASE)


class BoundRequest(NamedTuple):
    """A request without host and credentials. The path, and the pairs of query and cookies, are percent-encoded."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    cookies: tuple[str, ...] = ()
    content_type: str = ""
    body: bytes | None = None


_Printable = Annotated[str, Rule(format="printable")]


class Parameter(NamedTuple):
    """How one argument is sent. Fields as in the binding, where ``location`` is ``in``."""

    argument: str
    location: Location = "query"
    name: _Printable = ""
    style: _Printable = ""
    explode: bool = True
    content_type: Annotated[str, Rule(pattern="^[ -~]*$")] = ""
    slashes: _Printable = ""


def bind(
    call: Mapping[str, Any],
    arguments: Mapping[str, Any],
    taken: Collection[tuple[str, str]] = (),
    declared: Sequence[Parameter] | None = None,
) -> BoundRequest:
    """Return the request that a call with ``arguments`` is.

    Args:
        call: the binding, which :func:`check_binding` accepts.
        arguments: validated arguments. None is the same as an argument that is left out, except in a body; so is a list
            or an object without members.
        taken: location and name of what the credentials of the source are sent as; no argument can be sent there.
        declared: what :func:`check_binding` has returned for the binding.

    Raises:
        InvalidArgument: an argument cannot be sent.

    >>> bind({"path": "/pets/{id}"}, {"id": 7, "tags": ["a", "b"]})[:3]
    ('GET', '/pets/7', ('tags=a', 'tags=b'))
    """
    method, template, body = call.get("method", "GET"), call["path"], call.get("body")
    values = {**call.get("sends", {}), **arguments}
    segments, headers = dict[str, str](), dict[str, str]()
    pairs: dict[str, list[str]] = {"query": [], "cookie": []}
    parameters = bound_parameters(call, values, declared)
    for one in parameters:
        value = values.get(one.argument)
        # A list or an object without members is not defined (RFC 6570, section 2.3, whose operators the styles are).
        if one.location != "path" and (value is None or (value in ([], {}) and not one.content_type)):
            continue
        if (one.location, one.name.lower() if one.location == "header" else one.name) in taken:
            raise InvalidArgument(one.argument, "would be sent in the place of the credentials")
        if one.content_type:
            is_json = is_json_type(one.content_type)
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":")) if is_json else scalar_text(value)
        if one.location == "path":
            segments[one.name] = _segment(one, value)
        elif one.location == "header":
            headers[one.name] = _header(one, value)
        else:
            if isinstance(value, dict) or not one.explode:
                _check_items(one, value, parameters, taken)
            encode = cookie_text if one.location == "cookie" else encode_all
            pairs[one.location] += named_values(one.name, value, one.style, one.explode, encode)
    path = expand_path(template, segments)
    content = encode_body(body, values, method) if body is not None else None
    content_type, sent = content or ("", None)
    return BoundRequest(method, path, tuple(pairs["query"]), headers, tuple(pairs["cookie"]), content_type, sent)


def bound_parameters(
    call: Mapping[str, Any], names: Iterable[str], declared: Sequence[Parameter] | None = None
) -> Sequence[Parameter]:
    """Return the parameters of a binding, ``declared`` if given, then those of ``names`` that it does not mention."""
    declared, body = _declared(call) if declared is None else declared, call.get("body", {})
    known = {one.argument for one in declared}.union(body.get("fields", ()), (body.get("argument"),))
    return [*declared, *[Parameter(name, name=name, style="form") for name in names if name not in known]]


def _declared(call: Mapping[str, Any]) -> Sequence[Parameter]:
    """Return what ``parameters`` of a binding says, and the placeholders of its path that it does not mention."""
    declared: Mapping[str, Mapping[str, Any]] = call.get("parameters", {})
    in_path, body = placeholders(call["path"]), call.get("body", {})
    known = {how.get("name", argument) for argument, how in declared.items() if how.get("in", "path") == "path"}
    known.update(body.get("fields", ()), (body.get("argument"),), declared)
    found = []
    for argument, how in declared.items():
        location = how.get("in", "path" if how.get("name", argument) in in_path else "query")
        style = how.get("style", STYLES[location][0])
        usual = {"name": argument, "style": style, "explode": style == "form"}
        found.append(parse_entry(Parameter, {**usual, **how}, argument=argument, location=location))
    others = dict.fromkeys(name for name in in_path if name not in known)
    return [*found, *(Parameter(name, "path", name, "simple", False) for name in others)]


def _segment(one: Parameter, value: Any) -> str:
    if one.slashes == "encoded" and isinstance(value, str):
        value = _ENCODED_SLASH.sub("/", value)  # services request it encoded, and it is encoded below
    for text in texts_of("" if value is None else value):
        check_value(one.argument, text, one.slashes)
    encode = functools.partial(quote, safe="/" if one.slashes == "plain" else "")
    written = path_value(one.name, value, one.style, one.explode, encode)
    if not written or value in ([], {}):
        raise InvalidArgument(one.argument, "is empty, and is a part of the path")
    return written


def _check_items(
    one: Parameter, value: Any, parameters: Sequence[Parameter], taken: Collection[tuple[str, str]]
) -> None:
    """Check that the parts of a value, which is sent in a query or a cookie, are read as what they are."""
    if isinstance(value, dict) and one.explode and one.style == "form":
        # The names of members come from the caller, and must not be read as another parameter of the tool.
        names = {other.name for other in parameters if other.location == "query"}
        others = sorted(names.union(name for _, name in taken).intersection(value) - {one.name})
        if others:
            raise InvalidArgument(one.argument, f"has a member {others[0]}, which is another parameter")
    separator = unquote(SEPARATORS.get(one.style, ""))
    if separator in (" ", "|") and not one.explode and any(separator in text for text in texts_of(value)):
        raise InvalidArgument(one.argument, f"has an item with {separator!r}, which separates the items")


def _header(one: Parameter, value: Any) -> str:
    if isinstance(value, list | dict) and any("," in text for text in texts_of(value)):
        raise InvalidArgument(one.argument, "has an item with a comma, which separates the items of a header")
    text = path_value(one.name, value, "simple", one.explode, str)
    # Line breaks would begin another header. White space at the ends is not a part of a value: RFC 9110, section 5.5.
    if not (text.isascii() and text.isprintable()):
        raise InvalidArgument(one.argument, "has a character that a header cannot have; only printable ASCII is sent")
    if text != text.strip():
        raise InvalidArgument(one.argument, "has white space at an end, which a header does not keep")
    return text


RESERVED_HEADERS = frozenset(
    {
        "authorization", "proxy-authorization", "cookie", "host", "content-length", "content-type", "transfer-encoding",
        "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "accept-encoding",
    }
)  # fmt: skip
"""Headers that no argument may set: those of the credentials, of the connection, and of the body."""

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header or a cookie: RFC 9110, section 5.6.2."""


class BindingError(ValueError):
    """A binding that cannot be used: the catalog is damaged, or another program wrote it."""


def check_binding(call: Mapping[str, Any]) -> Sequence[Parameter]:
    """Check the binding of a tool, and return the parameters that it declares.

    Raises:
        BindingError: it has a value that it cannot have.
    """
    try:
        check_part("HttpCall", call)
    except (ValueError, RecursionError) as error:
        raise BindingError(str(error)) from None
    path = call["path"]
    try:
        if path:
            check_template(path)
    except ValueError as error:
        raise BindingError(f"path {error}") from None
    declared, in_path = _declared(call), placeholders(path)
    if unbound := set(in_path) - {one.name for one in declared if one.location == "path"}:
        raise BindingError(f"the placeholder {{{sorted(unbound)[0]}}} of the path has no parameter")
    for one in declared:
        shown = ascii(one.argument[:64])
        if one.style not in STYLES[one.location]:
            raise BindingError(f"parameter {shown}: style must be one of {', '.join(sorted(STYLES[one.location]))}")
        if one.location == "path" and one.name not in in_path:
            raise BindingError(f"parameter {shown}: the path has no placeholder {{{one.name}}}")
        if one.location in ("header", "cookie") and TOKEN.fullmatch(one.name) is None:
            raise BindingError(f"parameter {shown}: {one.name[:64]!a} cannot be the name of a {one.location}")
        if one.location == "header" and one.name.lower() in RESERVED_HEADERS:
            raise BindingError(f"parameter {shown}: the header {one.name} is not set by an argument")
    return declared


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
