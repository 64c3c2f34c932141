"""``toolfold cache``: show and clear what toolfold keeps on this machine."""

from __future__ import annotations

import os
import sqlite3
from typing import Literal, NamedTuple

from toolfold.cache.sqlite import SQLiteStore, check_cache_file
from toolfold.cli.application import Options, os_errors
from toolfold.cli.output import print_json, print_message
from toolfold.cli.terminal import confirm, print_fields
from toolfold.local_defaults import with_local_defaults
from toolfold.private_folder import PathRefused, absolute_path
from toolfold.results.offload import FOLDER, delete_answers, list_answers
from toolfold.settings import Settings
from toolfold.text_safety import counted

_TIMEOUT_S = 5.0
"""Seconds to wait for a server that writes at the same time."""


class Place(NamedTuple):
    """A place where answers are kept: its ``kind``, its ``location``, and whether it can be cleared here."""

    kind: Literal["cache", "answers"]
    location: str
    is_local: bool = False
    answers: int = 0
    total_bytes: int = 0
    note: str = ""


def info(options: Options) -> int:
    """Print where answers are kept, how many and how large."""
    places = _places(_local_settings())
    if options.json:
        print_json([place._asdict() for place in places], indent=2)
    else:
        _print(places)
    return 0


def clear(options: Options) -> int:
    """Delete what toolfold keeps on this machine."""
    settings = _local_settings()
    places = _places(settings)
    _print(places)
    local = [place for place in places if place.is_local]
    if not local:
        print_message("There is nothing on this machine to delete.")
        return 0
    if not options.yes and not confirm("Delete them?", "Add --yes to delete the answers."):
        print_message("Nothing was deleted.")
        return 1
    for place in local:
        with os_errors(f"{place.location} cannot be cleared", "Try again.", sqlite3.Error):
            if place.kind == "cache":
                _open_cache(settings).clear()
            else:
                delete_answers(settings.offload, _TIMEOUT_S)
    print_message("Deleted. A server that is running keeps what is in its memory.")
    return 0


def _local_settings() -> Settings:
    settings = Settings.from_environment()
    check_cache_file(settings)
    return with_local_defaults(settings)


def _places(settings: Settings) -> list[Place]:
    """Return where answers are kept; files of this machine alone are counted, and can be cleared here."""
    return [_place("cache", settings.cache, settings), _place("answers", settings.offload, settings)]


def _place(kind: Literal["cache", "answers"], location: str, settings: Settings) -> Place:
    if location in ("memory", "off"):
        return Place(kind, location, note="nothing is kept on this machine")
    if "://" in location:
        return Place(kind, location, note="shared, so it is not cleared here; what it has expires")
    path = absolute_path(location) if kind == "cache" else os.path.join(absolute_path(location), FOLDER)
    if not os.path.lexists(path):
        return Place(kind, path, note="not made yet")
    with os_errors(f"{path} cannot be read", "", sqlite3.Error):
        if kind == "cache":
            return Place(kind, path, True, _open_cache(settings).count(), os.path.getsize(path))
        try:
            own = list_answers(settings.offload, _TIMEOUT_S)
        except PathRefused as error:
            return Place(kind, path, note=f"not used: {error}")
        return Place(kind, path, True, len(own), sum(file.size for file in own))


def _open_cache(settings: Settings) -> SQLiteStore:
    return SQLiteStore(settings.cache_file, settings.cache_file_bytes, _TIMEOUT_S)


def _print(places: list[Place]) -> None:
    for place in places:
        described = f"{counted(place.answers, 'answer')}, {place.total_bytes:,} bytes" if place.is_local else place.note
        print_fields([(f"{place.kind:7}", place.location), ("", described)])
