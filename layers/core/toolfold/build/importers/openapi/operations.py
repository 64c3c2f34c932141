"""Find the operations of a document, and describe the answer of each in one line: the names of its rows and fields.

Swagger 2.0, which Kubernetes and many older services still publish, gets the servers, security schemes, parameters and
bodies of OpenAPI 3.0; its definitions keep their places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from toolfold.build.importers.openapi.document import Api, DocumentError, dict_at
from toolfold.catalog import json_schema
from toolfold.results.values import clean_names
from toolfold.sources.http_api.body import FORM, JSON, MULTIPART

METHODS = ("get", "head", "post", "put", "patch", "delete")
"""Methods whose operations are tools. OPTIONS and TRACE are about the connection, and few services know QUERY."""

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_NO_WORD = re.compile(r"\W")
_MAX_ID = 200


@dataclass(frozen=True)
class Operation:
    """One operation of a document; ``item`` is its path item, whose parameters and servers it shares.

    The name is its operationId, or method and path where that is missing or not unique; of one that FastAPI made, the
    name of the function.
    """

    name: str
    method: str
    path: str
    value: dict[str, Any] = field(repr=False)
    item: Mapping[str, Any] = field(repr=False)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the operation."""
        listed = self.value.get("tags")
        return tuple(tag for tag in listed if isinstance(tag, str) and tag) if isinstance(listed, list) else ()

    @property
    def stated_names(self) -> tuple[str, ...]:
        """The names that its operationId states, the best first; empty where it has none that can be used."""
        own = self.value.get("operationId")
        if not (isinstance(own, str) and own.isprintable() and len(own) <= _MAX_ID and own.strip()):
            return ()
        # FastAPI's has the name of the function: list_pets in list_pets_pets_get.
        return own.strip().removesuffix(f"{_NO_WORD.sub('_', self.path)}_{self.method}"), own.strip()

    @property
    def title(self) -> str:
        """Method and path."""
        return f"{self.method.upper()} {self.path}"

    def parameters(self, api: Api) -> Iterator[dict[str, Any]]:
        """Yield the parameters of the path, and then those of the operation."""
        for holder in (self.item, self.value):
            listed = holder.get("parameters")
            for number in range(len(listed)) if isinstance(listed, list) else ():
                yield api.object_at(listed, number)

    @property
    def servers(self) -> list[Any]:
        """The servers that the operation or its path states; those of the document where it is empty."""
        for holder in (self.value, self.item):
            if isinstance(servers := holder.get("servers"), list) and servers and isinstance(servers[0], dict):
                return servers
        return []

    def named_by(self, key: str) -> tuple[str, ...]:
        """Return what the entries under a key of a selection name: tags, the path, operationId or ``METHOD /path``."""
        own = (self.value.get("operationId"), self.name, self.title)
        names = {"tags": self.tags, "paths": (self.path,), "operations": own}[key]
        return tuple(name for name in names if isinstance(name, str))


def find_operations(api: Api) -> list[Operation]:
    """Return the operations of a document, in its order. What cannot be read is left out."""
    found = [(operation, operation.stated_names) for operation in _operations(api)]
    # A name that occurs twice names neither: which of the two has it would depend on their order.
    uses = Counter(key for _, names in found for key in {_name_key(name) for name in names})
    named = []
    for operation, names in found:
        name = next((one for one in names if _name_key(one) and uses[_name_key(one)] == 1), "")
        if names and not name:
            sentence = f"operationId {names[-1][:80]!r} is not unique; the tool is {operation.name}"
            api.note(sentence, operation.value, "operationId")
        named.append(replace(operation, name=name) if name else operation)
    return named


def _operations(api: Api) -> Iterator[Operation]:
    paths = dict_at(api.data, "paths")
    for path in (path for path in paths if not path.startswith("x-")):
        try:
            item = api.object_at(paths, path)
        except DocumentError as error:
            api.left_out.append(error)
            continue
        for method in (method for method in METHODS if method in item):
            name = f"{method}_{_NOT_IN_NAME.sub('_', path).strip('_')}".rstrip("_")
            try:
                # A reference is not in the specification: DigitalOcean keeps each operation in a file.
                yield Operation(name, method, path, api.object_at(item, method), item)
            except DocumentError as error:
                api.left_out.append(error)


def _name_key(name: str) -> str:
    """Return what two names have in common that are the same for a look-up."""
    return _NOT_IN_NAME.sub("_", name).strip("_").lower()


_MAX_COLUMNS, _MAX_NAME = 40, 60
"""Names of columns that are listed: about 200 tokens. GitHub's repository has 90."""

_MAX_OTHERS = 12
_SUCCESS = ("200", "201", "202", "203", "206", "2XX", "2xx", "204", "205", "default")
"""Status of a response that says what an answer has; beside one without content, the others are errors."""


class Answer(NamedTuple):
    """What a tool returns: ``outline`` for the model, and ``rows``, the path of the rows in the response."""

    outline: str = ""
    rows: tuple[str, ...] = ()


def describe_answer(responses: Any, api: Api) -> Answer:
    """Return the fields of a successful response in JSON; nothing where the document does not describe it."""
    response = next((value for status in _SUCCESS if (value := dict_at(responses, status))), {})
    with suppress(DocumentError):  # a response that is not described well can still be returned
        response = dict_at(api.follow(response))
    content = response.get("content")
    listed = content if isinstance(content, dict) else {"*/*": response}  # Swagger 2.0 has a schema there
    are_json = (media for name, media in listed.items() if name == "*/*" or "json" in str(name).lower())
    # The names are those of the document: a schema of an answer checks nothing, and needs no conversion.
    root, schema = api.data, next((media["schema"] for media in are_json if "schema" in dict_at(media)), None)
    if columns := _row(root, schema):
        return Answer(f"rows: {columns}", ("",))
    properties = _properties(root, schema)
    tables = {name: columns for name, part in properties.items() if (columns := _row(root, part))}
    others = [name for name in properties if name not in tables]
    # One list of objects beside a few numbers is an answer with rows; an object with many fields is a record.
    if len(tables) == 1 and len(others) <= _MAX_OTHERS:
        ((name, columns),) = tables.items()
        return Answer(f"rows: {columns}{f'; meta: {_columns(others)}' if others else ''}", (name,))
    fields = _columns(properties)
    return Answer(f"fields: {fields}" if fields else "")


def _row(root: Any, schema: Any) -> str:
    listed = (part["items"] for part in json_schema.applied(root, schema) if "items" in part)
    return next((_columns(found) for items in listed if (found := _properties(root, items))), "")


def _properties(root: Any, schema: Any) -> dict[str, Any]:
    return {
        name: part
        for name, part in json_schema.properties(root, schema).items()
        if len(name) <= _MAX_NAME
        and name.isprintable()
        and not any(rule.get("writeOnly") is True for rule in json_schema.parts(root, part))
    }


def _columns(properties: Iterable[str]) -> str:
    names = clean_names(list(properties))
    shown = [name.replace(",", " ").replace(";", " ") for name in names[:_MAX_COLUMNS]]
    return ",".join(shown) + (f",… ({len(names) - _MAX_COLUMNS} more)" if len(names) > _MAX_COLUMNS else "")


_OF_PARAMETERS = frozenset({"name", "in", "description", "required", "example"})
"""Keys of a parameter of Swagger 2.0 that are not keywords of its schema."""

_COLLECTIONS: Mapping[str, Mapping[str, Any]] = {
    "csv": {"explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"explode": True},
}


def _texts(listed: Any) -> list[str]:
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def add_servers_and_security(data: dict[str, Any]) -> None:
    """Add the servers and the security schemes of a document in Swagger 2.0 as OpenAPI 3.0 has them."""
    host, path = data.get("host"), data.get("basePath")
    url = path if isinstance(path, str) else "/"
    schemes = sorted(_texts(data.get("schemes")) or ["https"], key=lambda scheme: scheme != "https")
    urls = [f"{scheme}://{host}{url}" for scheme in schemes] if isinstance(host, str) and host else [url]
    schemes_of_security = dict_at(data, "securityDefinitions")
    for name, scheme in schemes_of_security.items():
        kind = dict_at(scheme).get("type")
        if kind == "basic":
            schemes_of_security[name] = {"type": "http", "scheme": "basic"}
        elif kind == "oauth2":
            flow = "clientCredentials" if scheme.get("flow") == "application" else "authorizationCode"
            schemes_of_security[name] = {"type": "oauth2", "flows": {flow: scheme}}
    data |= {"servers": [{"url": one} for one in urls], "components": {"securitySchemes": schemes_of_security}}


def convert_operation(api: Api, operation: dict[str, Any], listed: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give an operation of Swagger 2.0 the body and the responses of OpenAPI 3.0, and return its other parameters.

    ``listed`` are all its parameters.
    """
    consumes, produces = (operation.get(key, api.data.get(key)) for key in ("consumes", "produces"))
    types, sent, fields = _texts(consumes), list[dict[str, Any]](), dict[str, dict[str, Any]]()
    body: dict[str, Any] = {}
    for parameter in listed:
        place = parameter.get("in")
        if place == "body":
            # The first content type of a body is JSON in all but few documents, some of which do not state it.
            content = {name: {"schema": parameter.get("schema", {})} for name in types or [JSON]}
            body = body or {**parameter, "content": content}
        elif place != "formData":
            sent.append(_with_schema(parameter))
        elif isinstance(parameter.get("name"), str):
            fields[parameter["name"]] = _with_schema(parameter)
    if fields and not body:
        has_file = any(field.get("type") == "file" for field in fields.values())
        content_type = MULTIPART if has_file or (MULTIPART in types and FORM not in types) else FORM
        required = [name for name, field in fields.items() if field.get("required") is True]
        properties = {
            name: {**field["schema"], **{key: field[key] for key in ("description",) if key in field}}
            for name, field in fields.items()
        }
        schema = {"type": "object", "properties": properties, "required": required}
        body = {"required": bool(required), "content": {content_type: {"schema": schema, "encoding": fields}}}
    operation.pop("requestBody", None)
    operation |= {"requestBody": body} if body else {}
    if isinstance(produces, list) and produces and not any("json" in str(name) for name in produces):
        operation["responses"] = {}
    return sent


def _with_schema(parameter: dict[str, Any]) -> dict[str, Any]:
    if "schema" not in parameter:
        parameter["schema"] = {key: value for key, value in parameter.items() if key not in _OF_PARAMETERS}
    if parameter.get("type") == "array":
        name, place = parameter.get("collectionFormat", "csv"), parameter.get("in")
        style = _COLLECTIONS.get(name) if place in ("query", "formData") else {} if name == "csv" else None
        if style is None:
            raise DocumentError(f"collectionFormat {name!r} cannot be sent in {place!r}", parameter)
        parameter |= style
    return parameter
