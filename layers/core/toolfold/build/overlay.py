"""Corrections of imported tools: ``overlay.yaml`` in the folder of their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from toolfold.build import yaml_loader
from toolfold.build.relations import Relation
from toolfold.build.schema.field_types import Model, Phrase, Prose, Summary, Tag
from toolfold.build.validation_errors import located
from toolfold.catalog.entries import Effect
from toolfold.fuzzy import closest_matches

__all__ = ["OVERLAY", "Overlay", "ToolOverlay", "overlay_line", "read_overlay"]

OVERLAY = "overlay.yaml"


class ToolOverlay(Model):
    """What replaces the values that an importer found for one tool."""

    title: Prose | None = None
    summary: Summary | None = None
    description: Prose | None = None
    effect: Effect | None = None
    confirm: Summary | None = None
    """What a person reads before each call, which then needs approval."""
    expose: bool | None = None
    """Whether the tool may be called; None: yes."""
    tags: list[Tag] = Field(default=[], max_length=6)
    example: dict[str, Any] | None = None
    example_queries: list[Phrase] = Field(default_factory=list)
    aliases: list[Phrase] = Field(default_factory=list)
    relations: list[Relation] = Field(default=[], max_length=20)
    """Tools that are called before this one, instead of it, or after it."""


class Overlay(Model):
    """The content of ``overlay.yaml``."""

    tools: dict[str, ToolOverlay] = Field(default_factory=dict)
    """Name that the source has for a tool → corrections."""
    reviewed: list[str] = Field(default_factory=list)
    """Texts that look like instructions to a model and that a person has read: the hashes that the compiler names."""


def overlay_line(folder: Path, *at: str | int) -> str:
    """Return ``file:line`` of a key in the overlay of ``folder``."""
    return yaml_loader.load(folder / OVERLAY).where(at)


def read_overlay(folder: Path, names: list[str], problems: list[str]) -> Overlay:
    """Return the overlay in ``folder``; empty without that file.

    Args:
        folder: The folder of a source.
        names: The names that the source has for its tools.
        problems: Receives what is wrong, each as ``file:line: problem``.
    """
    path = folder / OVERLAY
    if not path.exists():
        return Overlay()
    document = yaml_loader.load(path)
    try:
        overlay = Overlay.model_validate(document.data or {})
    except ValidationError as error:
        problems += located(error, document, ())
        return Overlay()
    for name in overlay.tools:
        if name not in names:
            closest = closest_matches(name, names, most=1, least=0.6)
            hint = f"; did you mean {closest[0]}?" if closest else ""
            problems.append(f"{document.where(('tools', name))}: the source has no tool {name!r}{hint}")
    return overlay
