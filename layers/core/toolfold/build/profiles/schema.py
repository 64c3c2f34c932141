"""Models of ``profiles.yaml``: profiles, contexts, and the tools that are used most."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from toolfold.build.schema.field_types import Model, Prose
from toolfold.settings.parsers import KIND_MODE_SYNONYMS, MODE_SYNONYMS

FILE = "profiles.yaml"
"""Optional file beside the folders of the sources."""

MAX_PINNED = 20
"""Tools shown beside the meta-tools. Twenty definitions are some 4,000 tokens of every conversation."""

MAX_PROFILES = 100

RESERVED = ("health", "mcp")
"""Names that would be read as another path."""


def _name(given: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", given):
        raise ValueError("names have small letters, digits, _ and -, and begin with a letter")
    return given


def _renamed(synonyms: dict[str, str]) -> BeforeValidator:
    return BeforeValidator(lambda given: synonyms.get(given, given) if isinstance(given, str) else given)


Name = Annotated[str, AfterValidator(_name)]
"""Part of a URL, and the value of an option."""
Values = Annotated[
    list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given), Field(min_length=1)
]
Mode = Annotated[
    Literal["progressive", "lazy", "grouped", "direct", "kinds", "auto", "research"], _renamed(dict(MODE_SYNONYMS))
]
KindMode = Annotated[Literal["progressive", "inline", "off"], _renamed(dict(KIND_MODE_SYNONYMS))]
Kind = Literal["connector", "database", "mcp", "skill"]


class Selection(Model):
    """Conditions on a tool. ``include`` keeps tools that meet each of them, ``exclude`` drops those that meet one."""

    source: Values | None = None
    category: Values | None = None
    tag: Values | None = None
    effect: Values | None = None
    access: Values | None = None
    tool: Values | None = None


SWITCHES = {"batch": "TOOL_BATCH", "pipe": "TOOL_PIPE", "scripts": "TOOL_SCRIPT"}
"""Key of a profile → the tool that it switches off."""

KIND_SWITCHES: dict[str, Kind] = {"databases": "database", "mcp": "mcp"}
"""Key of a profile → the kind of source that it switches off: ``false`` is the mode ``off`` of ``kinds``."""


class ContextSettings(Model):
    """Tools that belong together, and that no profile of another context may call."""

    description: Prose | None = None
    include: Selection | None = None
    exclude: Selection | None = None


class ProfileSettings(Model):
    """One profile."""

    title: Prose | None = None
    description: Prose | None = None
    mode: Mode | None = None
    kinds: dict[Kind, KindMode] = Field(default_factory=dict)
    scripts: bool | None = None
    batch: bool | None = None
    pipe: bool | None = None
    databases: bool | None = None
    mcp: bool | None = None
    pinned: list[str] = Field(default_factory=list, max_length=MAX_PINNED)
    include: Selection | None = None
    exclude: Selection | None = None
    context: Name | None = None

    def switched_off(self) -> list[str]:
        """Return the tools that combine several calls, and that this profile does not have."""
        return [tool for key, tool in SWITCHES.items() if getattr(self, key) is False]

    def kind_modes(self) -> dict[Kind, KindMode]:
        """Return the mode of each kind that this profile sets."""
        modes = dict(self.kinds)
        for key, kind in KIND_SWITCHES.items():
            if (is_on := getattr(self, key)) is not None:
                modes.setdefault(kind, "progressive" if is_on else "off")
        return modes


class ProfilesFile(Model):
    """The content of ``profiles.yaml``."""

    contexts: dict[Name, ContextSettings] = Field(default_factory=dict)
    profiles: dict[Name, ProfileSettings] = Field(default_factory=dict, max_length=MAX_PROFILES)
    most_used: list[str] = Field(default_factory=list, max_length=MAX_PINNED)
    """Names of the tools that are called most, the most frequent first; ``toolfold profiles most-used`` prints them."""


def without_empty(data: Any) -> Any:
    """Return the data of a file; an empty file, empty values of its keys and an empty profile set nothing."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        return data
    given = {key: value for key, value in data.items() if value is not None}
    for group in ("contexts", "profiles"):
        if isinstance(entries := given.get(group), dict):
            given[group] = {name: {} if entry is None else entry for name, entry in entries.items()}
    return given
