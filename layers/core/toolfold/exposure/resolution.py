"""Decide the mode of a profile and of each kind of source, and name where each decision comes from.

A profile comes first, then the settings (``TOOLFOLD_MODE``, ``TOOLFOLD_CONNECTOR_MODE`` and so on), then the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.profiles import KINDS, Profile

if TYPE_CHECKING:
    from toolfold.settings import Settings

__all__ = ["AUTO_DIRECT", "DEFAULT_MODE", "Decision", "Resolution", "resolve"]

AUTO_DIRECT = 12
"""Tools up to which ``auto`` shows each alone."""

DEFAULT_MODE = "progressive"


class Decision(NamedTuple):
    """A value, and where it comes from."""

    value: str
    origin: str


class Resolution(NamedTuple):
    """What a profile is in this process.

    Attributes:
        profile: The profile.
        mode: The mode, which may be ``auto``.
        kinds: Kind of source → its mode.
        combining: Tool that combines several calls → ``on`` or ``off``.
        is_ready_made: Whether the profile is named after a mode and was not written by anyone.
    """

    profile: Profile
    mode: Decision
    kinds: Mapping[str, Decision]
    combining: Mapping[str, Decision]
    is_ready_made: bool = False

    def off(self) -> frozenset[str]:
        """Return the kinds that are not exposed."""
        return self._with_mode("off")

    def inline(self) -> frozenset[str]:
        """Return the kinds whose tools are each listed."""
        return self._with_mode("inline")

    def switched_off(self) -> frozenset[str]:
        """Return the tools that combine several calls, and that are switched off."""
        return frozenset(name for name, decision in self.combining.items() if decision.value == "off")

    def _with_mode(self, mode: str) -> frozenset[str]:
        return frozenset(kind for kind, decision in self.kinds.items() if decision.value == mode)


def resolve(profile: Profile, settings: Settings, *, is_ready_made: bool = False) -> Resolution:
    """Return what ``profile`` is with ``settings``."""
    mode = Decision(DEFAULT_MODE, "default")
    if profile.mode:
        origin = f"the name {profile.name}" if is_ready_made else _line(profile, "mode")
        mode = Decision(profile.mode, origin)
    elif settings.mode:
        mode = Decision(settings.mode, "TOOLFOLD_MODE")
    kinds = {kind: _kind_mode(kind, profile, getattr(settings, f"{kind}_mode")) for kind in KINDS}
    combining = {name: _switch(name, key, profile, settings) for key, name in _SWITCHES.items()}
    return Resolution(profile, mode, kinds, combining, is_ready_made)


_SWITCHES: Mapping[str, str] = {"batch": "TOOL_BATCH", "pipe": "TOOL_PIPE", "scripts": "TOOL_SCRIPT"}
"""Key of a profile and field of the settings → the tool that it switches off."""


def _switch(name: str, key: str, profile: Profile, settings: Settings) -> Decision:
    """Return whether a tool that combines several calls is on: neither the variable nor the profile says no."""
    if name in settings.switched_off:
        return Decision("off", f"TOOLFOLD_{key.upper()}")
    if name in profile.switched_off:
        return Decision("off", _line(profile, key))
    return Decision("on", _line(profile, key) if key in profile.where else "default")


def _kind_mode(kind: str, profile: Profile, setting: str) -> Decision:
    if kind in profile.kinds:
        return Decision(profile.kinds[kind], _line(profile, "kinds" if "kinds" in profile.where else _PLURALS[kind]))
    if setting:
        return Decision(setting, f"TOOLFOLD_{kind.upper()}_MODE")
    return Decision("progressive", "default")


_PLURALS: Mapping[str, str] = {"connector": "kinds", "database": "databases", "mcp": "mcp", "skill": "kinds"}
"""Kind of source → the key of a profile that sets it where ``kinds`` is not given."""


def _line(profile: Profile, key: str) -> str:
    return profile.where.get(key, f"profile {profile.name}")
