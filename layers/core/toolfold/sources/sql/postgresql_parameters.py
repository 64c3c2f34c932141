"""Encode the values of parameters as PostgreSQL reads them as text, by the types that it inferred for them.

So ``"5"`` fits a parameter that is a number, and ``5`` one that is a text: the caller may not know which is needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind

__all__ = ["encode_parameters"]

_JSON_TYPES = frozenset((114, 3802))
"""OIDs of json and jsonb."""


def encode_parameters(values: Sequence[Any], types: Sequence[int]) -> list[bytes | None]:
    """Return ``values`` in the text format of PostgreSQL.

    Args:
        values: JSON values.
        types: the OIDs of the parameters' types.

    Raises:
        DatabaseFailure: there are more or fewer values than parameters, or a text has a null character.
    """
    if len(values) != len(types):
        raise DatabaseFailure(
            FailureKind.STATEMENT, f"the statement has {len(types)} parameters and params has {len(values)} values"
        )
    texts = [_as_text(value, type_ in _JSON_TYPES) for value, type_ in zip(values, types, strict=True)]
    if any(text is not None and "\0" in text for text in texts):
        raise DatabaseFailure(FailureKind.STATEMENT, "a value of params has a null character")
    return [None if text is None else text.encode(errors="replace") for text in texts]


def _as_text(value: Any, is_json: bool) -> str | None:
    if value is None:
        return None
    if is_json and not isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return _array(value)
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _array(values: Sequence[Any]) -> str:
    """Return an array as text (section 8.15.2 of PostgreSQL's documentation)."""
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return _array(value)
    text = _as_text(value, is_json=False) or ""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
