"""Find the operations of a document, and turn each into a tool.

Describe the answer of an operation in one line: the names of its rows and fields, as ``select`` takes them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from toolfold.build.importers.openapi import document
from toolfold.build.importers.openapi.access import Credentials
from toolfold.build.importers.openapi.arguments import Arguments
from toolfold.build.importers.openapi.schema_parts import dict_at
from toolfold.build.importers.openapi.schemas import SchemaConverter, complete_schema
from toolfold.build.yaml_loader import Location
from toolfold.catalog import json_schema
from toolfold.results.values import clean_names
from toolfold.sources.http_api.binding import BindingError, check_binding
from toolfold.sources.http_api.body import NO_BODY_EXPECTED

MAX_COLUMNS = 40
"""Names of columns that are listed: about 200 tokens. GitHub's repository has 90."""

MAX_NAME = 60
_SUCCESS = ("200", "201", "202", "203", "206", "2XX", "2xx", "204", "205", "default")
"""Status of a response that says what an answer has; beside one without content, the others are errors."""


class Answer(NamedTuple):
    """What a tool returns: ``outline`` for the model, and ``rows``, the path of the rows in the response."""

    outline: str = ""
    rows: tuple[str, ...] = ()


def describe_answer(responses: Any, at: Location, references: document.References) -> Answer:
    """Return the fields of a successful response in JSON; nothing where the document does not describe it."""
    response = next((value for status in _SUCCESS if (value := dict_at(responses, status))), {})
    with suppress(document.DocumentError):  # a response that is not described well can still be returned
        response = dict_at(references.follow(response, at)[1])
    content = response.get("content")
    listed = content.items() if isinstance(content, dict) else [("*/*", response)]  # Swagger 2.0 has a schema there
    described = [
        media["schema"]
        for content_type, media in listed
        if ("json" in str(content_type).lower() or content_type == "*/*") and "schema" in dict_at(media)
    ]
    # The names are those of the document: a schema of an answer checks nothing, and needs no conversion.
    root, schema = references.data, described[0] if described else None
    if (item := _item(root, schema)) is not None:
        columns = _columns(_properties(root, item))
        return Answer(f"rows: {columns}" if columns else "", ("",))
    properties = _properties(root, schema)
    rows = {name: item for name, part in properties.items() if (item := _item(root, part)) is not None}
    tables = {name: columns for name, item in rows.items() if (columns := _columns(_properties(root, item)))}
    others = {name: part for name, part in properties.items() if name not in tables}
    # One list of objects beside a few numbers is an answer with rows; an object with many fields is a record.
    if len(tables) == 1 and len(others) <= 12:
        ((name, columns),) = tables.items()
        meta = f"; meta: {_columns(others)}" if others else ""
        return Answer(f"rows: {columns}{meta}", (name,))
    fields = _columns(properties)
    return Answer(f"fields: {fields}" if fields else "", ())


def _item(root: Any, schema: Any) -> Any:
    """Return the schema of the items of a list of objects, or None."""
    listed = (part["items"] for part in json_schema.applied(root, schema) if "items" in part)
    return next((items for items in listed if _properties(root, items)), None)


def _properties(root: Any, schema: Any) -> dict[str, Any]:
    found = json_schema.properties(root, schema)
    return {
        name: part
        for name, part in found.items()
        if len(name) <= MAX_NAME
        and name.isprintable()
        and not any(rule.get("writeOnly") is True for rule in json_schema.parts(root, part))
    }


def _columns(properties: Mapping[str, Any]) -> str:
    names = clean_names(list(properties))
    shown = [name.replace(",", " ").replace(";", " ") for name in names[:MAX_COLUMNS]]
    return ",".join(shown) + (f",… ({len(names) - MAX_COLUMNS} more)" if len(names) > MAX_COLUMNS else "")


_METHODS = ("get", "head", "post", "put", "patch", "delete")
"""Methods whose operations are tools. OPTIONS and TRACE are about the connection."""

_QUERY, _OTHERS = "query", "additionalOperations"
"""Keys of OpenAPI 3.2 with operations that are left out: that of one method, and that of the others by their names."""

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_NO_WORD = re.compile(r"\W")
_MAX_ID = 200
_WITHOUT_BODY = ("get", "head")
"""Methods whose body has no meaning (RFC 9110, 9.3.1). Some documents state one that is not required."""


@dataclass(frozen=True)
class Operation:
    """One operation of a document; ``item`` is its path item, whose parameters and servers it shares.

    The name is its operationId, or method and path where that is missing or not unique; of one that FastAPI made, the
    name of the function.
    """

    name: str
    method: str
    path: str
    at: Location
    value: Mapping[str, Any] = field(repr=False)
    item: Mapping[str, Any] = field(repr=False)
    item_at: Location = field(repr=False, default=())

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the operation."""
        listed = self.value.get("tags")
        return tuple(tag for tag in listed if isinstance(tag, str) and tag) if isinstance(listed, list) else ()

    def named_by(self, key: str) -> tuple[str, ...]:
        """Return what the entries under a key of a selection name: tags, the path, operationId or ``METHOD /path``."""
        own = (self.value.get("operationId"), self.name, self.title)
        names = {"tags": self.tags, "paths": (self.path,), "operations": own}[key]
        return tuple(name for name in names if isinstance(name, str))

    @property
    def title(self) -> str:
        """Method and path."""
        return f"{self.method.upper()} {self.path}"


class Binding(NamedTuple):
    """The JSON Schema of the arguments, the HTTP binding without the path of the server, and what the answer has."""

    parameters: Mapping[str, Any]
    call: dict[str, Any]
    answer: Answer
    is_shortened: bool


def find_operations(references: document.References, findings: document.Findings) -> list[Operation]:
    """Return the operations of a document, in its order. Paths that cannot be read are added to ``findings``."""
    found = list(_operations(references, findings))
    given, short = [], []
    for operation in found:
        own = operation.value.get("operationId")
        is_usable = isinstance(own, str) and own.isprintable() and len(own) <= _MAX_ID
        given.append(str(own).strip() if is_usable else "")
        # FastAPI's has the name of the function: list_pets in list_pets_pets_get.
        short.append(given[-1].removesuffix(f"{_NO_WORD.sub('_', operation.path)}_{operation.method}"))
    # A name that occurs twice names neither: which of the two has it would depend on their order.
    uses = Counter(key for names in zip(given, short, strict=True) for key in {_name_key(name) for name in names})
    named = []
    for own, function, operation in zip(given, short, found, strict=True):
        name = next((one for one in (function, own) if _name_key(one) and uses[_name_key(one)] == 1), "")
        if own and not name:
            where = (*operation.at, "operationId")
            findings.note(where, f"operationId {own[:80]!r} is not unique; the tool is {operation.name}")
        named.append(replace(operation, name=name) if name else operation)
    return named


def _operations(references: document.References, findings: document.Findings) -> Iterator[Operation]:
    for path, item in dict_at(references.data, "paths").items():
        at: Location = ("paths", path)
        if not path.startswith("/"):
            if not path.startswith("x-"):
                findings.left_out.append(document.DocumentError(at, f"path {path[:80]!r} does not start with /"))
            continue
        try:
            item_at, found = references.follow(item, at)
            if not isinstance(found, dict):
                raise document.DocumentError(at, "is not a path item")
        except document.DocumentError as error:
            findings.left_out.append(error)
            continue
        stated = [((*item_at, method), found[method]) for method in (*_METHODS, _QUERY) if method in found]
        others = dict_at(found, _OTHERS)
        stated += [((*item_at, _OTHERS, method), value) for method, value in others.items()]
        for stated_at, value in stated:
            method = str(stated_at[-1])
            try:
                # Not in the specification, and written by some: DigitalOcean keeps each operation in a file.
                operation_at, operation = references.follow(value, stated_at)
                if not isinstance(operation, dict):
                    raise document.DocumentError(stated_at, "is not an operation")
            except document.DocumentError as error:
                findings.left_out.append(error)
                continue
            name = f"{method}_{_NOT_IN_NAME.sub('_', path).strip('_')}".rstrip("_")
            yield Operation(name, method, path, operation_at, operation, found, item_at)


def _name_key(name: str) -> str:
    """Return what two names have in common that are the same for a look-up."""
    return _NOT_IN_NAME.sub("_", name).strip("_").lower()


def bind_operation(operation: Operation, requests: SchemaConverter, credentials: Credentials) -> Binding:
    """Return what a call of ``operation`` takes, sends and returns."""
    if operation.method not in _METHODS:
        raise document.DocumentError(operation.at, "has a method that is not sent")
    value, references = operation.value, requests.references
    listed = [*_listed(operation.item, operation.item_at), *_listed(value, operation.at)]
    body = ((*operation.at, "requestBody"), value["requestBody"]) if "requestBody" in value else None
    stated = value.get("responses")
    if "swagger" in (data := references.data):
        consumes, produces = (value.get(key, data.get(key)) for key in ("consumes", "produces"))
        listed, body = document.swagger_parameters(listed, consumes, references)
        is_json = not produces or not isinstance(produces, list) or any("json" in str(name) for name in produces)
        stated = stated if is_json else None
    path, _, query = operation.path.partition("#")[0].partition("?")
    pairs = parse_qsl(query)  # which some documents have: ?action=find&name={name}
    fixed = {name: text for name, text in pairs if "{" not in text}
    in_query = {text.strip("{}"): name for name, text in pairs if name not in fixed}
    arguments = Arguments(requests, credentials)
    arguments.add_parameters(path, operation.at, listed, in_query)
    if body is not None:
        _, stated_body = references.follow(body[1], body[0])
        is_required = isinstance(stated_body, dict) and stated_body.get("required") is True
        if is_required or operation.method not in _WITHOUT_BODY:
            arguments.add_body(body[1], body[0])
        else:
            requests.note(body[0], f"{operation.title}: the body is left out, which this method does not have")
        is_expected = operation.method.upper() not in NO_BODY_EXPECTED
        if is_required and not is_expected and arguments.body and "fields" in arguments.body:
            arguments.body["required"] = True  # also where a call has no argument for it
    parameters, is_shortened = complete_schema(arguments.schema(), requests)
    call: dict[str, Any] = {"method": operation.method.upper(), "path": path}
    for key, part in (("parameters", arguments.parameters), ("body", arguments.body), ("sends", fixed)):
        if part:
            call[key] = part
    try:
        check_binding(call)
    except BindingError as error:
        raise document.DocumentError(operation.at, str(error)) from None
    answer = describe_answer(stated, (*operation.at, "responses"), references)
    return Binding(parameters, call, answer, is_shortened)


def _listed(value: Mapping[str, Any], at: Location) -> list[tuple[Location, Any]]:
    parameters = value.get("parameters")
    if not isinstance(parameters, list):
        return []
    return [((*at, "parameters", index), one) for index, one in enumerate(parameters)]
