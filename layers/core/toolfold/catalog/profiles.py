"""Profiles in a compiled catalog: which tools a path exposes, and how.

``build.profiles`` writes three optional sections. Each value is read when a request needs it:

- ``profiles``: name of a profile → fields of :class:`Profile`
- ``definitions``: position of a tool → its definition for ``tools/list``
- ``exposed``: ``PROFILE/MODE`` → the tools that stand for several in the modes ``grouped`` and ``kinds``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS, DEFAULT_PROFILE
from toolfold.catalog.head_checks import MAX_SUMMARY, MAX_TEXT, is_tool_name, text_problem
from toolfold.catalog.schema_checks import check_schema

DEFAULT = DEFAULT_PROFILE

MODES = ("progressive", "lazy", "grouped", "direct", "kinds", "auto", "research")
KINDS = ("connector", "database", "mcp", "skill")
KIND_MODES = ("progressive", "inline", "off")

_KIND_OF_SOURCE = {"sql": "database", "mcp": "mcp", "skills": "skill"}

_MAX_PINNED, _MAX_CONTEXTS, _MAX_TEXT = 20, 100, 1000
_DEFINITION = {"name", "title", "description", "inputSchema", "annotations", "_meta"}
_META: tuple[Mapping[str, bool], ...] = ({}, {"anthropic/alwaysLoad": True})
_HINTS = {"readOnlyHint", "destructiveHint", "openWorldHint"}


def kind_of(source_kind: str) -> str:
    """Return which of :data:`KINDS` a source is, by its ``kind``; APIs of every sort are connectors."""
    return _KIND_OF_SOURCE.get(source_kind, "connector")


class Elsewhere(NamedTuple):
    """Tools of another context.

    Attributes:
        context: The context that has them.
        profiles: The profiles of that context.
        runs: The tools, as runs of positions.
    """

    context: str
    profiles: tuple[str, ...]
    runs: Sequence[int]


class Profile(NamedTuple):
    """A named exposure.

    Attributes:
        name: Its name, which is part of the path.
        title: A few words for people.
        description: What it is for; part of the instructions.
        mode: One of :data:`MODES`, or empty where the settings decide.
        kinds: Kind of source → one of :data:`KIND_MODES`, where the profile sets it.
        pinned: Positions of the tools shown beside the meta-tools.
        most_used: Positions of the tools that the mode ``auto`` pins.
        context: The context of its tools; empty: none.
        listed: Runs of the positions that are listed and may be called; None: all.
        unexposed: Runs of tools with ``expose: false``, which are described and not called.
        elsewhere: Tools of other contexts, which are described and not called.
        switched_off: Tools that combine several calls, and that the profile does not have.
        where: Field → line of ``profiles.yaml`` that sets it.
    """

    name: str
    title: str = ""
    description: str = ""
    mode: str = ""
    kinds: Mapping[str, str] = {}
    pinned: tuple[int, ...] = ()
    most_used: tuple[int, ...] = ()
    context: str = ""
    listed: Sequence[int] | None = None
    unexposed: Sequence[int] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    switched_off: tuple[str, ...] = ()
    where: Mapping[str, str] = {}


def parse_profile(name: str, entry: Mapping[str, Any]) -> Profile:
    """Return the profile in ``entry``, for which :func:`is_profile` is true."""
    fields = {key: value for key, value in entry.items() if key in Profile._fields}
    for key in ("pinned", "most_used", "switched_off"):
        fields[key] = tuple(entry.get(key, ()))
    fields["elsewhere"] = tuple(
        Elsewhere(context, tuple(profiles), runs) for context, profiles, runs in entry.get("elsewhere", ())
    )
    return Profile(name=name, **fields)


def positions_in(runs: Sequence[int]) -> Iterator[int]:
    """Yield the positions in ``[start, stop, start, stop, …]``."""
    return chain.from_iterable(map(range, runs[::2], runs[1::2]))


def is_profile(value: Any, tools: int) -> bool:
    """Return whether ``value`` is the entry of a profile in a catalog of ``tools`` tools."""
    if not isinstance(value, dict):
        return False
    texts = (value.get("title", ""), value.get("description", ""), value.get("context", ""))
    kinds, where = value.get("kinds", {}), value.get("where", {})
    positions = (value.get("pinned", []), value.get("most_used", []))
    elsewhere, off = value.get("elsewhere", []), value.get("switched_off", [])
    return (
        all(map(_is_text, texts))
        and value.get("mode", "") in ("", *MODES)
        and isinstance(kinds, dict)
        and all(kind in KINDS and mode in KIND_MODES for kind, mode in kinds.items())
        and isinstance(where, dict)
        and all(map(_is_text, (*where, *where.values())))
        and all(isinstance(listed, list) and len(listed) <= _MAX_PINNED for listed in positions)
        and all(type(at) is int and 0 <= at < tools for at in chain(*positions))
        and (value.get("listed") is None or _are_runs(value["listed"], tools))
        and _are_runs(value.get("unexposed", []), tools)
        and isinstance(off, list)
        and all(name in COMBINING_TOOLS for name in off)
        and isinstance(elsewhere, list)
        and len(elsewhere) <= _MAX_CONTEXTS
        and all(_is_elsewhere(one, tools) for one in elsewhere)
    )


def _is_elsewhere(value: Any, tools: int) -> bool:
    match value:
        case [str(context), list(profiles), list(runs)]:
            return _is_text(context) and all(map(_is_text, profiles)) and _are_runs(runs, tools)
    return False


def _are_runs(value: Any, tools: int) -> bool:
    """Return whether ``value`` has starts and stops in ascending order, within the catalog."""
    return (
        isinstance(value, list)
        and len(value) % 2 == 0
        and all(type(number) is int and 0 <= number <= tools for number in value)
        and value == sorted(value)
    )


def is_definition(value: Any) -> bool:
    """Return whether ``value`` is a definition for ``tools/list`` that may be shown to a model."""
    if not (isinstance(value, dict) and value.keys() <= _DEFINITION and is_tool_name(value.get("name"))):
        return False
    annotations = value.get("annotations", {})
    if not (isinstance(annotations, dict) and annotations.keys() <= _HINTS) or value.get("_meta", {}) not in _META:
        return False
    if not all(_is_text(value.get(key, ""), most) for key, most in (("title", MAX_SUMMARY), ("description", MAX_TEXT))):
        return False
    try:
        check_schema(value.get("inputSchema"))
    except (ValueError, RecursionError):
        return False
    return all(isinstance(hint, bool) for hint in annotations.values())


def is_exposed(value: Any) -> bool:
    """Return whether ``value`` has the tools of a mode: ``[{"kind", "definition"}, …]``."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("kind"), str) and is_definition(one.get("definition"))
        for one in value
    )


def _is_text(value: Any, most: int = _MAX_TEXT) -> bool:
    return isinstance(value, str) and len(value) <= most and not text_problem(value)
