"""Say what to change in a script that ended with an exception: the next step of ``SCRIPT_ERROR``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.errors import ScriptError
from toolfold.fuzzy import closest_matches
from toolfold.meta_tools.arguments import escape
from toolfold.meta_tools.reference_view import keys_of

__all__ = ["MODULES", "Called", "with_hint"]

MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools"),
    *("hashlib", "itertools", "json", "math", "random", "re", "time", "typing", "unicodedata"),
)
"""Modules that a script can import, without those that would need the operating system; a test imports each."""

_INSTEAD: Mapping[str, str] = {
    "statistics": "The mean is sum(x) / len(x), the median sorted(x)[len(x) // 2], and the standard deviation "
    "math.sqrt(sum((v - mean) ** 2 for v in x) / (len(x) - 1)). ",
    "numpy": "Use lists, sum, min, max and math. ",
    "pandas": "rows is a list of objects; select in a call groups, joins and calculates. ",
    "requests": "Data comes from call(…) and from inputs. ",
    "urllib": "Data comes from call(…) and from inputs. ",
}
"""Module that scripts import and that there is not → what to write instead."""

_MAX_SHOWN = 3
"""Tools whose answers are described: those that were called last."""

_MAX_NAMES = 20


class Called(NamedTuple):
    """A call that succeeded.

    Attributes:
        tool_name: its tool.
        value: what it returned to the script.
    """

    tool_name: str
    value: Any


class Ended(NamedTuple):
    """How a script ended.

    Attributes:
        message: of its exception.
        called: its calls that succeeded.
        modules: module of a source → the names of its functions, as far as the script uses it.
    """

    message: str
    called: Sequence[Called]
    modules: Mapping[str, Collection[str]]


def with_hint(error: ScriptError, called: Sequence[Called], modules: Mapping[str, Collection[str]]) -> ScriptError:
    """Return the error, which is changed, with the next step that follows from its exception.

    Args:
        error: of a script.
        called: the calls of the script that succeeded.
        modules: module of a source → the names of its functions, as far as the script uses it.
    """
    make = _HINTS.get(str(error.details.get("exception", "")))
    hint = make(Ended(error.message, called, modules)) if make is not None else ""
    cached = " Calls that have succeeded are cached." if called else ""
    error.suggestion = f"{hint.strip() or 'Correct the script and send it again.'}{cached}"
    return error


def _missing_module(ended: Ended) -> str:
    found = re.search(r"No module named '([\w.]+)", ended.message)
    name = found[1].partition(".")[0] if found else ""
    closest = closest_matches(name, [*MODULES, *ended.modules], least=0.8)
    meant = f"Did you mean {closest[0]}? " if closest else ""
    return f"{meant}{_INSTEAD.get(name, '')}There are {', '.join(MODULES)}, and a module for each source."


def _wrong_member(ended: Ended) -> str:
    if found := re.search(r"module '(\w+)' has no attribute '(\w+)'", ended.message):
        closest = closest_matches(found[2].upper(), list(ended.modules.get(found[1], ())), least=0.7)
        return f"Did you mean {found[1]}.{closest[0]}? " if closest else ""
    if found := re.search(r"'dict' object has no attribute '(\w+)'", ended.message):
        return f"An answer is an object: write [{found[1]!r}]. {_shapes(ended.called)}"
    return _shapes(ended.called)


def _wrong_key(ended: Ended) -> str:
    return _shapes(ended.called)


def _not_in_the_subset(ended: Ended) -> str:
    if "cannot suspend" in ended.message:
        return (
            "A function that is passed to map, sorted, max or the like cannot make calls: make them before, in a loop "
            "or in a list, as in [call(…) for x in xs]."
        )
    return "Scripts are a subset of Python: write this without it."


def _no_host(_ended: Ended) -> str:
    return "A script has no files, network or variables of a system: data comes from call(…) and from inputs."


def _unsupported(ended: Ended) -> str:
    return _no_host(ended) if "not supported in this environment" in ended.message else ""


def _shapes(called: Sequence[Called]) -> str:
    """Return what the tools that were called last have returned, in a sentence each."""
    shapes = {one.tool_name: _shape(one.value) for one in called[-50:]}
    return " ".join(f"{name} returned {shape}." for name, shape in list(shapes.items())[-_MAX_SHOWN:] if shape)


def _shape(value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("columns"), list) and "rows" in value:
        return f"an object with {_listed(keys_of(value))}; each of rows has {_listed(value['columns'])}"
    if isinstance(value, dict):
        return f"an object with {_listed(keys_of(value))}"
    return "a list" if isinstance(value, list) else f"{type(value).__name__}"


def _listed(names: Sequence[Any]) -> str:
    """Return names, which may be data of a source, on one line."""
    more = ", …" if len(names) > _MAX_NAMES else ""
    return ", ".join(escape(str(name)) for name in names[:_MAX_NAMES]) + more


_HINTS: Mapping[str, Callable[[Ended], str]] = {
    "ModuleNotFoundError": _missing_module,
    "ImportError": _wrong_member,
    "AttributeError": _wrong_member,
    "KeyError": _wrong_key,
    "IndexError": _wrong_key,
    "TypeError": _wrong_key,
    "NotImplementedError": _not_in_the_subset,
    "PermissionError": _no_host,
    "RuntimeError": _unsupported,
}
"""Exception of a script → what to change."""
