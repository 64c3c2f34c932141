"""Compile the profiles of a folder: which tools each lists, and the definitions that it answers with.

Decide which tools the conditions of a profile or of a context match.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from toolfold.build import yaml_loader
from toolfold.build.definitions import REQUEST, definition_of, make_groups, make_kinds
from toolfold.build.importers.base import Tool
from toolfold.build.schema import Model, Prose
from toolfold.build.search_index import TellingRequests
from toolfold.build.writer import runs
from toolfold.build.yaml_loader import parse_model
from toolfold.catalog import profiles
from toolfold.catalog.entries import DEFAULT_PROFILE, EFFECTS, RESERVED_NAMES, Access, name_key
from toolfold.catalog.profiles import SWITCHES, Kind, kind_of
from toolfold.catalog.reader import line_key
from toolfold.fuzzy import closest, normalize
from toolfold.settings.model import MODE_SYNONYMS

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


Name = Annotated[str, AfterValidator(_name)]
"""Part of a URL, and the value of an option."""
Values = Annotated[
    list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given), Field(min_length=1)
]
_without_synonyms = BeforeValidator(lambda given: MODE_SYNONYMS.get(given, given) if isinstance(given, str) else given)
Mode = Annotated[profiles.Mode, _without_synonyms]
KindMode = Annotated[profiles.KindMode, _without_synonyms]


class Selection(Model):
    """Conditions on a tool. ``include`` keeps tools that meet each of them, ``exclude`` drops those that meet one."""

    source: Values | None = None
    category: Values | None = None
    tag: Values | None = None
    effect: Values | None = None
    access: Values | None = None
    tool: Values | None = None


KIND_SWITCHES: dict[str, Kind] = {"databases": "database", "mcp": "mcp"}
"""Key of a profile → the kind of source that it switches off: ``false`` is the mode ``off`` of ``kinds``."""


class ContextSettings(Model):
    """Tools that belong together, and that no profile of another context may call."""

    description: Prose | None = None
    include: Selection | None = None
    exclude: Selection | None = None

    def conditions(self, key: str) -> Iterable[tuple[str, list[str]]]:
        """Return field and values of each condition of ``include`` or ``exclude``."""
        selection: Selection | None = getattr(self, key)
        return selection.model_dump(exclude_none=True).items() if selection else ()


class ProfileSettings(ContextSettings):
    """One profile."""

    title: Prose | None = None
    mode: Mode | None = None
    kinds: dict[Kind, KindMode] = Field(default_factory=dict)
    scripts: bool | None = None
    batch: bool | None = None
    pipe: bool | None = None
    databases: bool | None = None
    mcp: bool | None = None
    list_executors: bool = False
    pinned: list[str] = Field(default_factory=list, max_length=MAX_PINNED)
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


_EMPTY = BeforeValidator(lambda given: {} if given is None else given)
"""A key without a value sets nothing."""


class ProfilesFile(Model):
    """The content of ``profiles.yaml``."""

    contexts: Annotated[dict[Name, Annotated[ContextSettings, _EMPTY]], _EMPTY] = Field(default_factory=dict)
    profiles: Annotated[dict[Name, Annotated[ProfileSettings, _EMPTY]], Field(max_length=MAX_PROFILES), _EMPTY] = Field(
        default_factory=dict
    )
    most_used: Annotated[
        list[str], Field(max_length=MAX_PINNED), BeforeValidator(lambda given: [] if given is None else given)
    ] = Field(default_factory=list)
    """Names of the tools that are called most, the most frequent first; ``toolfold stats`` prints them."""


_MAX_MOST_USED = 5
"""Tools that the mode ``auto`` pins: a thousand tokens, beside the 600 of the meta-tools."""

_META_NAMES = frozenset({*RESERVED_NAMES, "CONNECTOR", "DATABASE", "MCP", "READ_SKILL", REQUEST.upper()})
"""Names that no group can have."""


def compile_profiles(
    folder: Path, compiled: Mapping[str, Any], described: Sequence[Tool], problems: list[str]
) -> dict[str, Any]:
    """Compile ``profiles.yaml`` in ``folder``, or, without one, the profile ``default``, to sections of the catalog.

    ``compiled`` has ``sources``, ``categories`` and ``tools`` of the catalog, in the order of the listing. The result
    has ``profile_names`` for the head, so that a request for another profile needs no section.
    """
    path = folder / FILE
    document = yaml_loader.load(path) if path.exists() else yaml_loader.parse(path, "")
    file = parse_model(ProfilesFile, document, {} if document.data is None else document.data, problems)
    if file is None:
        return {}
    compiler = _Compiler(document, file, compiled, described)
    found = list(compiler.problems())
    problems += found
    return {} if found else compiler.compile()


class _Compiler:
    def __init__(
        self,
        document: yaml_loader.Document,
        file: ProfilesFile,
        compiled: Mapping[str, Any],
        described: Sequence[Tool],
    ) -> None:
        self._document, self._file, self._where = document, file, document.where
        self._sources, self._categories, self._tools = (compiled[key] for key in ("sources", "categories", "tools"))
        self._unexposed = {tool.name for tool in described if not tool.expose}
        requests = {tool.name: [*tool.example_queries, *tool.aliases] for tool in described}
        self._requests = TellingRequests(requests)
        self._index = {field: defaultdict[str, set[int]](set) for field in Selection.model_fields}
        self._known: dict[str, dict[str, None]] = {field: {} for field in self._index}
        self._known |= {"effect": dict.fromkeys(EFFECTS), "access": dict.fromkeys(get_args(Access))}
        for at, (name, entry) in enumerate(self._tools.items()):
            values = [(field, entry[field]) for field in ("source", "category", "effect", "access")]
            for field, value in [*values, *(("tag", tag) for tag in entry["tags"]), ("tool", name)]:
                self._known[field][value] = None
                self._index[field][normalize(value)].add(at)
        self._names = list(self._tools)
        self._positions = {name_key(name): position for position, name in enumerate(self._names)}
        self._kinds = {id_: kind_of(entry["kind"]) for id_, entry in self._sources.items()}
        self._contexts = {name: self._passing(context) for name, context in file.contexts.items()}

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with values that the models accept."""
        yield from self._unknown_values("contexts", self._file.contexts)
        yield from self._unknown_values("profiles", self._file.profiles)
        for at, name in enumerate(self._file.most_used):
            yield from self._unknown_tool(name, self._where("most_used", at))
        for name, profile in self._file.profiles.items():
            if name in RESERVED:
                yield f"{self._where('profiles', name)}: {name} is part of another path: choose another name"
            for key, kind in KIND_SWITCHES.items():
                is_on = getattr(profile, key)
                if is_on is not None and kind in profile.kinds and is_on == (profile.kinds[kind] == "off"):
                    yield f"{self._where('profiles', name, key)}: {key} contradicts kinds.{kind}; keep one of them"
            if profile.context is not None and profile.context not in self._file.contexts:
                hint = closest(profile.context, self._file.contexts) or " Add it under contexts."
                yield f"{self._where('profiles', name, 'context')}: there is no context {profile.context!r}.{hint}"
                continue
            listed = self._listed(profile)
            if not listed and not any(self._unknown_values("profiles", {name: profile})):
                yield f"{self._where('profiles', name)}: no tool passes the conditions of {name}"
            for at, tool in enumerate(profile.pinned):
                where = self._where("profiles", name, "pinned", at)
                if unknown := list(self._unknown_tool(tool, where)):
                    yield from unknown
                elif self._positions[name_key(tool)] not in listed:
                    yield f"{where}: {tool} is pinned, but {name} does not list it: see its conditions and context"

    def _unknown_values(self, group: str, entries: Mapping[str, ContextSettings]) -> Iterator[str]:
        for name, key in itertools.product(entries, ("include", "exclude")):
            for field, values in entries[name].conditions(key):
                for value in values:
                    if normalize(value) not in map(normalize, self._known[field]):
                        hint = closest(value, self._known[field])
                        yield f"{self._where(group, name, key, field)}: there is no {field} {value!r}.{hint}"

    def compile(self) -> dict[str, Any]:
        profiles = {DEFAULT_PROFILE: ProfileSettings(), **self._file.profiles}
        entries = {name: self._entry(name, profile) for name, profile in profiles.items()}
        plain = {"title", "most_used"}
        names = [name for name in profiles if name != DEFAULT_PROFILE or entries[name].keys() - plain]
        exposed: dict[str, Any] = {}
        formats = {id_: entry.get("format_parameter", "") for id_, entry in self._sources.items()}
        for name, profile in profiles.items():
            listed = [(self._names[at], self._tools[self._names[at]]) for at in sorted(self._listed(profile))]
            # The ready-made profiles show what default lists.
            if name == DEFAULT_PROFILE or profile.mode in (None, "grouped"):
                taken = {*self._positions, *_META_NAMES}
                exposed[f"{name}/grouped"] = make_groups(self._categories, listed, self._kinds, formats, taken)
            if name == DEFAULT_PROFILE or profile.mode in (None, "kinds"):
                exposed[f"{name}/kinds"] = make_kinds(self._sources, listed, self._kinds)
        definitions = {
            line_key(at): definition_of(name, entry, self._requests, formats.get(entry["source"], ""))
            for at, (name, entry) in enumerate(self._tools.items())
        }
        return {"profile_names": names, "profiles": entries, "exposed": exposed, "definitions": definitions}

    def _entry(self, name: str, profile: ProfileSettings) -> dict[str, Any]:
        listed = self._listed(profile)
        included = self._passing(profile)
        unexposed = {at for at in included if self._names[at] in self._unexposed}
        most_used = [self._positions[name_key(tool)] for tool in self._file.most_used]
        keys = profile.model_fields_set if name in self._file.profiles else ()
        path = str(self._document.path)
        elsewhere: list[list[Any]] = []  # contexts of tools that the profile knows and does not list
        unlisted = included - listed - unexposed
        for context, members in self._contexts.items():
            if here := sorted(unlisted & members):
                profiles = [key for key, other in self._file.profiles.items() if other.context == context]
                elsewhere.append([context, profiles, runs(here)])
                unlisted = unlisted - members
        entry = {
            "title": profile.title or "",
            "description": profile.description or "",
            "mode": profile.mode or "",
            "kinds": dict(sorted(profile.kind_modes().items())),
            "switched_off": profile.switched_off(),
            "list_executors": profile.list_executors,
            "pinned": list(dict.fromkeys(self._positions[name_key(tool)] for tool in profile.pinned)),
            "most_used": [at for at in most_used if at in listed][:_MAX_MOST_USED],
            "context": profile.context or "",
            "listed": None if len(listed) == len(self._names) else runs(sorted(listed)),
            "unexposed": runs(sorted(unexposed)),
            "elsewhere": elsewhere,
            "where": {key: self._where("profiles", name, key).replace(path, FILE) for key in sorted(keys)},
        }
        return {key: value for key, value in entry.items() if value or (key == "listed" and value is not None)}

    def _listed(self, profile: ProfileSettings) -> set[int]:
        included = {at for at in self._passing(profile) if self._names[at] not in self._unexposed}
        if profile.context is None:
            return included
        own = self._contexts.get(profile.context, set())
        others = set().union(*(found for name, found in self._contexts.items() if name != profile.context))
        return {at for at in included if at in own or at not in others}

    def _passing(self, settings: ContextSettings) -> set[int]:
        found = set(range(len(self._names)))
        for key, keep in (("include", found.intersection_update), ("exclude", found.difference_update)):
            for field, values in settings.conditions(key):
                keep(set().union(*(self._index[field].get(normalize(value), ()) for value in values)))
        return found

    def _unknown_tool(self, name: str, where: str) -> Iterator[str]:
        if name_key(name) not in self._positions:
            yield f"{where}: there is no tool {name!r}.{closest(name, self._names)}"
