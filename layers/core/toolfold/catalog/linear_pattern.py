"""Search texts for regular expressions of a catalog, in time linear in the text.

Python's ``re`` backtracks: ``(a+)+$`` takes hours for a text of forty characters, and an expression from a catalog may
be anything. The expressions of JSON Schema run on the linear engine of the ``regex`` crate in ``jsonschema_rs``, which
refuses what it cannot do in linear time: lookaround, back references, and very large repetitions. Here they do as well.
The syntax is that of JSON Schema (ECMA-262), in which the usual expressions are the same as in Python.
"""

from __future__ import annotations

import jsonschema_rs

from toolfold.catalog.reader import damaged

__all__ = ["LinearPattern", "pattern_problem"]

_SIZE_LIMIT_BYTES = 1 << 20
"""Memory of a compiled expression; the usual ones take some kilobytes."""


class LinearPattern:
    """A compiled expression.

    Raises:
        CatalogUnavailable: The expression cannot be searched for in linear time.
    """

    def __init__(self, pattern: str) -> None:
        try:
            self._validator = _compile(pattern)
        except ValueError:
            raise damaged("the pattern of a fault") from None

    def search(self, text: str) -> bool:
        """Return whether the expression matches anywhere in ``text``."""
        # Half of a surrogate pair cannot be passed on to Rust.
        return self._validator.is_valid(text.encode("utf-8", "replace").decode())


def pattern_problem(pattern: str) -> str:
    """Return why ``pattern`` cannot be used, or ""."""
    try:
        _compile(pattern)
    except ValueError:
        return "is not an expression that can be searched for in linear time (no lookaround, no back references)"
    return ""


def _compile(pattern: str) -> jsonschema_rs.Draft202012Validator:
    options = jsonschema_rs.RegexOptions(size_limit=_SIZE_LIMIT_BYTES)
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
