"""Read the OpenAPI document of a source: what its ``source.yaml`` may have, and :class:`OpenApiImporter`.

Operations are chosen by tag, path and operation: ``include`` and ``exclude`` of ``source.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from toolfold.build.emitter import first_sentence
from toolfold.build.importers import base
from toolfold.build.importers.openapi import access
from toolfold.build.importers.openapi.arguments import Binding, bind_operation
from toolfold.build.importers.openapi.document import (
    Api,
    DocumentError,
    dict_at,
    dicts_in,
    fetch_document,
    formatted,
    parse_document,
    read_document,
)
from toolfold.build.importers.openapi.operations import Operation, add_servers_and_security, find_operations
from toolfold.build.importers.openapi.schemas import SchemaConverter, one_paragraph
from toolfold.build.schema import Auth, Model, Url
from toolfold.build.yaml_loader import Document
from toolfold.catalog.entries import KEY_PLACES
from toolfold.catalog.text_checks import host_of
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError
from toolfold.fuzzy import did_you_mean, match_any
from toolfold.sources.http_api.request import taken_names

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


class OpenApiSettings(base.HttpSettings):
    """An OpenAPI service: the content of ``source.yaml``."""

    document: Annotated[
        str, StringConstraints(pattern=r"^[^/]{1,100}\.(json|yaml|yml)$"), AfterValidator(_file_name)
    ] = "openapi.json"
    """Name of the document in the folder of the source."""
    url: Annotated[Url, StringConstraints(max_length=2000)] | None = None
    """Where the service publishes the document; ``toolfold source refresh`` fetches it."""
    base_url: Url | None = None
    """Where calls are sent, in place of the servers of the document."""
    include: Selection = Selection()
    """Operations that become tools; all without it."""
    exclude: Selection = Selection()
    """Operations that do not become tools, also among those that are included."""

    @model_validator(mode="before")
    @classmethod
    def _name_document(cls, data: Any) -> Any:
        if isinstance(data, dict) and "document" not in data and str(data.get("url")).endswith((".yaml", ".yml")):
            return {**data, "document": "openapi.yaml"}
        return data


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
            self._api = Api(read_document(path))
            self._api.add_files()
            if "swagger" in self._api.data:
                add_servers_and_security(self._api.data)
            return self._read(problems)
        except SourceError as error:
            problems += error.problems
            return None

    def _read(self, problems: list[str]) -> base.ImportedSource | None:
        api, settings = self._api, self.settings
        converter = self._converter = SchemaConverter(api)
        found = find_operations(api)
        default_server = self._main_server()
        operations = self._select(found, problems)
        schemes = access.read_schemes(api, default_server)
        schemes = schemes or access.undeclared_key(operations, api)
        chosen, auth = self._authentication(operations, schemes)
        settings = self.settings = settings.model_copy(update={"auth": auth})
        is_token = auth is not None and (auth.bearer or auth.oauth2 is not None)
        tokens = access.token_names(found, api) if is_token else frozenset[str]()
        credentials = access.Credentials(taken_names(settings.catalog_auth), tokens)
        bound: list[tuple[Operation, str, Binding]] = []
        for one in operations:
            try:
                server = self._server(one, default_server)
                bound.append((one, server, bind_operation(one, converter, credentials)))
            except DocumentError as error:
                api.left_out.append(DocumentError(f"{one.title}: {error.problem}", *error.place))
            except RecursionError:
                api.left_out.append(DocumentError(f"{one.title}: is nested too deeply", one.value))
        left_out = api.located(api.left_out)
        if not bound:
            problems += left_out or [f"{self.folder / settings.document}:1: has no operation that is included"]
            return None
        base_url = access.common_base([server for _, server, _ in bound])
        wheres = api.lines([(one.value,) for one, *_ in bound])
        info = dict_at(api.data, "info")
        source = settings.as_source(base_url, description=self._description(info))
        return base.ImportedSource(
            tools=[
                self._tool(one, binding, server.removeprefix(base_url), where, chosen)
                for (one, server, binding), where in zip(bound, wheres, strict=True)
            ],
            source=source._replace(version=str(info.get("version", ""))[:50]),
            categories=self._categories(operations),
            left_out=left_out,
            notes=api.located(api.notes),
        )

    def _select(self, operations: list[Operation], problems: list[str]) -> list[Operation]:
        include, exclude = self.settings.include, self.settings.exclude
        for key, selection in (("include", include), ("exclude", exclude)):
            for at, sentence in selection.unused_entries(operations):
                problems.append(f"{self.where(key, *at)}: {key}: {sentence}")
        return [one for one in operations if (not include or include.matches(one)) and not exclude.matches(one)]

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
            sentence = f"security scheme {chosen[:60]!r} cannot be used; set auth in source.yaml"
            self._api.note(sentence, dict_at(self._api.data, "components", "securitySchemes"), chosen)
            return None, own

    def _security(self, operation: Operation) -> access.Security:
        return access.Security(operation.value.get("security"), self._api.data.get("security"))

    def _main_server(self) -> str:
        settings, data = self.settings, self._api.data
        if settings.base_url:
            return settings.base_url.rstrip("/")
        try:
            # Without servers it is the root of where the document was fetched from (OpenAPI 3.1, section 4.8.1).
            servers = data.get("servers") or ([{"url": "/"}] if settings.url else [])
            return access.choose_server(servers, settings.url or "")
        except ValueError as error:
            raise SourceError(self._api.located([DocumentError(str(error), data, "servers")])) from None

    def _server(self, operation: Operation, default: str) -> str:
        listed, main = operation.servers, dicts_in(self._api.data.get("servers"))
        if not listed or (main and listed[0].get("url") == main[0].get("url")):  # with other variables or none
            return default
        try:
            server = access.choose_server(listed, self.settings.url or default)
        except ValueError as error:
            raise DocumentError(str(error), listed) from None
        if host_of(server) == host_of(default):
            return server
        problem = f"has a server of its own, {server[:100]}; make another source with base_url for it"
        raise DocumentError(problem, listed)

    def _tool(
        self, operation: Operation, binding: Binding, server_path: str, where: str, chosen: str | None
    ) -> base.Tool:
        """Return the tool of ``operation``; ``chosen`` is the security scheme of the source."""
        value, security, text = operation.value, self._security(operation), self._converter.text
        summary = text(value.get("summary"), value, "summary", MAX_SUMMARY).rstrip(".")
        description = text(value.get("description"), value, "description", MAX_DESCRIPTION)
        lacks = ", ".join(sorted(security.unmet(chosen)))[:100]
        if lacks:
            problem = f"{operation.title} needs the security scheme {lacks}, which is not sent"
            self._api.note(f"{problem}; make another source with auth for it", value)
        if binding.is_shortened:
            self._api.note(f"{operation.title}: inner parts of the schema are left out", value)
        # Frameworks make a summary of the name of a function: "List Pets", or "ListPets".
        title = summary = in_words(summary) if summary.isidentifier() else summary
        words = in_words(operation.name).capitalize()
        if description and summary.lower() == words.lower():
            summary = ""
        named = f"{words} ({operation.title})" if "operationId" in value else operation.title
        stated = description or summary or named
        for sentence, applies in (
            ("Deprecated by the service.", value.get("deprecated") is True),
            (_LACKS.format(lacks), lacks),
        ):
            stated = f"{stated.rstrip('.')}. {sentence}" if applies else stated
        need = "required" if self.settings.auth is None else security.need
        call = {**binding.call, "path": f"{server_path}{binding.call['path']}"}
        return base.Tool(
            name=operation.name,
            where=lambda *_: where,
            parameters=binding.parameters,
            effect=base.effect_of_method(operation.method),
            title=title or words,
            summary=summary,
            description=stated,
            call=call if need == "required" else {**call, "credentials": need},
            returns=binding.answer.outline,
            answer={"rows": [*binding.answer.rows], "kind": "typed"},
            category=_identifier(operation.tags[0]) if operation.tags else "",
            tags=[one_paragraph(tag, 50) for tag in operation.tags[:4]],
        )

    def _categories(self, operations: Iterable[Operation]) -> dict[str, base.Category]:
        tags = {tag["name"]: tag for tag in dicts_in(self._api.data.get("tags")) if isinstance(tag.get("name"), str)}
        found: dict[str, base.Category] = {}
        for tag in (one.tags[0] for one in operations if one.tags):
            if (name := _identifier(tag)) and name not in found:
                holder = dict_at(tags, tag)
                text = self._converter.text(holder.get("description"), holder, max_chars=MAX_SOURCE_DESCRIPTION)
                text = text and f"{first_sentence(text, MAX_SOURCE_DESCRIPTION)}."
                found[name] = base.Category(one_paragraph(tag, 100), text)
        return found

    def _description(self, info: Mapping[str, Any]) -> str:
        title = one_paragraph(info.get("title"), 200)
        given = info.get("summary") or info.get("description")
        text = self._converter.text(given, info, max_chars=MAX_SOURCE_DESCRIPTION)
        return text if not title or text.startswith(title) else f"{title}: {text}" if text else title

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> base.Fetched:
        """Fetch the document that the service publishes."""
        settings, url = self.settings, self.settings.url or ""  # without one, it is not called: ``needed_key``
        progress(f"Fetching {url}")
        read = fetch_document(url, settings.id, process_settings, f"{self.folder / 'source.yaml'}:1")
        content = formatted(read, settings.document)
        fetched = parse_document(content, url)
        path, old = self.folder / settings.document, None
        with suppress(SourceError):  # a damaged one is replaced
            old = read_document(path) if path.is_file() else None
        return base.Fetched(compare(old, fetched), content)


def compare(old: Document | None, new: Document) -> base.RefreshReport:
    """Return which operations differ; ``components`` where only definitions that they refer to do."""
    before, after = (
        {one.name: (one.title, one.value) for one in find_operations(Api(document))} if document else {}
        for document in (old, new)
    )
    report = base.RefreshReport.between(before, after)
    if not report and (old is None or old.data != new.data):
        return base.RefreshReport(changed=("components",))
    return report


def _identifier(tag: str) -> str:
    name = _NOT_IN_NAME.sub("_", tag.lower()).strip("_")[:60]
    return f"tag_{name}" if name[:1].isdigit() else name
