"""Profiles in a compiled catalog: which tools a path exposes, and how.

``build.profiles`` writes three optional sections. Each value is read when a request needs it:

- ``profiles``: name of a profile → fields of :class:`Profile`
- ``definitions``: position of a tool → its definition for ``tools/list``
- ``exposed``: ``PROFILE/MODE`` → the tools that stand for several in the modes ``grouped`` and ``kinds``
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

from toolfold.catalog.entries import Count, Remark, Rule, parse_entry
from toolfold.catalog.reader import are_runs, damaged

Mode = Literal["progressive", "lazy", "grouped", "direct", "kinds", "auto", "research"]
MODES: tuple[Mode, ...] = get_args(Mode)
Kind = Literal["connector", "database", "mcp", "skill"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KindMode = Literal["progressive", "inline", "off"]

SWITCHES = {"batch": "TOOL_BATCH", "pipe": "TOOL_PIPE", "scripts": "TOOL_SCRIPT"}
"""Key of a profile and field of the settings → the tool that it switches off."""

_KIND_OF_SOURCE: Mapping[str, Kind] = {"sql": "database", "mcp": "mcp", "skills": "skill"}


def kind_of(source_kind: str) -> Kind:
    """Return which of :data:`KINDS` a source is, by its ``kind``; APIs of every sort are connectors."""
    return _KIND_OF_SOURCE.get(source_kind, "connector")


class Elsewhere(NamedTuple):
    """Tools of another context.

    Attributes:
        context: The context that has them.
        profiles: The profiles of that context.
        runs: The tools, as runs of positions.
    """

    context: Remark
    profiles: Sequence[Remark]
    runs: Sequence[Count]


Positions = Annotated[tuple[Count, ...], Rule(maxItems=20)]


class Profile(NamedTuple):
    """A named exposure.

    Attributes:
        name: Its name, which is part of the path.
        title: A few words for people.
        description: What it is for; part of the instructions.
        mode: One of :data:`MODES`, or empty where the settings decide.
        kinds: Kind of source → one of :data:`KindMode`, where the profile sets it.
        pinned: Positions of the tools shown beside the meta-tools.
        most_used: Positions of the tools that the mode ``auto`` pins.
        context: The context of its tools; empty: none.
        listed: Runs of the positions that are listed and may be called; None: all.
        unexposed: Runs of tools with ``expose: false``, which are described and not called.
        elsewhere: Tools of other contexts, which are described and not called.
        switched_off: Tools that combine several calls, and that the profile does not have.
        list_executors: Whether it lists in every mode what calls any tool, one or several.
        where: Field → line of ``profiles.yaml`` that sets it.
    """

    name: str
    title: Remark = ""
    description: Remark = ""
    mode: Mode | Literal[""] = ""
    kinds: Mapping[Kind, KindMode] = {}
    pinned: Positions = ()
    most_used: Positions = ()
    context: Remark = ""
    listed: Sequence[Count] | None = None
    unexposed: Sequence[Count] = ()
    elsewhere: Annotated[tuple[Elsewhere, ...], Rule(maxItems=100)] = ()
    switched_off: tuple[Literal["TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT"], ...] = ()
    list_executors: bool = False
    where: Mapping[Remark, Remark] = {}


def parse_profile(name: str, entry: Mapping[str, Any], tools: int) -> Profile:
    """Return the profile in an entry of a catalog of ``tools`` tools.

    Raises:
        CatalogUnavailable: It has tools that the catalog does not have.
    """
    elsewhere = tuple(Elsewhere(*one) for one in entry.get("elsewhere", ()))
    profile: Profile = parse_entry(Profile, entry, name=name, elsewhere=elsewhere)
    runs = [profile.listed or (), profile.unexposed, *(one.runs for one in elsewhere)]
    shown = (*profile.pinned, *profile.most_used)
    if max(shown, default=-1) >= tools or not all(are_runs(one, tools) for one in runs):
        raise damaged("a line of profiles")
    return profile
