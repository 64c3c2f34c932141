"""The interface between the compiler and the importers.

Corrections of imported tools: ``overlay.yaml`` in the folder of their source.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

import yaml
from pydantic import Field, field_validator, model_validator

from toolfold.aws.clients import AwsClients
from toolfold.build import schema, yaml_loader
from toolfold.build.yaml_loader import Document, parse_model
from toolfold.catalog import entries
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.entries import Effect
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError
from toolfold.execution.api_keys import SecretProvider, resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.fuzzy import closest
from toolfold.sources.http_api.binding import check_header

if TYPE_CHECKING:
    from toolfold.settings import Settings

OVERLAY = "overlay.yaml"
SNAPSHOT = "snapshot.json"


class ToolOverlay(schema.Model):
    """What a person may say of a tool, in place of what an importer found."""

    effect: Effect | None = None
    """What a call changes at the source; None: what the importer found."""
    tags: list[schema.Tag] = Field(default=[], max_length=6)
    example: dict[str, Any] | None = None
    """Arguments of a valid call; None: made of the parameters."""
    example_queries: list[schema.Phrase] = Field(default=[])
    """Requests of users who need the tool, in their words."""
    aliases: list[schema.Phrase] = Field(default=[])
    """Other words for what is returned."""
    relations: list[schema.Relation] = Field(default=[], max_length=schema.MAX_RELATIONS)
    """Tools that are called before this one, instead of it, or after it."""
    title: schema.Prose | None = None
    summary: schema.Summary | None = None
    description: schema.Prose | None = None
    confirm: schema.Confirmation | None = None
    """What a person reads before each call, which then needs approval."""
    expose: bool | None = None
    """Whether the tool may be called; None: yes."""


class Overlay(schema.Model):
    """The content of ``overlay.yaml``."""

    tools: dict[str, ToolOverlay] = Field(default_factory=dict)
    """Name that the source has for a tool → corrections."""
    reviewed: list[str] = Field(default_factory=list)
    """Texts that look like instructions to a model and that a person has read: hashes of ``toolfold source review``."""


def read_overlay(folder: Path, names: list[str], problems: list[str]) -> Overlay:
    """Return the overlay in ``folder``; empty without that file."""
    path = folder / OVERLAY
    if not path.exists():
        return Overlay()
    document = yaml_loader.load(path)
    overlay = parse_model(Overlay, document, document.data or {}, problems) or Overlay()
    for name in overlay.tools:
        if name not in names:
            where = document.where("tools", name)
            problems.append(f"{where}: the source has no tool {name!r}.{closest(name, names)}")
    return overlay


def accept_texts(folder: Path, hashes: Collection[str]) -> None:
    """Add ``hashes`` to ``reviewed`` in the overlay of the source in ``folder``; what else is in the file stays.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = folder / OVERLAY
    known = read_overlay(folder, [], []).reviewed
    added = "".join(f"  - {one}\n" for one in dict.fromkeys((*known, *hashes)))
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    root = yaml.compose(text)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "reviewed":
            rest = text[value.end_mark.index :].lstrip()
            path.write_text(f"{text[: key.end_mark.index]}:\n{added}{rest}", encoding="utf-8")
            return
    start = f"{text.rstrip()}\n" if text.strip() else ""
    path.write_text(f"{start}reviewed:\n{added}", encoding="utf-8")


_EFFECTS: Mapping[str, Effect] = {"GET": "read", "HEAD": "read", "OPTIONS": "read", "DELETE": "destructive"}


def effect_of_method(method: str) -> Effect:
    """Return what a request with an HTTP method changes, unless something else is stated."""
    return _EFFECTS.get(method.upper(), "write")


FRESHNESS_CLASS = "default"
"""The one freshness class of an imported source."""


MAX_PREFIX = 32
"""Characters of the id of a source that is part of the names of its tools: half of a name."""


class ImporterSettings(schema.Model):
    """What the ``source.yaml`` of every source may have. Each kind adds what it needs."""

    id: schema.Identifier
    title: schema.Label = ""
    """Name for people, instead of the id in words."""
    description: str = ""
    """What a model reads about the source, instead of what the importer found."""
    kind: schema.Identifier = "http_api"
    """Kind of the source: the name of its adapter in ``sources.base``."""
    auth: schema.Auth | None = None
    """None for a source that does not need a key."""
    no_data: schema.Paragraph = "Check the arguments, or try another tool of this source."
    """Suggestion for the next step after a response without rows."""
    prefix: bool = True
    """Whether tools are called ``<id>__<name>``. Two sources with tools of the same name need it."""
    timeout_s: float | None = Field(default=None, gt=0, le=900)
    """Seconds for one call, where the time-out of the settings is too long."""
    max_response_bytes: int | None = Field(default=None, ge=1)
    """Size of a response, where the limit of the settings is too large."""
    identifiers: list[str] = Field(default=[])
    """Columns that say what a row of an answer is about: ``select`` leaves them with their rows, and their digits are
    text."""
    freshness_s: int = Field(default=300, ge=1)
    """Seconds for which the answer of a tool that reads is fresh."""
    infer_relations: bool = True
    """Whether TOOL_GET says of a tool which other may have the value of a parameter, as their names show."""
    tags: list[schema.Tag] = Field(default=[], max_length=6)
    """Tags of each tool, beside those that the importer found."""

    @model_validator(mode="after")
    def _can_be_prefix(self) -> ImporterSettings:
        if self.prefix and len(self.id) > MAX_PREFIX:
            raise ValueError(f"id has {len(self.id)} characters, and {MAX_PREFIX} are the most in names of tools")
        return self

    @property
    def catalog_auth(self) -> entries.Auth | None:
        """The credentials as a catalog has them, with the variable that they are in where none is named."""
        if self.auth is None:
            return None
        return entries.Auth(**{"environment": own_variable(self.id), **self.auth.model_dump(exclude_defaults=True)})

    def as_source(self, base_url: str, connection: Mapping[str, Any] = {}, description: str = "") -> entries.Source:
        """Return the source as a catalog has it. ``description`` is for one whose settings have none."""
        stated = self.model_dump(include={"timeout_s", "max_response_bytes", "headers"}, exclude_defaults=True)
        return entries.Source(
            id=self.id,
            title=self.title or in_words(self.id).capitalize(),
            kind=self.kind,
            base_url=base_url,
            function_key="",
            auth=self.catalog_auth,
            freshness={FRESHNESS_CLASS: self.freshness_s},
            no_data=self.no_data,
            faults=(),
            unknown_notice=(),
            description=self.description or description,
            connection=stated | dict(connection),
        )


class HttpSettings(ImporterSettings):
    """What the ``source.yaml`` of every source of requests over HTTP may have."""

    headers: dict[str, str] = Field(default={}, max_length=20)
    """Headers of each request, such as the version of the API; credentials belong to ``auth``."""

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            check_header(name, value)
        return headers


@dataclass(frozen=True)
class Category:
    """A group of tools of one source."""

    title: str
    description: str = ""


@dataclass(frozen=True)
class Tool:
    """One tool: as its source describes it, and then as the catalog has it, with clean texts and nothing missing.

    Attributes:
        name: The name that the source has for it, from which the one in the catalog is made.
        where: Returns ``file:line`` of a key, or of what describes the tool.
        parameters: The complete JSON Schema (2020-12) of its arguments: an object.
        effect: What a call changes at the source; unknown is ``destructive``.
        summary: One line; empty: the first sentence of ``description``.
        call: Input of the adapter. ``function``, the source's name, is added.
        returns: The fields of an answer in one line.
        answer: Where its rows are: ``rows``, paths in JSON, "" for an answer that is a list; ``kind``, ``typed`` where
            its values have their types already; and what else ``catalog.entries.Tool`` has there.
        category: Name of its category; empty: the id of the source.
        example: Arguments of a valid call; None: made from ``parameters``.
        is_example_generated: Whether it was; it is then left out where it does not fit.
        confirm: What a person reads before each call, which then needs approval.
        use_instead: Requests that another tool serves, and the name of that tool.
        common: Whether the instructions for clients name the tool.
        expose: Whether it may be called. One that may not is in no listing; TOOL_GET describes it.
        hints: What answers lack, and what to call instead of a call that failed.
        function: The name that the source has for it, where ``name`` is that of the catalog.
    """

    name: str
    where: Callable[..., str]
    parameters: Mapping[str, Any]
    effect: Effect
    title: str = ""
    summary: str = ""
    description: str = ""
    call: Mapping[str, Any] = field(default_factory=dict)
    returns: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    category: str = ""
    tags: Sequence[str] = ()
    example: Mapping[str, Any] | None = None
    is_example_generated: bool = False
    example_queries: Sequence[str] = ()
    aliases: Sequence[str] = ()
    confirm: str | None = None
    relations: Sequence[schema.Relation] = ()
    use_instead: Mapping[str, str] = field(default_factory=dict)
    access: entries.Access = "free"
    common: bool = False
    expose: bool = True
    freshness: str = FRESHNESS_CLASS
    formats: Sequence[entries.Format] = ("json",)
    hints: Mapping[str, Any] = field(default_factory=dict)
    function: str = ""


@dataclass(frozen=True)
class ImportedSource:
    """What an importer found in the folder of a source.

    Attributes:
        tools: In the order of the listing.
        source: The source; its ``connection`` has at most a few kilobytes of JSON.
        categories: Name, an identifier in lower case → category of ``tools``; one that is not here has the title and
            description of the source.
        files: Content that calls return: its SHA-256 in hexadecimal digits → text, or bytes.
        left_out: What the source describes and no tool can express, each as ``file:line: problem``. The others compile;
            ``toolfold catalog lint`` reports these as errors.
        notes: What tools lack without harm, each as ``file:line: sentence``.
    """

    tools: Sequence[Tool]
    source: entries.Source
    categories: Mapping[str, Category] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh of a source found, and wrote unless it was only to check. Names are the source's own.

    Attributes:
        added: Names of tools or tables that are new.
        removed: Those that are gone.
        changed: Those that differ.
        notes: What a person may have expected and the source does not have, a sentence each.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    @classmethod
    def between(cls, before: Mapping[str, Any], after: Mapping[str, Any], notes: Iterable[str] = ()) -> RefreshReport:
        """Return how ``after`` differs from ``before``: name → what the source says of it."""
        return cls(
            tuple(sorted(after.keys() - before.keys())),
            tuple(sorted(before.keys() - after.keys())),
            tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
            tuple(notes),
        )


class Fetched(NamedTuple):
    """What was read from a service: the new content of the file, with what it describes."""

    report: RefreshReport
    content: bytes = b""


SettingsT = TypeVar("SettingsT", bound=ImporterSettings)


class Importer(Generic[SettingsT]):
    """Read one source of one kind.

    Attributes:
        settings_model: The model of ``source.yaml``.
        is_imported: Whether its texts are of others. Those of another kind are written by hand, for this catalog: what
            is wrong with a tool is an error, and its texts are not altered.
        needed_key: The key of ``source.yaml`` without which a source has nothing to read again; empty: none.
        file_name: The name of the file that a refresh replaces.
        folder: The folder with ``source.yaml``.
        settings: The checked content of ``source.yaml``.
        document: The same with line numbers.
        where: Returns ``file:line`` of a key in it.
    """

    settings_model: type[SettingsT]
    is_imported = True
    needed_key = ""
    file_name = SNAPSHOT

    def __init__(self, folder: Path, settings: SettingsT, document: Document) -> None:
        self.folder, self.settings, self.document = folder, settings, document
        self.where = document.where

    @classmethod
    def open(cls, folder: Path, document: Document, problems: list[str]) -> Importer[SettingsT] | None:
        """Return the importer of the source in ``folder``, or None where its ``source.yaml`` is not valid."""
        data = document.data
        if isinstance(data, dict):  # the folder is named after the source
            data = {"id": folder.name, **data}
        settings = parse_model(cls.settings_model, document, data, problems)
        return None if settings is None else cls(folder, settings, document)

    def read(self, problems: list[str]) -> ImportedSource | None:
        """Return the source, from the files of its folder alone; None where nothing can be read.

        ``problems`` receives what is wrong, each as ``file:line: problem``; the catalog does not compile then.
        """
        raise NotImplementedError

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> Fetched:
        """Read the source from its service, and compare it with what is in the folder. Nothing is written.

        Raises:
            SourceError: It cannot be read, or what was read cannot be used.
        """
        raise NotImplementedError


def key_of_deployment(source: entries.Source, process_settings: Settings, need: str = "required") -> str:
    """Return the key that this environment has for a source; ``need`` as for ``resolve_api_key``.

    Raises:
        CallError: It is required and missing, or cannot be read.
    """
    return resolve_api_key(source, NO_CREDENTIALS, SecretProvider(process_settings, AwsClients()), need=need)


SNAPSHOT_LIMITS = yaml_loader.Limits(max_bytes=48 << 20, may_be_json=True)


class Snapshot(schema.Model):
    """What a service stated of itself, as a refresh wrote it and a person reviewed it: the content of a file."""

    format: Literal[1] = 1
    fetched_at: str

    def to_json(self) -> str:
        """Return the text of the file: a line for each value, so that a change shows in a review as what it is."""
        return json.dumps(self.model_dump(), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path, source_id: str, problems: list[str]) -> Self | None:
        """Return the snapshot in ``folder``; None without one that can be read, and with the reason in ``problems``."""
        path, found = folder / SNAPSHOT, list[str]()
        if not path.exists():
            found.append(f"{path}:1: there is no snapshot yet")
        else:
            try:
                document = yaml_loader.load(path, SNAPSHOT_LIMITS)
                if (snapshot := parse_model(cls, document, document.data, found)) is not None:
                    # Of any value, JSON of pydantic has 200 levels at most, and no half of a surrogate pair.
                    return cls.model_validate_json(snapshot.to_json().encode())
            except SourceError as error:
                found += error.problems
            except ValueError:
                found.append(f"{path}:1: has values nested too deeply, or half of a surrogate pair")
        problems += (f"{problem}; run: toolfold source refresh {source_id}" for problem in found[:1])
        return None
