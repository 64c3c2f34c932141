"""Convert what a script returns to JSON."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["TooLarge", "to_json"]

_MAX_VALUES = 200_000
"""Values of a result: a table of 10,000 rows and 20 columns, more than any budget of tokens."""

_MAX_CHARS = 5_000_000
"""Characters of a result; a Lambda function returns at most 6 MB."""

_MAX_DEPTH = 60
_MAX_DIGITS = 1_000
"""Digits of a whole number; a longer one takes seconds to write."""


class TooLarge(Exception):
    """A value has more in it than a result may have."""


def to_json(value: Any) -> Any:
    """Return a value of a script as JSON.

    Tuples and sets become lists, keys texts, objects of a class their attributes, and what JSON has no form for text.

    Raises:
        TooLarge: it has too many values or characters, or is nested too deeply.
    """
    return _Converter().convert(value, 0)


class _Converter:
    def __init__(self) -> None:
        self._values, self._chars = _MAX_VALUES, _MAX_CHARS

    def convert(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0 or depth > _MAX_DEPTH:
            raise TooLarge
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if value.bit_length() > 4 * _MAX_DIGITS:
                raise TooLarge
            return int(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key if isinstance(key, str) else str(key)): self.convert(item, depth + 1)
                    for key, item in value.items()}  # fmt: skip
        if isinstance(value, list | tuple | set | frozenset):
            return [self.convert(item, depth + 1) for item in value]
        if isinstance(attributes := getattr(value, "attributes", None), dict):  # of a class of the script
            return self.convert(attributes, depth)
        return self._text(str(value))

    def _text(self, text: str) -> str:
        self._chars -= len(text)
        if self._chars < 0:
            raise TooLarge
        return text
