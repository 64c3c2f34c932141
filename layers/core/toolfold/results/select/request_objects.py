"""Write a ``select`` that is sent as an object or a list as one text: ``{"columns": ["close"], "limit": 5}``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results.select.selection import invalid_select

_MAX_DEPTH = 8

_COMPARISONS = {"gt": ">", "gte": ">=", "ge": ">=", "lt": "<", "lte": "<=", "le": "<=", "eq": "=", "equals": "=",
                "ne": "!=", "neq": "!=", "like": "like", "contains": "contains", "min": ">=", "max": "<=",
                "startswith": "starts with", "endswith": "ends with"}  # fmt: skip


def to_text(value: Any) -> str:
    """Return the text that means the same as a list or an object.

    Raises:
        InvalidArguments: a member is not known.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "; ".join(part for key, member in value.items() for part in _parts(str(key), member))
    if isinstance(value, Sequence) and all(isinstance(part, str) for part in value):
        return "; ".join(value)
    raise invalid_select("must be a text")


def _parts(key: str, value: Any) -> Iterator[str]:
    if value is None or value in ("", [], {}):
        return
    kind = _KINDS.get(normalize(key))
    if kind is None:
        raise invalid_select(
            f"has no member {key[:30]!r}", None, 'Write e.g. {"columns": ["close"], "where": "close>100", "limit": 5}.'
        )
    yield kind(value)


def _listed(prefix: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        names = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else None
        if names is None or not all(isinstance(name, str) for name in names):
            raise invalid_select("has a list that is not a list of names")
        return f"{prefix}{','.join(names)}"

    return write


def _scalar(prefix: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        if isinstance(value, list | dict):
            raise invalid_select(f"needs one value after {prefix.strip()!r}")
        return f"{prefix}{value}"

    return write


def _order(value: Any) -> str:
    parts = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, Mapping):
            name = one.get("column", one.get("by", one.get("field")))
            direction = one.get("direction", one.get("order", "asc")) if name else None
            parts += [f"{name} {direction}"] if name else [f"{key} {way}" for key, way in one.items()]
        else:
            parts.append(str(one))
    return f"order by {', '.join(parts)}"


def _condition(value: Any, depth: int = 0) -> str:
    if depth > _MAX_DEPTH:
        raise invalid_select(f"is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " and ".join(f"({_condition(one, depth + 1)})" for one in value)
    if not isinstance(value, Mapping):
        raise invalid_select("has a condition that is not a text", None, 'Write e.g. {"where": "close>100"}.')
    if {"column", "value"} <= value.keys() or {"field", "value"} <= value.keys():
        operator = str(value.get("operator", value.get("op", "=")))
        return _compared(str(value.get("column", value.get("field"))), operator, value["value"])
    return " and ".join(_compared_member(str(key), member, depth) for key, member in value.items())


def _compared_member(key: str, value: Any, depth: int) -> str:
    joined = {"$and": " and ", "and": " and ", "$or": " or ", "or": " or "}.get(key.lower())
    if joined and isinstance(value, list):
        return "(" + joined.join(f"({_condition(one, depth + 1)})" for one in value) + ")"
    if isinstance(value, Mapping):
        return " and ".join(_compared(key, str(operator), one) for operator, one in value.items())
    return _compared(key, "in" if isinstance(value, list) else "=", value)


def _compared(name: str, operator: str, value: Any) -> str:
    operator = _COMPARISONS.get(operator.lstrip("$").lower(), operator.lstrip("$"))
    quoted = name if name.replace("_", "").isalnum() and not name[0].isdigit() else f'"{name}"'
    if isinstance(value, list):
        return f"{quoted} {'not in' if operator in ('nin', '!=') else 'in'} ({','.join(map(_literal, value))})"
    return f"{quoted} {operator} {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'" if "'" not in value else f'"{value}"'
    return json.dumps(value)


def _first_of_sort(value: Any) -> str:
    return f"desc {value}" if isinstance(value, str) else ""


_KINDS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("columns", "column", "cols", "fields", "field", "select", "keys", "items"), _listed("columns: ")),
    **dict.fromkeys(("aggregate", "aggregates", "functions", "function", "agg", "metrics"), _listed("columns: ")),
    **dict.fromkeys(("exclude", "without", "except", "drop"), _listed("without ")),
    **dict.fromkeys(("groupby", "group", "by"), _listed("group by ")),
    **dict.fromkeys(("distinct", "unique"), _listed("distinct ")),
    **dict.fromkeys(
        ("where", "filter", "filters", "condition", "conditions"), lambda value: f"where {_condition(value)}"
    ),
    **dict.fromkeys(("order", "orderby", "sort", "sortby"), _order),
    **dict.fromkeys(("desc", "descending"), _first_of_sort),
    **dict.fromkeys(("limit", "n", "rows", "count", "maxrows", "take"), _scalar("limit ")),
    **dict.fromkeys(("offset", "skip"), _scalar("offset ")),
    **{name: _scalar(f"{name} ") for name in ("first", "last", "top", "bottom", "head", "tail")},
    **dict.fromkeys(("from", "table", "path"), _scalar("from ")),
    **dict.fromkeys(("start", "startdate", "fromdate", "datefrom", "since"), _scalar("since ")),
    **dict.fromkeys(("end", "enddate", "todate", "dateto", "until"), _scalar("until ")),
    **dict.fromkeys(("after", "before"), _scalar("")),
    **dict.fromkeys(("date", "dates", "period", "range", "daterange", "when"), _scalar("")),
    "after": _scalar("after "),
    "before": _scalar("before "),
    "jmespath": _scalar("jmespath: "),
    "sql": _scalar(""),
    "query": _scalar(""),
}
"""Member of an object → the part of the text."""
