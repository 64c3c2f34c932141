"""Check parts of a catalog that others wrote against the one JSON Schema of compiled catalogs, ``contract.json``.

A catalog may come from a bucket or a file that others can write, with hashes that fit. The schema says what its values
may be (``build.compiled_contract``); ``catalog.allow_list`` decides what a valid catalog may make this process do.
The catalog in the package is not checked: who can write that file can write this one as well.

The types of the keywords of a JSON Schema of a tool are those of the meta-schema, which is part of the contract. Its
depth, its size and its texts are checked beside it. References are followed without descending into the arguments: a
schema that applies itself to the same value has no meaning, and one that applies another very often is exponential
(``allOf`` of two references to an ``allOf`` of two references …). A schema that refers to itself further down is
common. The levels of arguments for which it stays cheap are known from :func:`max_nesting`.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import KEY_PLACES
from toolfold.catalog.json_schema import IN_PLACE, LISTS, NAMED, SINGLE, inner, resolve
from toolfold.catalog.text_checks import FORMATS, MAX_TEXT, text_problem

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_MIN_TOOL_BYTES = 40
"""Bytes that each tool takes at least, of its three lines. It bounds the number of tools by the size of the catalog."""

_MAX_DEPTH, _MAX_SCHEMAS, _MAX_VALUES = 32, 10_000, 50_000
_MAX_APPLIED = 2000
"""Schemas that one schema may apply to the same value."""

_MAX_WORK = 1_000_000
"""Schemas that one path of arguments may meet, about a tenth of a second."""

_MAX_NUMBER = 2**64
_WITH_SCHEMAS = frozenset({*NAMED, *LISTS, *SINGLE, "contentSchema"})
_TEXTS = frozenset({"description", "title", "$comment"})
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_NOT_INSIDE = IN_PLACE | {"properties", "$defs", "definitions"}


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
    numbers = [count, *(head.get(key, 0) for key in ("confirmed", "skills", "related"))]
    numbers += [category["tools"] for category in head["categories"]]
    numbers += [number for counted in head["counts"].values() for number in counted.values()]
    numbers += [at for at, _ in head.get("common", ())]
    # JSON Schema takes 3.0 for an integer.
    _require(all(number <= count and type(number) is int for number in numbers), "a count")
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


@cache
def _validator(part: str) -> Validator:
    import jsonschema_rs  # loads a compiled library, which the catalog of the package does not need

    with open(os.path.join(os.path.dirname(__file__), "contract.json"), encoding="utf-8") as file:
        definitions = json.load(file)["$defs"]
    schema = {"$ref": f"#/$defs/{part}", "$defs": definitions}

    def has(problem: Callable[[str], str]) -> Callable[[str], bool]:
        return lambda text: not problem(text)

    formats = {name: has(problem) for name, problem in FORMATS.items()}
    return jsonschema_rs.validator_for(schema, formats=formats, validate_formats=True, offline=True)


def check_schema(schema: Any) -> None:
    """Check a whole schema that is one by the meta-schema.

    Raises:
        ValueError: It has a value that no schema of this catalog can have.
    """
    _Applied(schema)


def check_value(value: Any, depth: int = 0, count: list[int] | None = None) -> None:
    """Check a JSON value that a model may read: its depth, its size, its numbers and the characters of its texts.

    Raises:
        ValueError: It cannot be shown.
    """
    count = [0] if count is None else count
    count[0] += 1
    if depth > _MAX_DEPTH or count[0] > _MAX_VALUES:
        raise ValueError("has a value that is nested too deeply or too large")
    if isinstance(value, str):
        if value.isascii() and value.isprintable():
            return  # what else is wrong with a text is allowed in a value
        # Line breaks and tabs may be part of a value, which is shown as JSON.
        if problem := text_problem(value.translate(_WHITE_SPACE).lstrip("# ").replace("://", "")):
            raise ValueError(f"has a value that {problem}")
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_value(name, depth, count)
            check_value(inner, depth + 1, count)
    elif isinstance(value, list):
        for inner in value:
            check_value(inner, depth + 1, count)
    elif value is not None and not (abs(value) <= _MAX_NUMBER if isinstance(value, int) else math.isfinite(value)):
        raise ValueError("has a number that is too large")


_WHITE_SPACE = {ord(character): " " for character in "\t\n\r"}


def _checked(schema: Any, depth: int, count: list[int]) -> Iterator[Mapping[str, Any]]:
    """Yield ``schema`` and all schemas in it, after checking each."""
    count[0] += 1
    if not isinstance(schema, dict) or depth > _MAX_DEPTH or count[0] > _MAX_SCHEMAS:
        raise ValueError("is no JSON Schema, or is too large")
    yield schema
    for keyword, value in schema.items():
        if keyword in _TEXTS:
            if not isinstance(value, str) or len(value) > MAX_TEXT:
                raise ValueError(f"has a {keyword} that is not a text of up to {MAX_TEXT} characters")
            if problem := text_problem(value):
                raise ValueError(f"has a {keyword} that {problem}")
        elif keyword not in _WITH_SCHEMAS:
            check_value([keyword, value])
        elif keyword in NAMED:
            check_value([*value] if isinstance(value, dict) else value)
        if keyword in _REFERENCES and not (isinstance(value, str) and value.startswith("#")):
            raise ValueError(f"has a reference to another document, {str(value)[:64]!a}")
    for keyword, part in inner(schema):
        if keyword in _WITH_SCHEMAS:
            yield from _checked(part, depth + 1, count)


class _Applied:
    """Which schemas each schema in a checked one applies to the same value, and which to the values in it."""

    def __init__(self, root: Any) -> None:
        schemas = list(_checked(root, 0, [0]))
        self._root, self._schemas, self._work = root, {id(part): part for part in schemas}, dict[int, int]()
        self.has_references = any(not _REFERENCES.isdisjoint(part) for part in schemas)
        anchors = [(part.get(key), part) for part in schemas for key in ("$anchor", "$dynamicAnchor")]
        self._anchors = {name: part for name, part in anchors if isinstance(name, str)}
        if self.has_references and any("$id" in part for part in schemas[1:]):
            raise ValueError("has an $id below the root, to which references would relate")
        for part in schemas if self.has_references else ():
            self._applied(part, 0)

    def _applied(self, part: Mapping[str, Any], depth: int) -> int:
        known = self._work.get(id(part))
        if known == 0 or depth > 10 * _MAX_DEPTH:
            raise ValueError("has a schema that refers to itself without an end")
        if known is not None:
            return known
        self._work[id(part)] = 0
        work = 1 + sum(self._applied(one, depth + 1) for one in self.in_place(part))
        if work > _MAX_APPLIED:
            raise ValueError("has references that multiply")
        self._work[id(part)] = work
        return work

    def in_place(self, part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the schemas that ``part`` applies to the value that it is applied to."""
        references = [part[key] for key in _REFERENCES if key in part]
        found = [self._anchors.get(one[1:]) or resolve(self._root, one) for one in references]
        for one in (*found, *(one for keyword, one in inner(part) if keyword in IN_PLACE)):
            if isinstance(one, dict):
                if id(one) not in self._schemas:  # the value of an unknown keyword, or of one that has data
                    self._schemas |= {id(below): below for below in _checked(one, 0, [0])}
                yield one

    def inside(self, part: Mapping[str, Any]) -> Counter[tuple[str, int]]:
        """Return the schemas that are applied to one value inside, as (name of a property or "", id) → times."""
        found: Counter[tuple[str, int]] = Counter()
        open_ = [part]
        while open_:
            rule = open_.pop()
            open_ += self.in_place(rule)
            found.update((name, id(one)) for name, one in rule.get("properties", {}).items() if isinstance(one, dict))
            found.update(("", id(one)) for keyword, one in inner(rule) if keyword not in _NOT_INSIDE)
        return found

    def max_nesting(self, most: int) -> int:
        """Return the levels of arguments up to ``most`` for which at most :data:`_MAX_WORK` schemas are met."""
        inside = {key: self.inside(part) for key, part in list(self._schemas.items())}
        missing = {key for found in inside.values() for _, key in found} - inside.keys()
        work = dict.fromkeys(inside, 1) | dict.fromkeys(missing, 1)
        for level in range(most):
            if work[id(self._root)] > _MAX_WORK:
                return level
            deeper = {}
            for key in work:
                by_name = Counter({"": 0})
                for (name, below), times in inside.get(key, {}).items():
                    by_name[name] += times * work[below]
                deeper[key] = self._work.get(key, 1) + by_name.pop("") + max(by_name.values(), default=0)
            if deeper == work:  # no schema refers to itself
                return most
            work = deeper
        return most


def max_nesting(schema: Any, most: int) -> int:
    """Return how many levels of arguments may be checked against ``schema``, at most ``most``.

    Example:
        >>> max_nesting({"properties": {"a": {}}}, 64)
        64
    """
    applied = _Applied(schema)
    return max(2, applied.max_nesting(most)) if applied.has_references else most
