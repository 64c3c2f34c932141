"""Convert what a script returns to JSON, and find where a script makes several calls at once.

These are the calls inside ``gather(…)``, and behind ``await``. A look at the text is enough: a call that is not found
is made at once, with the same result.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any, NamedTuple

_FILE = "<script>"
warnings.filterwarnings("ignore", module=_FILE)  # about a text that this process does not run


class CallPlaces(NamedTuple):
    """The bytes of a script at which calls begin.

    Attributes:
        gathered: those of calls inside the parentheses of toolfold's ``gather``.
        awaited: of those behind ``await``, or inside ``asyncio.gather``.
    """

    gathered: frozenset[int] = frozenset()
    awaited: frozenset[int] = frozenset()


def find_calls(script: str) -> CallPlaces:
    """Return the calls that a script makes at once; none of a text that Python cannot parse."""
    if "gather" not in script and "await" not in script:
        return CallPlaces()
    try:
        nodes = list(ast.walk(ast.parse(script, _FILE)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CallPlaces()  # the interpreter reports what is wrong with the text
    lines = [0, *(end.end() for end in re.finditer(rb"\r\n?|\n", script.encode()))]
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "asyncio")
    has_native = any(name.name == "gather" for node in imports for name in node.names)
    gathered, awaited = set[int](), set[int]()
    for node in nodes:
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
            awaited.add(lines[node.value.lineno - 1] + node.value.col_offset)
        is_method = isinstance(function, ast.Attribute) and function.attr == "gather"
        if is_method or (isinstance(function, ast.Name) and function.id == "gather"):
            within = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call) and inner is not node]
            starts = {lines[inner.lineno - 1] + inner.col_offset for inner in within}
            (awaited if is_method or has_native else gathered).update(starts)
    return CallPlaces(frozenset(gathered - awaited), frozenset(awaited))


_MAX_CHARS = 5_000_000
"""Characters of a result; a Lambda function returns at most 6 MB."""

_CHARS_OF_VALUE = 16
"""What each value counts as, beside its text: a table may have 10,000 rows and 20 columns."""

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
    left = _MAX_CHARS

    def counted(text: str) -> str:
        nonlocal left
        left -= len(text) + _CHARS_OF_VALUE
        if left < 0:
            raise TooLarge
        return text

    def convert(value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return counted(value)
        if isinstance(attributes := getattr(value, "attributes", None), dict):  # of a class of the script
            value = attributes
        counted("")
        if depth > _MAX_DEPTH or (isinstance(value, int) and value.bit_length() > 4 * _MAX_DIGITS):
            raise TooLarge
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, dict):
            return {counted(str(key)): convert(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [convert(item, depth + 1) for item in value]
        return counted(str(value))

    return convert(value, 0)
