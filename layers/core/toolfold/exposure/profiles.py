"""Find the profile of a path, and make the tools that it exposes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolfold.catalog.entries import DEFAULT_PROFILE, EFFECT_WORDS, Tool
from toolfold.catalog.profiles import KINDS, MODES, SWITCHES, Elsewhere, Profile, kind_of
from toolfold.catalog.reader import positions_in
from toolfold.errors import ContextMismatch, ProfileNotFound, ToolNotExposed
from toolfold.exposure.exposed_tools import Decision, ExposedTools, Resolution
from toolfold.fuzzy import closest_matches, did_you_mean
from toolfold.messages import CONNECT, OTHER_CONTEXT, OTHER_TOOL
from toolfold.settings.model import MODE_SYNONYMS

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.errors import CallError
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.settings import Settings


def profile_names(catalog: Catalog) -> list[str]:
    """Return the names of all profiles: ``default``, those of ``profiles.yaml``, and one for each mode."""
    return list(dict.fromkeys((DEFAULT_PROFILE, *catalog.profile_names, *MODES)))


def select(tools: MetaTools, name: str) -> ExposedTools:
    """Return the tools that the profile called ``name`` exposes.

    Raises:
        ProfileNotFound: There is no such profile.
        CatalogUnavailable: The catalog cannot be read.
    """
    catalog = tools.catalog().base

    def make() -> ExposedTools:
        resolution = resolve_profile(catalog, name, tools.executor.settings)
        return ExposedTools(tools, view_of(catalog, resolution), resolution)

    return catalog.memoize(("exposure", name), make)


def resolve_profile(catalog: Catalog, name: str, settings: Settings) -> Resolution:
    """Return what the profile called ``name`` is with ``settings``: one of the catalog, or that of a mode.

    That of a mode exposes the tools of ``default``: an operator who restricts that one restricts these.

    Raises:
        ProfileNotFound: There is no such profile.
    """
    if name == DEFAULT_PROFILE or name in catalog.profile_names:
        return _resolve(catalog.profile(name), settings)
    mode = MODE_SYNONYMS.get(name, name)
    if mode in MODES:
        profile = catalog.profile(DEFAULT_PROFILE)
        where = {**profile.where, "mode": f"the name {mode}"}
        return _resolve(profile._replace(name=mode, mode=mode, where=where), settings)
    names = profile_names(catalog)
    closest = closest_matches(name, names)
    raise ProfileNotFound(
        f"There is no profile {name[:64]!a}.",
        f"{did_you_mean(name, closest)}There are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}.",
        closest[0] if closest else "",
    )


def _resolve(profile: Profile, settings: Settings) -> Resolution:
    def decide(own: str, keys: Sequence[str], setting: str, variable: str, default: str) -> Decision:
        """Return the value of the profile, else that of the variable, else the default."""
        if own:
            lines = (profile.where[key] for key in keys if key in profile.where)
            return Decision(own, next(lines, f"profile {profile.name}"))
        return Decision(setting, variable) if setting else Decision(default, "default")

    mode = decide(profile.mode, ["mode"], settings.mode, "TOOLFOLD_MODE", "progressive")
    kinds: dict[str, Decision] = {}
    for kind in KINDS:
        setting, keys = getattr(settings, f"{kind}_mode"), ("kinds", kind, f"{kind}s")
        own = profile.kinds.get(kind, "")
        kinds[kind] = decide(own, keys, setting, f"TOOLFOLD_{kind.upper()}_MODE", "progressive")
    combining = {}
    for key, name in SWITCHES.items():  # on, where neither the variable nor the profile says no
        own = "off" if name in profile.switched_off else "on" if key in profile.where else ""
        combining[name] = decide(own, [key], "", "", "on")
        if name in settings.switched_off:
            combining[name] = Decision("off", f"TOOLFOLD_{key.upper()}")
    return Resolution(profile, mode, kinds, combining)


def default_view(catalog: Catalog, settings: Settings) -> Catalog:
    """Return the part of ``catalog`` that the path without a profile exposes."""
    return catalog.memoize(
        "default view", lambda: view_of(catalog, resolve_profile(catalog, DEFAULT_PROFILE, settings))
    )


def view_of(catalog: Catalog, resolution: Resolution) -> Catalog:
    """Return the part of ``catalog`` that a profile exposes: ``catalog`` itself where that is all of it."""
    profile, off = resolution.profile, resolution.with_mode("off")
    kinds = {source.id: kind_of(source.kind) for source in catalog.sources}
    switched_off = [source for source, kind in kinds.items() if kind in off]
    out = {at for source in switched_off for at in catalog.positions("source", source)}
    if resolution.mode.value == "research":  # whose two tools only read
        out.update(at for effect in EFFECT_WORDS for at in catalog.positions("effect", effect))
    if profile.listed is None and not out:
        return catalog
    withheld: dict[int, Callable[[Tool], CallError]] = dict.fromkeys(positions_in(profile.unexposed), not_exposed)
    for other in profile.elsewhere:
        withheld |= dict.fromkeys(positions_in(other.runs), functools.partial(_mismatch, other))
    listed = list(range(len(catalog)) if profile.listed is None else positions_in(profile.listed))
    withheld |= dict.fromkeys(out.intersection(listed), not_exposed)
    return catalog.part([at for at in listed if at not in out], withheld)


def not_exposed(tool: Tool) -> CallError:
    """Return the error for a call of a tool that is described, and not called."""
    return ToolNotExposed(
        f"{tool.name} is described here, but its calls are switched off; nothing was sent.",
        OTHER_TOOL,
    )


def _mismatch(other: Elsewhere, tool: Tool) -> CallError:
    paths = " or ".join(f"/mcp/{name}" for name in other.profiles)
    return ContextMismatch(
        f"{tool.name} belongs to the context {other.context}, which is not the one of this connection; nothing was "
        "sent.",
        CONNECT.filled(paths=paths) if paths else OTHER_CONTEXT,
        context=other.context,
        profiles=list(other.profiles),
    )


def describe_restrictions(profile: Profile) -> Mapping[str, int]:
    """Return how many tools a profile knows and does not call: ``expose``, and each other context."""
    counts = {"expose: false": sum(1 for _ in positions_in(profile.unexposed))}
    counts |= {f"context {other.context}": sum(1 for _ in positions_in(other.runs)) for other in profile.elsewhere}
    return {what: count for what, count in counts.items() if count}
