"""Convert other words for arguments of the meta-tools, whose values change with them.

``page`` is an ``offset``, ``sort`` a step of ``select``, ``cache: false`` is ``fresh``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolfold.execution.argument_values import booleans
from toolfold.fuzzy import normalize
from toolfold.meta_tools.arguments import is_blank, own_name, parse_object, whole_number
from toolfold.meta_tools.definitions import TOOLS

_PAGED_BY = 8
"""Tools on a page of a search, where ``page`` comes without ``limit``; as in ``tool_list.SEARCH_TOOLS``."""


def _page(value: Any, given: Mapping[str, Any]) -> int | None:
    number = whole_number(value)
    limit = next((one for key, one in given.items() if own_name("TOOL_LIST", key) == "limit"), None)
    return (number - 1) * (whole_number(limit) or _PAGED_BY) if number is not None and number >= 1 else None


def _calls(value: Any, _given: Mapping[str, Any]) -> list[Any] | None:
    """Return the calls that an object is: one, or several under their names."""
    calls = parse_object(value)
    if calls is None:
        return None
    is_named = calls and all(isinstance(call, dict) for call in calls.values()) and "arguments" not in calls
    return [{"id": key, **call} for key, call in calls.items()] if is_named else [calls]


def _known(value: Any, given: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the hash of the one tool that is described, where it comes without its name."""
    name = given.get("tool_name")
    return {name: value} if isinstance(value, str) and isinstance(name, str) and _HASH.fullmatch(value) else None


def _columns(value: Any, _given: Mapping[str, Any]) -> Any:
    return ",".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value


def _jmespath(value: Any, _given: Mapping[str, Any]) -> Any:
    is_bare = isinstance(value, str) and not value.strip().lower().startswith("jmespath:")
    return f"jmespath: {value.strip()}" if is_bare else value


def _limit(value: Any, _given: Mapping[str, Any]) -> Any:
    number = whole_number(value)
    return value if number is None else f"limit {number}"


def _offset(value: Any, _given: Mapping[str, Any]) -> str | None:
    number = whole_number(value)
    return None if number is None or number < 0 else f"[{number}:]"


def _order(value: Any, _given: Mapping[str, Any]) -> str | None:
    key = _ORDER_BY.fullmatch(value.strip()) if isinstance(value, str) else None
    is_down = key and (key[1] or (key[3] or "").lower() == "desc")
    return f"order by {key[2]}{' desc' if is_down else ''}" if key else None


def _cache(value: Any, _given: Mapping[str, Any]) -> Any:
    return next((not one.value for one in booleans(str(value))), value)


def _true(value: str) -> Callable[[Any, Mapping[str, Any]], str | None]:
    return lambda given, _: value if given in (True, "true") else None


_HASH = re.compile("[0-9a-f]{8}")
_ORDER_BY = re.compile(r"(-?)(?!(?:asc|desc)\w*$)([a-z_]\w*)(?:[ :]+(asc|desc)\w*)?", re.IGNORECASE)
_Convert = Callable[[Any, Mapping[str, Any]], Any]
_CONVERSIONS: Mapping[tuple[str, str], tuple[str, _Convert]] = {
    ("TOOL_LIST", "page"): ("offset", _page),
    **{("TOOL_LIST", name): ("access", _true("free")) for name in ("free", "freeonly")},
    **{("TOOL_LIST", name): ("access", _true("premium")) for name in ("premium", "premiumonly")},
    ("TOOL_GET", "known"): ("known", _known),
    ("TOOL_BATCH", "calls"): ("calls", _calls),
    ("TOOL_PIPE", "steps"): ("steps", _calls),
    ("TOOL_SCRIPT", "inputs"): ("inputs", lambda value, _: parse_object(value)),
    **{("TOOL_CALL", name): ("select", _columns) for name in ("columns", "fields")},
    **{("TOOL_CALL", name): ("select", _limit) for name in ("limit", "maxrows")},
    **{("TOOL_CALL", name): ("select", _offset) for name in ("offset", "skip")},
    **{("TOOL_CALL", name): ("select", _order) for name in ("sort", "sortby", "orderby")},
    **{("TOOL_CALL", name): ("fresh", _cache) for name in ("cache", "usecache")},
    ("TOOL_CALL", "jmespath"): ("select", _jmespath),
}
"""Meta-tool and argument, or another word as ``fuzzy.normalize`` spells it → the argument it is, and what makes its
value of the one given; None: it means nothing else."""


def converted_argument(tool: str, key: str, value: Any, given: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the argument of a meta-tool that ``key`` means, with its value; ``key`` itself where it means none."""
    name = own_name(tool, key)
    if conversion := _CONVERSIONS.get((tool, name or normalize(key))):
        target, convert = conversion
        converted = value if is_blank(value) else convert(value, given)
        if converted is not None or value is None:
            return target, converted
    if name is not None and isinstance(value, dict) and len(value) == 1:  # {"query": {"text": "gold"}}
        (inner,), type_ = value.values(), TOOLS[tool].arguments[name].schema.get("type")
        is_text = tool in ("TOOL_LIST", "TOOL_GET") and type_ != "object" and isinstance(inner, str)
        value = inner if is_text or type_ == "integer" else value
    return name or key, value
