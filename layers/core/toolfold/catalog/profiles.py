"""Profiles in a compiled catalog: which tools a path exposes, and how.

``build.profiles`` writes three optional sections. Each value is read when a request needs it:

- ``profiles``: name of a profile → fields of :class:`Profile`
- ``definitions``: position of a tool → its definition for ``tools/list``
- ``exposed``: ``PROFILE/MODE`` → the tools that stand for several in the modes ``grouped`` and ``kinds``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.catalog.entries import DEFAULT_PROFILE

DEFAULT = DEFAULT_PROFILE

MODES = ("progressive", "lazy", "grouped", "direct", "kinds", "auto", "research")
KINDS = ("connector", "database", "mcp", "skill")

_KIND_OF_SOURCE = {"sql": "database", "mcp": "mcp", "skills": "skill"}


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


def is_profile(value: Any, tools: int) -> bool:
    """Return whether ``value`` is the entry of a profile in a catalog of ``tools`` tools."""
    from toolfold.catalog.contract import is_part  # for the catalogs of others

    if not is_part("Profile", value):
        return False
    runs = [value.get("listed") or [], value.get("unexposed", []), *(one[2] for one in value.get("elsewhere", []))]
    positions = (*value.get("pinned", []), *value.get("most_used", []))
    if not all(type(at) is int and at < tools for at in positions):
        return False
    # Starts and stops in ascending order, within the catalog.
    numbers = [number for one in runs for number in one]
    are_in_pairs = all(len(one) % 2 == 0 and one == sorted(one) for one in runs)
    return are_in_pairs and all(type(number) is int and number <= tools for number in numbers)


def is_definition(value: Any) -> bool:
    """Return whether ``value`` is a definition for ``tools/list`` that may be shown to a model."""
    from toolfold.catalog.contract import check_part  # for the catalogs of others
    from toolfold.catalog.schema_checks import check_schema

    try:
        check_part("Definition", value)
        check_schema(value["inputSchema"])
    except (ValueError, RecursionError):
        return False
    return True


def is_exposed(value: Any) -> bool:
    """Return whether ``value`` has the tools of a mode: ``[{"kind", "definition"}, …]``."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("kind"), str) and is_definition(one.get("definition"))
        for one in value
    )
