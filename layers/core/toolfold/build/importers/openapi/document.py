"""Read an OpenAPI document, in JSON or YAML, and follow its references.

What an author has divided, into several files and into schemas that extend each other, becomes one document first. Its
data change there; references stay references.

:func:`fetch_document` reads the one that a service publishes. Its URL is in ``source.yaml``, and what a catalog may
reach is the operator's to say: ``TOOLFOLD_ALLOWED_HOSTS`` must allow the host, also that of each redirect, and its
address must be public or, for this machine, loopback.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin

from toolfold.build import yaml_loader
from toolfold.build.importers.base import OVERLAY
from toolfold.build.importers.openapi.schema_parts import dict_at, dicts_in
from toolfold.build.schema import VOCABULARY
from toolfold.build.yaml_loader import Document, Location
from toolfold.catalog import json_schema
from toolfold.catalog.text_checks import host_of
from toolfold.errors import SourceError
from toolfold.network.errors import TransportError
from toolfold.network.session import HttpClient
from toolfold.network.ssrf import address_check
from toolfold.sources.http_api.body import FORM, MULTIPART

if TYPE_CHECKING:
    from toolfold.settings import Settings

LIMITS = yaml_loader.Limits(aliased=500_000, max_bytes=64 << 20, may_be_json=True)
"""The largest public documents, of cloud providers, have 10 to 20 MB."""

_VERSIONS = re.compile(r"3\.[012](?:\.\d+)?(?:-\w+)?")


class DocumentError(Exception):
    """One operation, or the whole document, cannot be expressed as tools; ``problem`` has no full stop."""

    def __init__(self, at: Location, problem: str) -> None:
        super().__init__(problem)
        self.at = at
        self.problem = problem


class DanglingReference(DocumentError):
    """A reference points to nothing in the document, or out of it."""


@dataclass
class Findings:
    """Operations that cannot be expressed, and parts that are left out of tools without harm, each with the reason."""

    left_out: list[DocumentError] = field(default_factory=list)
    notes: list[DocumentError] = field(default_factory=list)

    def note(self, at: Location, sentence: str) -> None:
        """Add a note."""
        self.notes.append(DocumentError(at, sentence))


_MAX_CHAIN = 50
"""References that may lead to each other. A chain that is longer is a circle."""


class References:
    """The references within one document. Those to others are refused, but for files that :func:`add_files` added."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def locate(self, reference: Any, at: Location) -> tuple[Location, Any]:
        """Return the location and the value that ``reference``, which is at ``at``, points to."""
        if not isinstance(reference, str):
            raise DocumentError(at, "$ref is not text")
        shown = repr(_as_written(reference)[:120])
        if reference.partition("#")[0]:
            raise DanglingReference(at, f"$ref {shown} refers to another document; bundle the documents into one")
        found = json_schema.locate(self.data, reference or "#")
        if found is None:
            raise DanglingReference(at, f"$ref {shown} points to nothing in the document")
        return found

    def follow(self, value: Any, at: Location) -> tuple[Location, Any]:
        """Return the location and the value behind ``value``, which may be a reference object."""
        start = at
        for _ in range(_MAX_CHAIN):
            if not isinstance(value, dict) or not isinstance(value.get("$ref"), str):
                return at, value
            at, value = self.locate(value["$ref"], (*at, "$ref"))
        raise DocumentError(start, "$ref refers to itself without an end")


def _as_written(reference: str) -> str:
    """Return a reference into a file that :func:`add_files` added with the name of the file."""
    start = f"#/{_FILES}/"
    name, slash, rest = reference.removeprefix(start).partition("/")
    name = unquote(name).replace("~1", "/").replace("~0", "~")
    return f"{name}#{slash}{rest}" if reference.startswith(start) else reference


def read_document(path: Path) -> Document:
    """Read the document at ``path``, a JSON or YAML file.

    Raises:
        SourceError: It cannot be read, is too large, or is not an OpenAPI document.
    """
    return _with_keys(yaml_loader.load(path, LIMITS))


def parse_document(content: bytes, name: str) -> Document:
    """Parse the bytes of a document that was fetched.

    Raises:
        SourceError: It is not an OpenAPI document.
    """
    text = yaml_loader.decode(name, content)
    if text.lstrip()[:1] == "<":
        step = "the URL of a document often ends in openapi.json, swagger.json or v3/api-docs"
        raise SourceError([f"{name}:1: is a page of HTML or XML, and not an OpenAPI document; {step}"])
    return _with_keys(yaml_loader.parse(name, text, limits=LIMITS))


def _with_keys(document: Document) -> Document:
    if not isinstance(document.data, dict):
        raise SourceError([f"{document.path}:1: is not an OpenAPI document: it has no keys"])
    return document


def check_version(document: Document) -> None:
    """Check that ``document`` has a version of OpenAPI that can be read.

    Raises:
        SourceError: It has another one, or none.
    """
    data = document.data
    if "openapi" not in data and "swagger" not in data:
        raise SourceError([f"{document.path}:1: is not an OpenAPI document: it has no key openapi"])
    key = "openapi" if "openapi" in data else "swagger"
    version = str(data[key])
    if not (_VERSIONS.fullmatch(version) if key == "openapi" else version == "2.0"):
        known = "openapi 3.0 to 3.2 and swagger 2.0"
        raise SourceError([f"{document.where(key)}: is {key} {version[:40]!r}; {known} are read"])


_FILES, _ALTERNATIVES = "x-toolfold-files", "x-toolfold-alternatives"
"""Keys of a document for the files that are a part of it, and for the alternatives of schemas."""

MAX_FILES = 5_000
"""Files of one document. That of DigitalOcean has 2,900."""

_NOT_OF_DOCUMENT = frozenset({"source.yaml", OVERLAY, VOCABULARY})
_ENDINGS = (".json", ".yaml", ".yml")
_NOT_IN_NAME = re.compile(r"\W+")


def add_files(document: Document) -> dict[str, Document]:
    """Make the files that a document refers to a part of it, and return all by name; ``""`` is the document itself.

    Such a file is JSON or YAML in the folder of the document or below. A reference to any other, or through a symbolic
    link, stays as it is; following it is an error.

    Raises:
        SourceError: A file cannot be read, or they are too many or too large.
    """
    folder, own_name = os.path.split(os.path.realpath(document.path))
    files, open_, left = {"": document}, [""], LIMITS._replace(aliased=LIMITS.aliased - document.aliased)
    while open_:
        name = open_.pop()
        for holder, key in _references(files[name].data):
            file, _, fragment = holder[key].partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(file))) if file else name
            target = "" if target == own_name else target
            if target not in files and _is_part(path := os.path.join(folder, target), folder, target):
                size = os.path.getsize(path)
                if len(files) > MAX_FILES or size > left.max_bytes:
                    most = f"{MAX_FILES:,} files, or to more than {LIMITS.max_bytes >> 20} MB"
                    raise SourceError([f"{document.path}:1: refers to more than {most}; bundle what is needed"])
                file_read = files[target] = yaml_loader.load(Path(document.path).parent / target, left)
                left = left._replace(aliased=left.aliased - file_read.aliased, max_bytes=left.max_bytes - size)
                open_.append(target)
            if target in files and fragment[:1] in ("", "/"):
                token = target.replace("~", "~0").replace("/", "~1")
                holder[key] = f"#/{_FILES}/{quote(token, safe='~')}{fragment}" if target else f"#{fragment}"
    if len(files) > 1:
        document.data[_FILES] = {name: file.data for name, file in files.items() if name}
    return files


def _is_part(path: str, folder: str, name: str) -> bool:
    leaves = any(part[:1] in ("", ".") for part in name.split("/"))  # also to what is hidden
    if leaves or not (name.endswith(_ENDINGS) and name.isprintable()) or name in _NOT_OF_DOCUMENT:
        return False
    return os.path.isfile(path) and os.path.realpath(path) == os.path.normpath(os.path.join(folder, name))


def wheres(files: Mapping[str, Document], locations: Iterable[Location]) -> dict[Location, str]:
    """Return ``file:line`` of each location in a document with the ``files`` of :func:`add_files`."""
    inside: dict[str, dict[Location, Location]] = {}
    for at in locations:
        name, own = (str(at[1]), at[2:]) if at[:1] == (_FILES,) and at[1:2] and at[1] in files else ("", at)
        inside.setdefault(name, {})[at] = own
    lines = {name: files[name].lines(own.values()) for name, own in inside.items()}
    return {at: f"{files[name].path}:{lines[name][own]}" for name, found in inside.items() for at, own in found.items()}


def _objects(data: Any) -> list[dict[str, Any]]:
    found, seen, open_ = list[dict[str, Any]](), set[int](), [data]
    while open_:
        value = open_.pop()
        if isinstance(value, dict | list) and id(value) not in seen:
            seen.add(id(value))
            open_ += value.values() if isinstance(value, dict) else value
            found += [value] if isinstance(value, dict) else []
    return found


def _references(data: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the object and the key of each reference, and of each value by which a discriminator names a schema."""
    for value in _objects(data):
        mapping = dict_at(value, "discriminator", "mapping")
        for holder, key in ((value, "$ref"), *((mapping, name) for name in mapping)):
            if isinstance(holder.get(key), str):
                yield holder, key


def add_alternatives(data: dict[str, Any]) -> None:
    """Add schemas with ``oneOf`` for those of ``data`` whose alternatives the mapping of a discriminator alone names.

    Most alternatives extend the schema (``allOf``), which stays where it is; all other references lead to the new one.
    """
    objects = _objects(data)
    forms = {
        id(one): found
        for one in objects
        if (found := _forms(data, one)) and any(form is not one for form in found.values())
    }
    named = {id(form): form for found in forms.values() for form in found.values()}
    applied: dict[int, list[Any]] = {key: json_schema.parts(data, form) for key, form in named.items()}
    extending = {id(part) for parts in applied.values() for part in parts}
    for one in objects if forms else ():
        parts = dicts_in(one.get("allOf"))
        if len(parts) > 1 or "properties" in one:  # one alone is a reference with a text
            extending.update(map(id, parts))
    for parts in applied.values():
        for part in (part for part in parts if len(parts) > 1 and part.get("additionalProperties") is False):
            del part["additionalProperties"]  # NSwag writes it in each part, of which no value then fits all
    made: dict[int, str] = {}
    data[_ALTERNATIVES] = []
    for one in objects if forms else ():
        schema = json_schema.resolve(data, one.get("$ref"))
        if id(one) in extending or id(schema) not in forms:
            continue
        if id(schema) not in made:
            found = forms[id(schema)]
            alternatives = {key: schema[key] for key in ("description", "nullable") if key in schema}
            alternatives |= {"discriminator": schema.pop("discriminator"), "oneOf": [{"$ref": text} for text in found]}
            if not all(any(part is schema for part in applied[id(form)]) for form in found.values()):
                alternatives["allOf"] = [{"$ref": one["$ref"]}]
            name = _NOT_IN_NAME.sub("_", one["$ref"].rpartition("/")[2])
            made[id(schema)] = f"#/{_ALTERNATIVES}/{len(made)}/{name}"
            data[_ALTERNATIVES].append({name: alternatives})
        one["$ref"] = made[id(schema)]


def _forms(data: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return reference → schema of what the mapping of a discriminator names, where ``schema`` has no alternatives."""
    mapping = dict_at(schema, "discriminator", "mapping") if {"oneOf", "anyOf"}.isdisjoint(schema) else {}
    given = [text for text in mapping.values() if isinstance(text, str)]
    listed = [text if {"/", "#"} & {*text} else f"#/components/schemas/{text}" for text in given]
    return {text: form for text in listed if isinstance(form := json_schema.resolve(data, text), dict)}


MAX_REDIRECTS = 3
TIMEOUT_S = 60.0
"""Seconds for all requests. The largest documents have 20 MB, and some servers make theirs on request."""

_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "application/json, application/yaml;q=0.9, */*;q=0.5"


def fetch_document(url: str, source_id: str, process_settings: Settings, where: str) -> bytes:
    """Return the body of the response to a GET of ``url``, after redirects to hosts that are allowed.

    Raises:
        SourceError: The document cannot be fetched.
    """
    client = HttpClient()
    deadline = time.monotonic() + TIMEOUT_S
    try:
        for _ in range(MAX_REDIRECTS + 1):
            _check_host(url, source_id, process_settings, where)
            try:
                response = client.request(
                    "GET",
                    url,
                    headers={"Accept": _ACCEPT, "User-Agent": "toolfold"},
                    deadline=deadline,
                    connect_timeout_s=process_settings.connect_timeout_s,
                    max_bytes=LIMITS.max_bytes,
                    is_allowed=address_check(process_settings.private_hosts, source_id, url),
                )
            except TransportError as error:
                raise SourceError([f"{where}: the document cannot be fetched: {error}"]) from None
            location = response.headers.get("location", "")
            if response.status not in _REDIRECTS or not location:
                break
            url = urljoin(url, location)
        else:
            raise SourceError([f"{where}: the document cannot be fetched: more than {MAX_REDIRECTS} redirects"])
    finally:
        client.close()
    if response.status != 200:
        problem = f"{host_of(url)} answers with the status {response.status}"
        if response.status in (401, 403):
            problem += "; download it as one who is signed in, into the folder of the source"
        raise SourceError([f"{where}: the document cannot be fetched: {problem}"])
    return response.body


def _check_host(url: str, source_id: str, process_settings: Settings, where: str) -> None:
    host = host_of(url.partition("#")[0])
    if not host:
        raise SourceError([f"{where}: the document leads to {ascii(url)[:120]}, which is not an https URL"])
    allowed = {*process_settings.allowed_hosts, host_of(process_settings.source_urls.get(source_id, ""))}
    if host not in allowed and f"{source_id}={host}" not in allowed:
        raise SourceError(
            [f"{where}: the host of the document is not allowed here: {host}. Set TOOLFOLD_ALLOWED_HOSTS={host}"]
        )


def formatted(content: bytes, name: str) -> bytes:
    """Return JSON with one value a line, so that errors name useful lines, and changes can be read in a review."""
    if not name.endswith(".json"):
        return content
    try:
        data: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return content  # parse_document says what is wrong
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


# Swagger 2.0, which Kubernetes and many older services still publish. References stay: each definition keeps its place.

Located = tuple[Location, Any]

_OF_PARAMETERS = frozenset({"name", "in", "description", "required", "example"})
"""Keys of a parameter of Swagger 2.0 that are not keywords of its schema."""

_COLLECTIONS: Mapping[str, Mapping[str, Any]] = {
    "csv": {"explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"explode": True},
}


def swagger_parameters(
    listed: list[Located], consumes: Any, references: References
) -> tuple[list[Located], Located | None]:
    """Return the parameters of an operation of Swagger 2.0 without its body, and the request body, or None."""
    sent: list[Located] = []
    body: Located | None = None
    fields: dict[str, dict[str, Any]] = {}
    form_at: Location = ()
    types = _texts(consumes)
    for at, value in listed:
        at_definition, parameter = references.follow(value, at)
        place = parameter.get("in") if isinstance(parameter, dict) else None
        if place == "body" and body is None:
            # The first content type of a body is JSON in all but few documents, some of which do not state it.
            content = {name: {"schema": parameter.get("schema", {})} for name in types or ["application/json"]}
            body = at_definition, {**parameter, "content": content}
        elif place == "formData" and isinstance(parameter.get("name"), str):
            form_at = at_definition
            fields[parameter["name"]] = _parameter(parameter, at_definition)
        elif isinstance(parameter, dict) and place not in ("body", "formData"):
            sent.append((at_definition, _parameter(parameter, at_definition)))
    if body is not None or not fields:
        return sent, body
    has_file = any(field.get("type") == "file" for field in fields.values())
    content_type = MULTIPART if has_file or (MULTIPART in types and FORM not in types) else FORM
    required = [name for name, field in fields.items() if field.get("required") is True]
    properties = {
        name: {**field["schema"], **({"description": field["description"]} if "description" in field else {})}
        for name, field in fields.items()
    }
    media = {"schema": {"type": "object", "properties": properties, "required": required}, "encoding": fields}
    return sent, (form_at, {"required": bool(required), "content": {content_type: media}})


def _parameter(parameter: Mapping[str, Any], at: Location) -> dict[str, Any]:
    made = {**parameter, "schema": {key: value for key, value in parameter.items() if key not in _OF_PARAMETERS}}
    if parameter.get("type") == "array":
        name, where = parameter.get("collectionFormat", "csv"), parameter.get("in")
        style = _COLLECTIONS.get(name) if where in ("query", "formData") else {} if name == "csv" else None
        if style is None:
            raise DocumentError(at, f"collectionFormat {name!r} cannot be sent in {where!r}")
        made |= style
    return made


def with_servers_and_security(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document with the servers and the security schemes of OpenAPI 3.0; what it refers to stays."""
    host, path, given = data.get("host"), data.get("basePath", "/"), dict_at(data, "securityDefinitions")
    url = path if isinstance(path, str) else "/"
    urls = [url]
    if isinstance(host, str) and host:
        schemes = _texts(data.get("schemes")) or ["https"]
        urls = [f"{scheme}://{host}{url}" for scheme in sorted(schemes, key=lambda scheme: scheme != "https")]
    made = {name: _security_scheme(one) for name, one in given.items()}
    return {**data, "servers": [{"url": one} for one in urls], "components": {"securitySchemes": made}}


def _security_scheme(scheme: Any) -> Any:
    kind = scheme.get("type") if isinstance(scheme, dict) else None
    if kind == "basic":
        return {"type": "http", "scheme": "basic"}
    if kind == "oauth2":
        flow = "clientCredentials" if scheme.get("flow") == "application" else "authorizationCode"
        return {"type": "oauth2", "flows": {flow: scheme}}
    return scheme


def _texts(listed: Any) -> list[str]:
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
