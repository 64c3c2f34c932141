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
        is_ready_made: Whether the profile is named after a mode and was not written by anyone.
    """

    profile: Profile
    mode: Decision
    kinds: Mapping[str, Decision]
    is_ready_made: bool = False

    def off(self) -> frozenset[str]:
        """Return the kinds that are not exposed."""
        return self._with_mode("off")

    def inline(self) -> frozenset[str]:
        """Return the kinds whose tools are each listed."""
        return self._with_mode("inline")

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
    return Resolution(profile, mode, kinds, is_ready_made)


def _kind_mode(kind: str, profile: Profile, setting: str) -> Decision:
    if kind in profile.kinds:
        return Decision(profile.kinds[kind], _line(profile, "kinds"))
    if setting:
        return Decision(setting, f"TOOLFOLD_{kind.upper()}_MODE")
    return Decision("progressive", "default")


def _line(profile: Profile, key: str) -> str:
    return profile.where.get(key, f"profile {profile.name}")
