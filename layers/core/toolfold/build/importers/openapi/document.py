"""Read an OpenAPI document, in JSON or YAML, and follow its references.

What an author has divided into several files becomes one document first. Its references change there, and stay
references.

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
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin

from toolfold.build import yaml_loader
from toolfold.build.importers.base import OVERLAY
from toolfold.build.schema import VOCABULARY
from toolfold.build.yaml_loader import Document, Location
from toolfold.catalog import json_schema
from toolfold.catalog.text_checks import host_of
from toolfold.errors import SourceError
from toolfold.network.errors import TransportError
from toolfold.network.session import HttpClient
from toolfold.network.ssrf import address_check

if TYPE_CHECKING:
    from toolfold.settings import Settings

LIMITS = yaml_loader.Limits(aliased=500_000, max_bytes=64 << 20, may_be_json=True)
"""The largest public documents, of cloud providers, have 10 to 20 MB."""

MAX_FILES = 5_000
"""Files of one document. That of DigitalOcean has 2,900."""

_MAX_CHAIN = 50
"""References that may lead to each other. A chain that is longer is a circle."""

_FILES = "x-toolfold-files"
"""Key of a document for the files that are a part of it."""

_NOT_OF_DOCUMENT = frozenset({"source.yaml", OVERLAY, VOCABULARY})
_ENDINGS = (".json", ".yaml", ".yml")
_VERSIONS = {"openapi": re.compile(r"3\.[012](?:\.\d+)?(?:-\w+)?"), "swagger": re.compile(r"2\.0")}


class DocumentError(Exception):
    """One operation, or the whole document, cannot be expressed as tools.

    ``problem`` has no full stop. ``place`` is an object of the document, and the keys below it.
    """

    def __init__(self, problem: str, *place: Any) -> None:
        super().__init__(problem)
        self.problem, self.place = problem, place


class DanglingReference(DocumentError):
    """A reference points to nothing in the document, or out of it."""


def dicts_in(values: Any) -> list[dict[str, Any]]:
    """Return the objects in ``values``; empty where it is another value than a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def dict_at(value: Any, *keys: Any) -> dict[str, Any]:
    """Return the object in ``value`` below ``keys``; empty where another value or nothing is."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


class Api:
    """A document with its files, and what was found in it that becomes no part of a tool, each with its reason.

    Attributes:
        data: The content of the document; that of its files is a part of it.
        left_out: Operations that cannot be expressed.
        notes: Parts that are left out of tools without harm.
    """

    def __init__(self, document: Document) -> None:
        self.data: dict[str, Any] = document.data
        self.left_out: list[DocumentError] = []
        self.notes: list[DocumentError] = []
        self._files = {"": document}

    def note(self, sentence: str, *place: Any) -> None:
        """Add a note."""
        self.notes.append(DocumentError(sentence, *place))

    def locate(self, holder: Mapping[str, Any], key: str = "$ref") -> tuple[Location, Any]:
        """Return the location and the value that ``holder[key]`` refers to, behind references alone.

        References to other documents are refused, but for files that :meth:`add_files` added.
        """
        first = holder
        for _ in range(_MAX_CHAIN):
            reference = holder[key]
            if not isinstance(reference, str):
                raise DocumentError("$ref is not text", holder, key)
            shown = repr(reference[:120])
            if reference.partition("#")[0]:
                problem = f"$ref {shown} refers to another document; bundle the documents into one"
                raise DanglingReference(problem, holder, key)
            found = json_schema.locate(self.data, reference or "#")
            if found is None:
                raise DanglingReference(f"$ref {shown} points to nothing in the document", holder, key)
            if not (isinstance(found[1], dict) and found[1].keys() == {"$ref"}):
                return found
            holder, key = found[1], "$ref"
        raise DocumentError("$ref refers to itself without an end", first)

    def follow(self, value: Any) -> Any:
        """Return what ``value`` is or refers to."""
        for _ in range(_MAX_CHAIN):
            if not isinstance(value, dict) or not isinstance(value.get("$ref"), str):
                return value
            value = self.locate(value)[1]
        raise DocumentError("$ref refers to itself without an end", value)

    def object_at(self, holder: Any, key: Any) -> dict[str, Any]:
        """Return the object that ``holder[key]`` is or refers to."""
        found = self.follow(holder[key])
        if not isinstance(found, dict):
            what = repr(key[:80]) if isinstance(key, str) else f"item {key + 1}"
            raise DocumentError(f"{what} is not an object", holder, key)
        return found

    def add_files(self) -> None:
        """Make the files that the document refers to a part of it.

        Such a file is JSON or YAML in the folder of the document or below. A reference to any other, or through a
        symbolic link, stays as it is; following it is an error.

        Raises:
            SourceError: A file cannot be read, or they are too many or too large.
        """
        document, files, open_ = self._files[""], self._files, [""]
        folder, own_name = os.path.split(os.path.realpath(document.path))
        left = LIMITS._replace(aliased=LIMITS.aliased - document.aliased)
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
            self.data[_FILES] = {name: file.data for name, file in files.items() if name}

    def lines(self, places: Iterable[tuple[Any, ...]]) -> list[str]:
        """Return ``file:line`` of each of ``places``, objects of the document with the keys below them.

        What the document does not have is at its first line.
        """
        located: list[tuple[str, Location]] = []
        for holder, *keys in places:
            name, path = self._paths.get(id(holder), ("", ()))
            at = list[str | int](reversed(keys))
            while path:
                key, path = path
                at.append(key)
            located.append((name, tuple(reversed(at))))
        found = {name: file.lines(at for of, at in located if of == name) for name, file in self._files.items()}
        return [f"{self._files[name].path}:{found[name][at]}" for name, at in located]

    @cached_property
    def _paths(self) -> dict[int, tuple[str, Any]]:
        """The file of each object, by identity, and the keys to it as :func:`walk` has them."""
        roots = {name: file.data for name, file in self._files.items()} | {"": {**self.data, _FILES: None}}
        return {id(value): (name, path) for name, root in roots.items() for value, path in walk(root)}

    def located(self, errors: Iterable[DocumentError]) -> list[str]:
        """Return ``errors`` as ``file:line: problem``, each once."""
        given = list(errors)
        lines = self.lines(error.place for error in given)
        return list(dict.fromkeys(f"{line}: {error.problem}" for line, error in zip(lines, given, strict=True)))


def _is_part(path: str, folder: str, name: str) -> bool:
    leaves = any(part[:1] in ("", ".") for part in name.split("/"))  # also to what is hidden
    if leaves or not (name.endswith(_ENDINGS) and name.isprintable()) or name in _NOT_OF_DOCUMENT:
        return False
    return os.path.isfile(path) and os.path.realpath(path) == os.path.normpath(os.path.join(folder, name))


def walk(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object and list in ``data`` once, with the keys that lead to it as (last, (one before, …))."""
    seen, open_ = set[int](), list[tuple[Any, Any]]([(data, ())])
    while open_:
        value, keys = open_.pop()
        if isinstance(value, dict | list) and id(value) not in seen:
            seen.add(id(value))
            members = value.items() if isinstance(value, dict) else enumerate(value)
            open_ += [(member, (key, keys)) for key, member in members]
            yield value, keys


def _references(data: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the object and the key of each reference, and of each value by which a discriminator names a schema."""
    for value, _ in walk(data):
        mapping = dict_at(value, "discriminator", "mapping")
        for holder, key in ((value, "$ref"), *((mapping, name) for name in mapping)):
            if isinstance(holder, dict) and isinstance(holder.get(key), str):
                yield holder, key


def read_document(path: Path) -> Document:
    """Read the document at ``path``, a JSON or YAML file.

    Raises:
        SourceError: It cannot be read, is too large, or is not an OpenAPI document.
    """
    return _checked(yaml_loader.load(path, LIMITS))


def parse_document(content: bytes, name: str) -> Document:
    """Parse the bytes of a document that was fetched.

    Raises:
        SourceError: It is not an OpenAPI document.
    """
    text = yaml_loader.decode(name, content)
    if text.lstrip()[:1] == "<":
        step = "the URL of a document often ends in openapi.json, swagger.json or v3/api-docs"
        raise SourceError([f"{name}:1: is a page of HTML or XML, and not an OpenAPI document; {step}"])
    return _checked(yaml_loader.parse(name, text, limits=LIMITS))


def _checked(document: Document) -> Document:
    data = document.data if isinstance(document.data, dict) else {}
    key = next((key for key in _VERSIONS if key in data), "")
    if not key:
        lacks = "key openapi" if isinstance(document.data, dict) else "keys"
        raise SourceError([f"{document.path}:1: is not an OpenAPI document: it has no {lacks}"])
    if not _VERSIONS[key].fullmatch(version := str(data[key])):
        known = "openapi 3.0 to 3.2 and swagger 2.0"
        raise SourceError([f"{document.where(key)}: is {key} {version[:40]!r}; {known} are read"])
    return document


MAX_REDIRECTS = 3
TIMEOUT_S = 60.0
"""Seconds for all requests. The largest documents have 20 MB, and some servers make theirs on request."""

_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "application/json, application/yaml;q=0.9, */*;q=0.5", "User-Agent": "toolfold"}


def fetch_document(url: str, source_id: str, process_settings: Settings, where: str) -> bytes:
    """Return the body of the response to a GET of ``url``, after redirects to hosts that are allowed.

    Raises:
        SourceError: The document cannot be fetched.
    """
    client, deadline, problem = HttpClient(), time.monotonic() + TIMEOUT_S, f"more than {MAX_REDIRECTS} redirects"
    try:
        for _ in range(MAX_REDIRECTS + 1):
            _check_host(url, source_id, process_settings, where)
            response = client.request(
                "GET",
                url,
                headers=_HEADERS,
                deadline=deadline,
                connect_timeout_s=process_settings.connect_timeout_s,
                max_bytes=LIMITS.max_bytes,
                is_allowed=address_check(process_settings.private_hosts, source_id, url),
            )
            if response.status == 200:
                return response.body
            location = response.headers.get("location", "")
            if response.status not in _REDIRECTS or not location:
                problem = f"{host_of(url)} answers with the status {response.status}"
                break
            url = urljoin(url, location)
    except TransportError as error:
        problem = str(error)
    finally:
        client.close()
    raise SourceError([f"{where}: the document cannot be fetched: {problem}"])


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
    with suppress(ValueError, RecursionError):  # parse_document says what is wrong
        if name.endswith(".json"):
            data = json.loads(content.decode("utf-8-sig"))
            return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    return content
