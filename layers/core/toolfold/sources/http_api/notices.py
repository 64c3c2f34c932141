"""Find the notices to a user in a response: texts under keys of a source, in the envelopes in which they are sent.

A notice is a text under one of the source's keys: ``{"Information": "…"}``. The same notice also comes in a list or an
object (``{"Information": ["…"]}``), in an array, or in an object that has nothing else (``{"data": {"Note": "…"}}``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

MAX_CHARS = 2000
"""Characters of a text in which a fault is recognised. Expressions of a catalog may take quadratic time."""

_MAX_MEMBERS = 3
"""Members of an object or array that may be an envelope."""

_MAX_SPELLED = 10
"""Members of an object whose names are compared regardless of letter case."""

_MAX_DEPTH, _MAX_TEXTS = 3, 20


def find_notices(data: Any, names: Collection[str]) -> dict[str, list[str]]:
    """Return the texts of the notices in ``data``: name → texts.

    Args:
        data: a parsed response.
        names: the keys that notices of the source have.
    """
    found: dict[str, list[str]] = {}
    spelled = {name.lower(): name for name in names}
    for level, part in _envelopes(data, 0):
        if isinstance(part, dict) and (level == 0 or all(name.strip().lower() in spelled for name in part)):
            for name, value in _named(part, names, spelled):
                found.setdefault(name, []).extend(_texts(value))
    return found


def _named(part: Mapping[str, Any], names: Collection[str], spelled: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    if len(part) <= _MAX_SPELLED:
        for name, value in part.items():
            if name.strip().lower() in spelled:
                yield spelled[name.strip().lower()], value
    else:
        for name in names:
            if name in part:
                yield name, part[name]


def _envelopes(data: Any, level: int) -> Iterator[tuple[int, Any]]:
    """Yield ``data`` and what may be an envelope in it, with the number of levels around it."""
    yield level, data
    if level < _MAX_DEPTH and isinstance(data, dict | list) and len(data) <= _MAX_MEMBERS:
        for inner in data.values() if isinstance(data, dict) else data:
            if isinstance(inner, dict | list):
                yield from _envelopes(inner, level + 1)


def _texts(value: Any, depth: int = 0) -> list[str]:
    """Return the first texts in ``value``."""
    if isinstance(value, str):
        return [value]
    if depth > _MAX_DEPTH or not isinstance(value, dict | list):
        return []
    found: list[str] = []
    for inner in islice(value.values() if isinstance(value, dict) else value, _MAX_TEXTS):
        found += _texts(inner, depth + 1)
    return found[:_MAX_TEXTS]
