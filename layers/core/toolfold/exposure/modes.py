"""What ``tools/list`` has in each mode: the entries, and the names that stand for several tools.

An entry is the JSON of a definition, or the position of a tool in the whole catalog, whose compiled definition is read
for the page that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS
from toolfold.catalog.profiles import kind_of
from toolfold.exposure.resolution import AUTO_DIRECT
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.result import dumps_compact

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.exposure.resolution import Resolution

__all__ = ["Exposed", "expose", "mode_of"]

Entry = bytes | int

_COMBINING = ("TOOL_BATCH", "TOOL_PIPE")
"""Meta-tools that the modes lazy and grouped list beside TOOL_CALL."""


class Exposed(NamedTuple):
    """What a mode shows.

    Attributes:
        mode: One of the modes but ``auto``.
        entries: Of ``tools/list``, in their order.
        stand_ins: Name, in lower case, of a tool that stands for several → its definition.
    """

    mode: str
    entries: Sequence[Entry]
    stand_ins: Mapping[str, Mapping[str, Any]] = {}


def expose(catalog: Catalog, resolution: Resolution) -> Exposed:
    """Return what ``catalog``, the whole or a view, shows to the clients of a profile."""
    mode = mode_of(catalog, resolution)
    return _MODES[mode](catalog, resolution)


def mode_of(catalog: Catalog, resolution: Resolution) -> str:
    """Return the mode, with ``auto`` decided by the number of tools."""
    if resolution.mode.value != "auto":
        return resolution.mode.value
    return "direct" if len(catalog) <= AUTO_DIRECT else "progressive"


def _progressive(catalog: Catalog, resolution: Resolution) -> Exposed:
    return Exposed("progressive", [*_encoded(definitions(catalog)), *_beside(catalog, resolution)])


def _lazy(catalog: Catalog, resolution: Resolution) -> Exposed:
    shown = [*definitions(catalog), *_combining(catalog, resolution)]
    return Exposed("lazy", [*_encoded(shown), *_beside(catalog, resolution)])


def _direct(catalog: Catalog, resolution: Resolution) -> Exposed:
    positions = catalog.base_positions
    pinned = [at for at in resolution.profile.pinned if at in positions]
    if pinned:
        positions = list(dict.fromkeys([*pinned, *positions]))
    return Exposed("direct", positions)


def _grouped(catalog: Catalog, resolution: Resolution) -> Exposed:
    hidden = resolution.off() | resolution.inline()
    groups = [one["definition"] for one in _stand_ins(catalog, resolution, "grouped") if one["kind"] not in hidden]
    calls = [one for one in definitions(catalog) if one["name"].startswith("TOOL_CALL")]
    shown = [*groups, *calls, *_combining(catalog, resolution)]
    return _with_stand_ins("grouped", shown, groups, _beside(catalog, resolution))


def _kinds(catalog: Catalog, resolution: Resolution) -> Exposed:
    hidden = resolution.off() | resolution.inline()
    kinds = [one["definition"] for one in _stand_ins(catalog, resolution, "kinds") if one["kind"] not in hidden]
    return _with_stand_ins("kinds", kinds, kinds, _beside(catalog, resolution))


_MODES: Mapping[str, Callable[[Catalog, Resolution], Exposed]] = {
    "progressive": _progressive,
    "lazy": _lazy,
    "direct": _direct,
    "grouped": _grouped,
    "kinds": _kinds,
}


def _combining(catalog: Catalog, resolution: Resolution) -> list[dict[str, Any]]:
    """Return the definitions of the meta-tools that combine several calls."""
    off = resolution.switched_off()
    return definitions(catalog, [name for name in COMBINING_TOOLS if name in _COMBINING and name not in off])


def _with_stand_ins(
    mode: str, shown: Iterable[Mapping[str, Any]], stand_ins: Iterable[Mapping[str, Any]], beside: Sequence[Entry]
) -> Exposed:
    return Exposed(mode, [*_encoded(shown), *beside], {str(one["name"]).lower(): one for one in stand_ins})


def _stand_ins(catalog: Catalog, resolution: Resolution, mode: str) -> Sequence[Mapping[str, Any]]:
    """Return the compiled tools that stand for several; a ready-made profile has those of ``default``."""
    profile = "default" if resolution.is_ready_made else resolution.profile.name
    return catalog.base.exposed(profile, mode)


def _encoded(shown: Iterable[Mapping[str, Any]]) -> list[Entry]:
    return [dumps_compact(one).encode() for one in shown]


def _beside(catalog: Catalog, resolution: Resolution) -> list[Entry]:
    """Return the positions of the tools that are shown by themselves: those of kinds that are inline, and the pins."""
    inline = resolution.inline()
    sources = [source.id for source in catalog.sources if kind_of(source.kind) in inline]
    own = catalog.base_positions
    positions = [own[at] for source in sources for at in catalog.positions_of("source").get(source, ())]
    pinned = list(resolution.profile.pinned)
    if resolution.mode.value == "auto":
        pinned += resolution.profile.most_used
    return list(dict.fromkeys([*positions, *(at for at in pinned if at in own)]))
