"""Make one document of what an author has divided: of several files, and of schemas that extend each other.

The data of a document change here, before it is read. References stay references.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from toolfold.build import yaml_loader
from toolfold.build.importers.base import OVERLAY
from toolfold.build.importers.openapi.document import LIMITS
from toolfold.build.importers.openapi.schema_parts import dict_at, dicts_in
from toolfold.build.schema import VOCABULARY
from toolfold.build.yaml_loader import Document, Location
from toolfold.catalog import json_schema
from toolfold.errors import SourceError

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
    files, open_, left = {"": document}, [""], LIMITS.max_bytes
    while open_:
        name = open_.pop()
        for holder, key in _references(files[name].data):
            file, _, fragment = holder[key].partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(file))) if file else name
            target = "" if target == own_name else target
            if target not in files and _is_part(path := os.path.join(folder, target), folder, target):
                left -= os.path.getsize(path)
                if len(files) > MAX_FILES or left < 0:
                    most = f"{MAX_FILES:,} files, or to more than {LIMITS.max_bytes >> 20} MB"
                    raise SourceError([f"{document.path}:1: refers to more than {most}; bundle what is needed"])
                files[target] = yaml_loader.load(Path(document.path).parent / target, LIMITS)
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
