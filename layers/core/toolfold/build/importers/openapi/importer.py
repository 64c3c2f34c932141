"""Read the OpenAPI document of a source: what its ``source.yaml`` may have, and :class:`OpenApiImporter`.

Operations are chosen by tag, path and operation: ``include`` and ``exclude`` of ``source.yaml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, field_validator, model_validator

from toolfold.build.emitter import first_sentence
from toolfold.build.importers import base
from toolfold.build.importers.openapi import access
from toolfold.build.importers.openapi.document import (
    DocumentError,
    Findings,
    References,
    add_alternatives,
    add_files,
    check_version,
    fetch_document,
    formatted,
    parse_document,
    read_document,
    wheres,
    with_servers_and_security,
)
from toolfold.build.importers.openapi.operations import Binding, Operation, bind_operation, find_operations
from toolfold.build.importers.openapi.schema_parts import dict_at, dicts_in, one_paragraph
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.build.schema import Auth, Model, Url
from toolfold.build.yaml_loader import Document, Location
from toolfold.catalog.entries import KEY_PLACES
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError
from toolfold.fuzzy import did_you_mean, match_any
from toolfold.sources.http_api.authentication import taken_names
from toolfold.sources.http_api.binding import check_header

if TYPE_CHECKING:
    from toolfold.settings import Settings

_MAX_ENTRIES = 500


_WORDS = {"tags": "tag", "paths": "path", "operations": "operation"}
"""Key of a selection → what its entries name."""


class Selection(Model):
    """Operations. An operation belongs to it when one entry of one of the lists matches; ``*`` matches any text."""

    tags: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    paths: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """As in the document: ``/repos/{owner}/*``."""
    operations: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """An operationId, or ``GET /path``."""

    def __bool__(self) -> bool:
        return bool(self.tags or self.paths or self.operations)

    def matches(self, operation: Operation) -> bool:
        """Return whether the operation belongs to the selection."""
        return any(match_any(operation.named_by(key), getattr(self, key)) for key in _WORDS)

    def unused_entries(self, operations: Sequence[Operation]) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield the location and a sentence for each entry that matches no operation of the document."""
        for key, word in _WORDS.items():
            known = list(dict.fromkeys(name for operation in operations for name in operation.named_by(key)))
            for number, entry in enumerate(getattr(self, key)):
                if not match_any(known, [entry]):
                    hint = did_you_mean(entry, sorted(known) if key == "tags" else known, shown=repr)
                    yield (key, number), f"no operation has the {word} {entry[:100]!r}. {hint}".rstrip(". ")


def _file_name(name: str) -> str:
    if name in ("source.yaml", "overlay.yaml") or "\\" in name or name.startswith("."):
        raise ValueError("must be the name of another file in the folder of the source")
    return name


class OpenApiSettings(base.ImporterSettings):
    """An OpenAPI service: the content of ``source.yaml``."""

    document: Annotated[
        str, StringConstraints(pattern=r"^[^/]{1,100}\.(json|yaml|yml)$"), AfterValidator(_file_name)
    ] = "openapi.json"
    """Name of the document in the folder of the source."""
    url: Annotated[Url, StringConstraints(max_length=2000)] | None = None
    """Where the service publishes the document; ``toolfold source refresh`` fetches it."""
    base_url: Url | None = None
    """Where calls are sent, in place of the servers of the document."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=20)
    """Headers that every request has, such as the version of the API. Credentials belong to ``auth``."""
    include: Selection = Selection()
    """Operations that become tools; all without it."""
    exclude: Selection = Selection()
    """Operations that do not become tools, also among those that are included."""

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            check_header(name, value)
        return headers

    @model_validator(mode="before")
    @classmethod
    def _name_document(cls, data: Any) -> Any:
        if isinstance(data, dict) and "document" not in data and str(data.get("url")).endswith((".yaml", ".yml")):
            return {**data, "document": "openapi.yaml"}
        return data


MAX_OPERATIONS = 20_000
"""Operations of one document. The largest public one, of Microsoft Graph, has 17,000."""

MAX_SUMMARY, MAX_DESCRIPTION, MAX_SOURCE_DESCRIPTION = 300, 1500, 500
_LACKS = "Calls are refused here: the service wants other credentials for it ({})."
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


class OpenApiImporter(base.Importer[OpenApiSettings]):
    """Compile an OpenAPI document."""

    settings_model = OpenApiSettings
    needed_key = "url"

    def __init__(self, folder: Path, settings: OpenApiSettings, document: Document) -> None:
        super().__init__(folder, settings, document)
        self.file_name = settings.document

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return the tools of the document, without those that cannot be expressed."""
        settings, path = self.settings, self.folder / self.settings.document
        if path.is_symlink() or not path.is_file():
            fetch = f"; fetch it with: toolfold source refresh {settings.id}" if settings.url else ""
            problem = f"{settings.document} is not a file in the folder of the source{fetch}"
            problems.append(f"{self.where('document')}: {problem}")
            return None
        try:
            self._api = read_document(path)
            self._files = add_files(self._api)
            add_alternatives(self._api.data)
            return self._read(problems)
        except SourceError as error:
            problems += error.problems
            return None

    def _read(self, problems: list[str]) -> base.ImportedSource | None:
        data = self._api.data
        self._data = with_servers_and_security(data) if "swagger" in data else data
        self._references, self._findings = References(self._data), Findings()
        self._requests = SchemaConverter(self._references, self._findings.note)
        check_version(self._api)
        default_server = self._default_server()
        self._found = found = find_operations(self._references, self._findings)
        # Whether any operation states requirements of its own.
        self._states_security = any(one.value.get("security") for one in found)
        operations = self._select(found, problems)
        given = dict_at(self._data, "components", "securitySchemes")
        schemes = access.read_schemes(given, self._references, default_server)
        if not schemes:
            holders = (holder for one in operations for holder in (one.item, one.value))
            schemes = access.undeclared_key(holders, self._references)
            self._states_security |= bool(schemes)  # so that the key is sent where there is one, and not required
        chosen, auth = self._authentication(operations, schemes)
        settings = self.settings.model_copy(update={"auth": auth})
        is_token = auth is not None and (auth.bearer or auth.oauth2 is not None)
        every = [(one.item, one.value) for one in found]
        tokens = access.token_names(every, self._references) if is_token else frozenset[str]()
        credentials = access.Credentials(taken_names(settings.catalog_auth), tokens)
        places = wheres(self._files, [one.at for one in operations])
        found_tools: list[tuple[str, base.Tool]] = []
        for one in operations:
            try:
                server = self._server(one, default_server)
                binding = bind_operation(one, self._requests, credentials)
            except DocumentError as error:
                self._findings.left_out.append(DocumentError(error.at, f"{one.title}: {error.problem}"))
            else:
                found_tools.append((server, self._tool(one, binding, places[one.at], chosen)))
        left_out = self._located(self._findings.left_out)
        if not found_tools:
            problems += left_out or [f"{self._api.path}:1: has no operation that is included"]
            return None
        base_url = access.common_base([server for server, _ in found_tools])
        info, headers = dict_at(self._data, "info"), settings.headers
        source = settings.as_source(base_url, {"headers": headers} if headers else {}, self._description(info))
        return base.ImportedSource(
            tools=[
                replace(tool, call={**tool.call, "path": server.removeprefix(base_url) + tool.call["path"]})
                for server, tool in found_tools
            ],
            source=source._replace(version=str(info.get("version", ""))[:50]),
            categories=self._categories(operations),
            left_out=left_out,
            notes=self._located(self._findings.notes),
        )

    def _select(self, operations: list[Operation], problems: list[str]) -> list[Operation]:
        include, exclude = self.settings.include, self.settings.exclude
        for key, selection in (("include", include), ("exclude", exclude)):
            for at, sentence in selection.unused_entries(operations):
                problems.append(f"{self.where(key, *at)}: {key}: {sentence}")
        selected = [one for one in operations if (not include or include.matches(one)) and not exclude.matches(one)]
        if len(selected) > MAX_OPERATIONS:
            where = self.where("document")
            raise SourceError([f"{where}: has {len(selected):,} operations; {MAX_OPERATIONS:,} are read: use include"])
        return selected

    def _authentication(
        self, operations: Sequence[Operation], schemes: access.Schemes
    ) -> tuple[str | None, Auth | None]:
        """Return the scheme, and ``auth`` of the source."""
        own, required = self.settings.auth, [self._security(one) for one in operations]
        chosen = access.choose_scheme(required, schemes)
        stated = {place: value for place in KEY_PLACES if (value := getattr(own, place, None))}
        if own is not None and stated:
            return access.scheme_like(stated, schemes), own
        scheme = schemes[chosen] if chosen is not None else None
        if chosen is None or scheme is None:
            return None, own
        fields = dict(scheme)
        if "oauth2" in fields:
            scopes = dict.fromkeys(scope for one in required for scope in one.scopes(chosen))
            fields["oauth2"] = {**fields["oauth2"], "scopes": list(scopes)}
        given = {} if own is None else own.model_dump(exclude_defaults=True)
        try:
            return chosen, Auth.model_validate({**given, **fields})
        except ValidationError:  # a token endpoint that is not https, a header that cannot be sent
            at = ("components", "securitySchemes", chosen)
            self._findings.note(at, f"security scheme {chosen[:60]!r} cannot be used; set auth in source.yaml")
            return None, own

    def _security(self, operation: Operation) -> access.Security:
        return access.Security(operation.value.get("security"), self._data.get("security"))

    def _server(self, operation: Operation, default: str) -> str:
        listed, at = _own_servers(operation)
        main = dicts_in(self._data.get("servers"))
        if listed is None or (main and listed[0].get("url") == main[0].get("url")):  # with other variables or none
            return default
        settings = self.settings
        server = access.choose_server(listed, at, settings.url or default)
        if urlsplit(server)[:2] == urlsplit(default)[:2]:
            return server
        # A base_url replaces the main server of the document, also where operations repeat it.
        if settings.base_url and urlsplit(server)[:2] in self._main_origins:
            return default
        raise DocumentError(at, f"has a server of its own, {server[:100]}; make another source with base_url for it")

    @cached_property
    def _main_origins(self) -> set[tuple[str, str]]:
        """Scheme and host of the servers of the document; without any, those that most operations have."""
        given = [server.get("url") for server in dicts_in(self._data.get("servers"))]
        urls = [url for url in given if isinstance(url, str) and "://" in url]
        if not urls:
            own = [servers[0].get("url") for one in self._found if (servers := _own_servers(one)[0])]
            urls = [url for url, _ in Counter(url for url in own if isinstance(url, str)).most_common(1)]
        return {urlsplit(url)[:2] for url in urls}

    def _default_server(self) -> str:
        """Return where calls are sent whose operation has no server of its own."""
        if self.settings.base_url:
            return self.settings.base_url.rstrip("/")
        try:
            # Without servers it is the root of where the document was fetched from (OpenAPI 3.1, section 4.8.1).
            servers = self._data.get("servers") or ([{"url": "/"}] if self.settings.url else [])
            return access.choose_server(servers, ("servers",), self.settings.url or "")
        except DocumentError as error:
            raise SourceError(self._located([error])) from None

    def _tool(self, operation: Operation, binding: Binding, where: str, chosen: str | None) -> base.Tool:
        """Return the tool of ``operation``, whose path does not have that of the server yet."""
        value, security = operation.value, self._security(operation)
        lacks = ", ".join(sorted(security.unmet(chosen)))[:100]
        if lacks:
            problem = f"{operation.title} needs the security scheme {lacks}, which is not sent"
            self._findings.note(operation.at, f"{problem}; make another source with auth for it")
        if binding.is_shortened:
            self._findings.note(operation.at, f"{operation.title}: inner parts of the schema are left out")
        summary = self._requests.text(value.get("summary"), (*operation.at, "summary"), MAX_SUMMARY).rstrip(".")
        description = self._requests.text(value.get("description"), (*operation.at, "description"), MAX_DESCRIPTION)
        # Frameworks make a summary of the name of a function: "List Pets", or "ListPets".
        title = summary = in_words(summary) if summary.isidentifier() else summary
        if description and summary.lower() == in_words(operation.name).lower():
            summary = ""
        if value.get("deprecated") is True:
            description = f"{(description or summary or operation.title).rstrip('.')}. Deprecated by the service."
        if lacks:
            description = f"{(description or summary or operation.title).rstrip('.')}. {_LACKS.format(lacks)}"
        need = security.need(others_state=self._states_security)
        return base.Tool(
            name=operation.name,
            where=lambda *_: where,
            parameters=binding.parameters,
            effect=base.effect_of_method(operation.method),
            title=title or in_words(operation.name).capitalize(),
            summary=summary,
            description=description or summary or operation.title,
            call=binding.call if need == "required" else {**binding.call, "credentials": need},
            returns=binding.answer.outline,
            answer={"rows": [*binding.answer.rows], "kind": "typed"},
            category=_identifier(operation.tags[0]) if operation.tags else "",
            tags=[one_paragraph(tag, 50) for tag in operation.tags[:4]],
        )

    def _categories(self, operations: Iterable[Operation]) -> dict[str, base.Category]:
        tags = [tag for tag in dicts_in(self._data.get("tags")) if isinstance(tag.get("name"), str)]
        described = {tag["name"]: tag.get("description") for tag in tags}
        found: dict[str, base.Category] = {}
        for tag in (one.tags[0] for one in operations if one.tags):
            if name := _identifier(tag):
                text = self._requests.text(described.get(tag), ("tags",), MAX_SOURCE_DESCRIPTION)
                text = text and f"{first_sentence(text, MAX_SOURCE_DESCRIPTION)}."
                found.setdefault(name, base.Category(one_paragraph(tag, 100), text))
        return found

    def _description(self, info: Mapping[str, Any]) -> str:
        title = one_paragraph(info.get("title"), 200)
        given = info.get("summary") or info.get("description")
        text = self._requests.text(given, ("info", "description"), MAX_SOURCE_DESCRIPTION)
        return text if not title or text.startswith(title) else f"{title}: {text}" if text else title

    def _located(self, errors: Sequence[DocumentError]) -> list[str]:
        found = wheres(self._files, [error.at for error in errors])
        return list(dict.fromkeys(f"{found[error.at]}: {error.problem}" for error in errors))

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> base.Fetched:
        """Fetch the document that the service publishes."""
        settings, url = self.settings, self.settings.url or ""  # without one, it is not called: ``needed_key``
        progress(f"Fetching {url}")
        read = fetch_document(url, settings.id, process_settings, f"{self.folder / 'source.yaml'}:1")
        content = formatted(read, settings.document)
        fetched = parse_document(content, url)
        check_version(fetched)
        path, old = self.folder / settings.document, None
        with suppress(SourceError):  # a damaged one is replaced
            old = read_document(path) if path.is_file() else None
        return base.Fetched(compare(old, fetched), content)


def compare(old: Document | None, new: Document) -> base.RefreshReport:
    """Return which operations differ; ``components`` where only definitions that they refer to do."""
    before, after = (
        {one.name: (one.title, one.value) for one in find_operations(References(api.data), Findings())} if api else {}
        for api in (old, new)
    )
    report = base.RefreshReport.between(before, after)
    if not report and (old is None or old.data != new.data):
        return base.RefreshReport(changed=("components",))
    return report


def _own_servers(operation: Operation) -> tuple[list[Any] | None, Location]:
    """Return the servers that an operation or its path states, and their location; None without any."""
    for value, at in ((operation.value, operation.at), (operation.item, operation.item_at)):
        if isinstance(servers := value.get("servers"), list) and servers and isinstance(servers[0], dict):
            return servers, (*at, "servers")
    return None, ()


def _identifier(tag: str) -> str:
    name = _NOT_IN_NAME.sub("_", tag.lower()).strip("_")[:60]
    return f"tag_{name}" if name[:1].isdigit() else name
