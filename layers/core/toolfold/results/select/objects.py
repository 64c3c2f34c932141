"""Write an object of parts, as query languages of other services take it, as steps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.fuzzy import normalize

__all__ = ["form_of_object", "object_of"]

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("from", "table"), "from"),
    **dict.fromkeys(("where", "filter", "filters", "condition", "conditions"), "where"),
    **dict.fromkeys(("start", "startdate", "since", "datefrom", "after"), "since"),
    **dict.fromkeys(("end", "enddate", "until", "dateto", "before"), "until"),
    **dict.fromkeys(("orderby", "order", "sort", "sortby"), "order by"),
    **dict.fromkeys(("last", "tail"), "last"),
    "first": "first",
    **dict.fromkeys(("limit", "head", "top", "rows", "n"), "limit"),
    **dict.fromkeys(("columns", "column", "fields", "field", "select"), ""),
}
"""Key of an object → the word with which its step begins, in the order in which the steps apply."""

_ORDER = tuple(dict.fromkeys(_KINDS.values()))
_SIGNS = {"gt": ">", "gte": ">=", "ge": ">=", "lt": "<", "lte": "<=", "le": "<=", "eq": "=", "ne": "!=", "neq": "!="}


def object_of(text: str) -> dict[str, Any] | None:
    """Return the object that a text is as JSON; None: it is another text."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def form_of_object(value: Mapping[str, Any]) -> str:
    """Return the steps that an object means; empty where a part of it has no step.

    >>> form_of_object({"columns": ["close"], "filter": {"volume": {"gt": 5}}, "limit": 3})
    'volume > 5; limit 3; close'
    """
    steps: dict[str, list[str]] = {}
    for key, part in value.items():
        kind = _KINDS.get(normalize(key))
        if kind is None:
            return ""
        steps.setdefault(kind, []).extend(_steps(kind, part))
    low, high = (steps.pop(end, [""])[0] for end in ("since", "until"))
    if low and high:
        steps["where"] = [*steps.get("where", []), f"{low.partition(' ')[2]}..{high.partition(' ')[2]}"]
    elif low or high:
        steps["where"] = [*steps.get("where", []), low or high]
    return "; ".join(step for kind in _ORDER for step in steps.get(kind, ()))


def _steps(kind: str, part: Any) -> Iterator[str]:
    if kind == "where" and isinstance(part, Mapping):
        yield from (f"{column} {condition}" for column, value in part.items() for condition in _conditions(value))
    elif kind == "where" and isinstance(part, list):
        yield from map(str, part)
    elif kind == "where":
        yield str(part)
    else:
        text = ", ".join(map(str, part)) if isinstance(part, list) else str(part)
        if kind == "order by" and text.startswith("-"):
            text = f"{text[1:]} desc"
        yield f"{kind} {text}".strip()


def _conditions(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (f"{_SIGNS.get(str(sign).strip('$').lower(), sign)} {bound}" for sign, bound in value.items())
    elif isinstance(value, list):
        yield f"in ({', '.join(map(str, value))})"
    else:
        yield f"= {value}"
