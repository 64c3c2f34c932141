"""Compare an answer with the values that it should hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

_RELATIVE_TOLERANCE = 1e-3


def values_of(value: Any) -> Iterator[Any]:
    """Yield all single values in an answer, which may be CSV."""
    if isinstance(value, str) and "\n" in value:
        value = [row.split(",") for row in value.splitlines()]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from values_of(item)
    else:
        yield value


def holds(found: list[Any], wanted: list[Any]) -> bool:
    """Return whether all of ``wanted`` are among ``found``; numbers to three digits, since models round."""
    return all(any(_is_same(one, other) for other in found) for one in wanted)


def _is_same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float | int) and isinstance(found, float | int | str):
        try:
            return math.isclose(wanted, float(found), rel_tol=_RELATIVE_TOLERANCE)
        except ValueError:
            return False
    return str(wanted).lower() == str(found).lower()
