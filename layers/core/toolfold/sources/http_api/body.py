"""Write arguments as the body of a request: JSON, a form, ``multipart/form-data``, text or bytes.

Read tables and lines of JSON, as services write them.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import io
import itertools
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from toolfold.results.values import has_decimal_comma, with_decimal_point
from toolfold.sources.http_api.styles import InvalidArgument, named_values, scalar_text

_SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"sep=.\r?\n", re.IGNORECASE)
"""The first line of a table for Excel."""
_QUOTED_CELL = re.compile(r'(^|[,;\t|]) *"[^"]*(?:""[^"]*)*"', re.MULTILINE)
"""It may have separators and line ends."""
_COMPARED, _MAX_READ = 10, 1_000
"""Rows of a table that show how its values are separated, and the lines in which they are looked for."""

_COMMA_NUMBER = re.compile(r"[-+]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?%?", re.ASCII)
"""A number whose decimals follow a comma, and whose thousands may be separated by points."""
_POINT_NUMBER = re.compile(r"[-+]?(?:\d*\.\d+|[\d,]*,\d{3}\.\d+|\d+(?:,\d+){2,})%?", re.ASCII)
"""Of others one with a decimal point, or with more than one comma."""
_DIGIT, _DECIMALS = re.compile(r"\d"), re.compile(r"\d,\d", re.ASCII)


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


def comma_separated(text: str) -> tuple[str, str] | None:
    """Return a table with commas between its values, and a note where its numbers are written in another way.

    Without the comments before the table; None for other text.
    """
    text = _SEPARATOR_LINE.sub("", text, count=1)
    comments = list(itertools.takewhile(lambda line: line[0] == "#", text.splitlines(keepends=True)))
    body = text[len("".join(comments)) :]
    head = _QUOTED_CELL.sub(r"\1x", "\n".join(body.split("\n", _MAX_READ)[:_MAX_READ]))
    rows = [line for line in head.split("\n", _COMPARED)[:_COMPARED] if line.strip()]
    counts = {separator: min((row.count(separator) for row in rows), default=0) for separator in _SEPARATORS}
    separator = max(_SEPARATORS, key=counts.__getitem__)
    if not counts[separator] or "\n" not in text:
        return None
    is_data = any(cell.strip(' "+-')[:1].isdigit() for cell in rows[0].split(separator))
    if is_data and comments and comments[-1].count(separator) == rows[0].count(separator):
        body = comments[-1] + body  # the names of the columns
    text = body
    if separator == ",":
        return text, ""
    # Where decimals follow a comma, programs separate values by semicolons. Beside tabs and bars, "1,2" may be a list.
    columns, note = _decimal_commas(text) if separator == ";" and _DECIMALS.search(text) else (set[int](), "")
    written = io.StringIO()
    writer = csv.writer(written)
    for line, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=separator)):
        for index in columns if line else ():
            if index < len(row) and _DIGIT.search(row[index]):
                row[index] = with_decimal_point(row[index])
        writer.writerow(row)
    return written.getvalue(), note


def _decimal_commas(text: str) -> tuple[set[int], str]:
    """Return the places of the columns whose numbers have decimal commas, and a note; none where one has a point.

    All values with digits in such a column are such numbers: one of dates, addresses or lists stays as it is.
    """
    found, others, sure = set[int](), set[int](), dict[int, str]()
    for row in itertools.islice(csv.reader(io.StringIO(text, newline=""), delimiter=";"), 1, None):
        for index, cell in enumerate(row):
            if cell.isdecimal() or (index in others and "." not in cell and "," not in cell):
                continue
            is_sure = has_decimal_comma(cell.removesuffix("%"))
            if is_sure or _COMMA_NUMBER.fullmatch(cell):
                found.add(index)
                if is_sure:
                    sure.setdefault(index, cell)
            elif _POINT_NUMBER.fullmatch(cell):
                return set(), ""
            elif _DIGIT.search(cell):
                others.add(index)
    example = next((cell for index, cell in sure.items() if index not in others), "")
    if not example:
        return set(), ""
    return found - others, f"Numbers here have a decimal comma: {example} is read as {with_decimal_point(example)}."


JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"

NO_BODY_EXPECTED = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
"""Methods whose requests have no body where no argument is a part of one, and whose arguments are in the query."""


def is_json_type(content_type: str) -> bool:
    """Return whether a media type is JSON.

    >>> is_json_type("application/problem+json; charset=utf-8"), is_json_type("text/plain")
    (True, False)
    """
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type in (JSON, "text/json") or media_type.endswith("+json")


def encode_body(
    binding: Mapping[str, Any], arguments: Mapping[str, Any], method: str = "POST"
) -> tuple[str, bytes] | None:
    """Return the content type and the bytes of the body; None for a request without one.

    Args:
        binding: ``body`` of the tool's ``call``: ``content_type``, and either ``argument``, the argument that is the
            whole body, or ``fields``, argument → name in the body. ``encoding`` has, by name in the body, ``style`` and
            ``explode`` of a form's field, ``content_type`` and ``filename`` of a part, and ``base64``: whether the
            argument is the base64 text of bytes. With ``argument``, ``base64`` stands beside it. With ``required``
            there is a body of ``fields`` with every method, if only an empty one.
        arguments: validated arguments.
        method: the HTTP method.

    Raises:
        InvalidArgument: an argument that cannot be written.
    """
    content_type = str(binding.get("content_type", JSON))
    if "argument" in binding:
        name = binding["argument"]
        if name not in arguments:
            return None
        return _whole(content_type, str(name), arguments[name], binding)
    fields = binding.get("fields", {})
    given = {wire: arguments[argument] for argument, wire in fields.items() if argument in arguments}
    if not given and method in NO_BODY_EXPECTED and not binding.get("required"):
        return None
    return _whole(content_type, "body", given, binding)


def _whole(content_type: str, name: str, value: Any, binding: Mapping[str, Any]) -> tuple[str, bytes]:
    media_type = content_type.partition(";")[0].strip().lower()
    encoding: Mapping[str, Mapping[str, Any]] = binding.get("encoding", {})
    if is_json_type(media_type):
        return content_type, _json(name, value)
    if media_type == FORM:
        return content_type, _form(_members(name, value), encoding)
    if media_type.startswith("multipart/"):
        return _multipart(media_type, _members(name, value), encoding)
    if media_type.endswith(("ndjson", "jsonl", "json-seq")) and isinstance(value, list):
        start = b"\x1e" if media_type.endswith("json-seq") else b""  # RFC 7464, section 2.2
        return content_type, b"".join(start + _json(name, item) + b"\n" for item in value)
    return content_type, _bytes(name, value, bool(binding.get("base64")))


def _json(name: str, value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise InvalidArgument(name, "has a number that JSON does not have, such as NaN") from None


def _members(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgument(name, "must be an object: its members are the fields of a form")
    return value


def _form(fields: Mapping[str, Any], encoding: Mapping[str, Mapping[str, Any]]) -> bytes:
    pairs: list[str] = []
    for wire, value in fields.items():
        how = encoding.get(wire, {})
        style = str(how.get("style", "form"))
        # A form has no objects: https://spec.openapis.org/oas/v3.1.1.html#encoding-object
        given = scalar_text(value) if isinstance(value, dict) and "style" not in how else value
        pairs += named_values(wire, given, style, bool(how.get("explode", style == "form")), quote_plus)
    return "&".join(pairs).encode("ascii")


def _multipart(
    media_type: str, fields: Mapping[str, Any], encoding: Mapping[str, Mapping[str, Any]]
) -> tuple[str, bytes]:
    from urllib3.fields import RequestField
    from urllib3.filepost import encode_multipart_formdata

    parts = []
    for wire, value in fields.items():
        how = encoding.get(wire, {})
        is_list = isinstance(value, list) and not is_json_type(str(how.get("content_type", "")))
        is_file = bool(how.get("base64") or "filename" in how)
        name = str(how.get("filename", wire)) if is_file else None
        for item in value if is_list else [value]:
            if item is not None:
                usual = JSON if isinstance(item, dict | list) else "application/octet-stream" if is_file else None
                part = RequestField(wire, _bytes(wire, item, bool(how.get("base64"))), name)
                part.make_multipart(content_type=str(how.get("content_type") or "") or usual)
                parts.append(part)
    # A hash of the content: it cannot be in the content by accident, and the same call is the same bytes.
    content, _ = encode_multipart_formdata(parts, "-")
    boundary = f"toolfold-{hashlib.sha256(content).hexdigest()[:32]}"
    return f"{media_type}; boundary={boundary}", encode_multipart_formdata(parts, boundary)[0]


def _bytes(name: str, value: Any, is_base64: bool) -> bytes:
    text = scalar_text(value)
    if not is_base64:
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgument(name, "must be base64 text of the bytes to send") from None
