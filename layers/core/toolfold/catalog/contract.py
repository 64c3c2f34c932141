"""Check parts of a catalog that others wrote against the one JSON Schema of compiled catalogs, ``contract.json``.

A catalog may come from a bucket or a file that others can write, with hashes that fit. The schema says what its values
may be (``build.compiled_contract``); ``catalog.allow_list`` decides what a valid catalog may make this process do.
The catalog in the package is not checked: who can write that file can write this one as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import KEY_PLACES
from toolfold.catalog.schema_checks import check_schema, check_value
from toolfold.catalog.text_checks import FORMATS, MAX_TEXT, text_problem

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_MIN_TOOL_BYTES = 40
"""Bytes that each tool takes at least, of its three lines. It bounds the number of tools by the size of the catalog."""


def check_part(part: str, value: Any) -> None:
    """Check that ``value`` is a ``part`` of a compiled catalog: a section, or one of ``compiled_contract.PARTS``.

    Raises:
        ValueError: It has a value that the compiler does not write; ``str()`` says which.
    """
    from jsonschema_rs import ValidationError

    try:
        _validator(part).validate(value)
    except ValidationError as error:
        where = ".".join(str(step)[:64] for step in error.instance_path)
        problem = text_problem(error.instance) if isinstance(error.instance, str) else ""
        raise ValueError(f"{ascii(where)[1:-1] or 'whole'} {problem or 'has a value that it cannot have'}") from None


def is_part(part: str, value: Any) -> bool:
    """Return whether ``value`` is a ``part`` of a compiled catalog."""
    try:
        check_part(part, value)
    except ValueError:
        return False
    return True


def check_head(head: Mapping[str, Any]) -> None:
    """Check the head of a catalog.

    Raises:
        ValueError: It has a value that the compiler does not write; ``str()`` says which.
    """
    check_part("Head", head)
    count = head["count"]
    numbers = [head.get(key, 0) for key in ("confirmed", "skills", "related")]
    numbers += [category["tools"] for category in head["categories"]]
    numbers += [number for counted in head["counts"].values() for number in counted.values()]
    numbers += [at for at, _ in head.get("common", ())]
    _require(all(number <= count for number in numbers), "a count")
    _require(count <= head.get("bytes", count * _MIN_TOOL_BYTES) // _MIN_TOOL_BYTES, "count")
    _require(all(category["source"] in head["sources"] for category in head["categories"]), "category")
    for entry in head["sources"].values():
        _require(len(repr(entry.get("connection"))) <= MAX_TEXT, "connection")
        auth = entry["auth"] or {}
        oauth2 = auth.get("oauth2") or {}
        signs_in = oauth2.get("grant") == "authorization_code"
        _require(sum(bool(auth.get(place)) for place in KEY_PLACES) <= 1, "auth")
        _require(not (signs_in and auth.get("caller_key")), "auth.caller_key")
        _require(signs_in == bool(oauth2.get("authorization_url")), "auth.oauth2.authorization_url")


def check_line(section: str, value: Any) -> None:
    """Check a value of a section.

    Raises:
        ValueError: The compiler does not write it; ``str()`` says what is wrong.
    """
    check_part(section, value)
    if section == "tools":
        for field in ("example", "call", "answer", "hints"):
            check_value(value.get(field))
        check_schema(value["parameters"])
    elif section in ("definitions", "exposed"):
        for definition in [value] if section == "definitions" else [one["definition"] for one in value]:
            check_schema(definition["inputSchema"])


def _require(condition: bool, field: str) -> None:
    if not condition:
        raise ValueError(f"{field} has a value that it cannot have")


def _has_format(name: str, text: str) -> bool:
    return not FORMATS[name](text)


@cache
def _validator(part: str) -> Validator:
    import jsonschema_rs  # loads a compiled library, which the catalog of the package does not need

    with open(os.path.join(os.path.dirname(__file__), "contract.json"), encoding="utf-8") as file:
        definitions = json.load(file)["$defs"]
    schema = {"$ref": f"#/$defs/{part}", "$defs": definitions}
    formats: dict[str, Callable[[str], bool]] = {name: partial(_has_format, name) for name in FORMATS}
    return jsonschema_rs.validator_for(schema, formats=formats, validate_formats=True, offline=True)
