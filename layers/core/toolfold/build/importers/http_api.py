"""HTTP APIs that a person describes by hand, in ``source.yaml`` and a YAML file for each further category.

Only what a request needs is required; the rest has a usual value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from toolfold.build import yaml_loader
from toolfold.build.importers.base import (
    OVERLAY,
    ImportedCategory,
    ImportedSource,
    ImportedTool,
    Importer,
    ImporterSettings,
    ToolFacts,
    effect_of_method,
)
from toolfold.build.schema.field_types import Identifier, Model, Url
from toolfold.build.schema.sources import Fault
from toolfold.build.yaml_loader import parse_model
from toolfold.catalog.tokenizer import in_words
from toolfold.fuzzy import did_you_mean
from toolfold.sources.http_api.binding import BindingError, check_binding, check_header
from toolfold.sources.http_api.body import FORM, JSON, MULTIPART
from toolfold.sources.http_api.styles import check_template, placeholders

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Location = Literal["path", "query", "header", "cookie", "body"]
Style = Literal["form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "deepObject"]

BODY_TYPES = {
    "json": JSON,
    "form": FORM,
    "multipart": MULTIPART,
    "text": "text/plain",
    "bytes": "application/octet-stream",
}
"""Short name of a kind of body → its media type."""


def _with_type(given: object) -> object:
    """Return ``{"type": …}`` for a type alone, and an empty object for nothing: a reference to a shared parameter."""
    if given is None:
        return {}
    return {"type": given} if isinstance(given, str) else given


def _by_name(given: object) -> object:
    """Return a list of parameters as an object by name. An item that is a text names a shared parameter."""
    if not isinstance(given, list):
        return given
    named: dict[str, Any] = {}
    for number, item in enumerate(given, 1):
        if isinstance(item, str):
            name, rest = item, None
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            name, rest = item["name"], {key: value for key, value in item.items() if key != "name"}
        else:
            raise ValueError(f"parameter {number} has no name; write parameters as NAME: {{type: …}}")
        if name in named:
            raise ValueError(f"parameter {name} is given twice")
        named[name] = rest
    return named


class HttpParameter(Model):
    """One parameter: how it is sent, and keywords of JSON Schema (2020-12) beside that."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    in_: Location | None = Field(default=None, alias="in")
    """Where it is sent; by default in the path that names it, in the body of POST, PUT and PATCH, else in the query."""
    required: bool = False
    sent_as: Annotated[str, StringConstraints(min_length=1)] | None = None
    """Name in the request where it is not that of the parameter."""
    style: Style | None = None
    """How a list or an object is written; by default as in OpenAPI."""
    explode: bool | None = None
    """Whether each item of a list is sent separately, ``a=1&a=2``, or all together, ``a=1,2``."""
    slashes: Literal["plain", "encoded"] | None = None
    """Whether a value of the path may have slashes, and how they are sent. Without it, they are refused."""
    reserved: bool = False
    """Whether characters such as ``/`` and ``:`` are sent as they are, in the query."""
    content_type: str | None = None
    """Media type of the value: ``application/json`` in a query, or that of a file in a multipart body."""
    base64: bool = False
    """Whether the value is base64 text of bytes, which are sent in the body."""
    filename: str | None = None
    """Name of the file that a part of a multipart body is."""
    fixed: Any = None
    """Value that is always sent. Models do not see the parameter."""
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """A complete JSON Schema, instead of the keywords below."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] | None = None
    description: str | None = None
    default: Any = None
    enum: list[Any] | None = Field(default=None, min_length=1)
    example: Any = None
    examples: list[Any] | None = None
    exclusive_maximum: float | None = Field(default=None, alias="exclusiveMaximum")
    exclusive_minimum: float | None = Field(default=None, alias="exclusiveMinimum")
    format: str | None = None
    items: dict[str, Any] | None = None
    max_items: int | None = Field(default=None, alias="maxItems", ge=0)
    max_length: int | None = Field(default=None, alias="maxLength", ge=0)
    maximum: float | None = None
    min_items: int | None = Field(default=None, alias="minItems", ge=0)
    min_length: int | None = Field(default=None, alias="minLength", ge=0)
    minimum: float | None = None
    pattern: str | None = None
    properties: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_described_once(self) -> HttpParameter:
        beside = sorted(SCHEMA_KEYS & self.model_fields_set - {"description"})
        if self.schema_ is not None and beside:
            raise ValueError(f"move these keys into the schema: {', '.join(beside)}")
        if self.fixed is not None and self.required:
            raise ValueError("a fixed parameter is not required of anyone: leave required out")
        return self


_names = list(HttpParameter.model_fields)
SCHEMA_KEYS = frozenset(_names[_names.index("type") :])
"""Fields of a parameter that are keywords of JSON Schema, in the order in which a schema has them."""

Parameters = Annotated[
    dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.\[\]-]{0,63}$")],
         Annotated[HttpParameter, BeforeValidator(_with_type)]],
    BeforeValidator(_by_name),
]  # fmt: skip


class Body(Model):
    """The body of a request, where a word does not say enough."""

    type: str = "json"
    """One of :data:`BODY_TYPES`, or a media type."""
    parameter: str | None = None
    """The parameter that is the whole body. Without it, each parameter of the body is a member or a field."""


class HttpTool(ToolFacts):
    """One tool: a request, and what a model reads about it."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    """The tool is called ``<id>__<name>``."""
    path: Annotated[str, AfterValidator(lambda path: check_template(path) or path)]
    """Added to ``base_url``; a placeholder is ``{parameter}``."""
    method: Annotated[Method, BeforeValidator(lambda given: given.upper() if isinstance(given, str) else given)] = "GET"
    summary: str = ""
    """One line, what is returned; by default the first sentence of the description."""
    description: str = ""
    title: str = ""
    parameters: Parameters = Field(default={})
    body: Annotated[Body, BeforeValidator(lambda given: {"type": given} if isinstance(given, str) else given)] = Body()
    """Kind of the body: ``json``, ``form``, ``multipart``, ``text``, ``bytes``, or a media type."""
    response: Literal["json", "csv", "text"] | None = None
    """Form of the answers, for a service whose content types say otherwise."""
    returns: str = ""
    """Fields of an answer."""
    confirm: str | bool | None = None
    """What a person reads before each call, which then needs approval."""


class HttpCategory(Model):
    """A group of tools: the content of a further YAML file, whose name is that of the category."""

    title: str = ""
    description: str = ""
    tools: list[HttpTool] = Field(min_length=1)


class HttpApiSettings(ImporterSettings):
    """The ``source.yaml`` of an HTTP API that is described by hand."""

    kind: Literal["http_api"] = "http_api"
    base_url: Url
    """Address that the path of each tool is added to: https, or http on this machine."""
    headers: dict[str, str] = Field(default={})
    """Headers of each request, for example ``Accept``; none for credentials."""
    parameters: Parameters = Field(default={})
    """Parameters that several tools have. A tool names one in its list, or as a key without a value."""
    tools: list[HttpTool] = Field(default=[])
    faults: list[Fault] = Field(default=[])
    """Failures that the service reports with a status of success; the first that matches is used."""
    unknown_notice: list[str] = Field(default=[])
    """Keys with a notice of the service instead of data, even when no fault matches."""
    categories: list[Identifier] = Field(default=[])
    """Further YAML files with tools, in the order of the listing; by default all, in alphabetical order."""


_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose parameters are in the body where no other place is given."""

_SENT = ("style", "explode", "slashes", "content_type", "reserved")


def with_path_parameters(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, HttpParameter]:
    """Return ``parameters``, with one for each placeholder of the path that has none, and those required."""
    sent = {parameter.sent_as or name: name for name, parameter in parameters.items()}
    found = dict(parameters)
    for name in placeholders(tool.path):
        own = sent.get(name, name)
        parameter = found.get(own) or HttpParameter(type="string", required=True)
        found[own] = parameter.model_copy(update={"required": parameter.fixed is None, "in_": "path"})
    return found


def parameters_schema(parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments; what is fixed is left out."""
    shown = {name: parameter for name, parameter in parameters.items() if parameter.fixed is None}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _property(parameter) for name, parameter in shown.items()},
    }
    if required := [name for name, parameter in shown.items() if parameter.required]:
        schema["required"] = required
    definitions: dict[str, Any] = {}
    for parameter in shown.values():
        definitions |= (parameter.schema_ or {}).get("$defs", {})
    schema["additionalProperties"] = False
    return {**schema, "$defs": definitions} if definitions else schema


def tool_binding(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the binding of a tool: see ``sources.http_api.binding``. Keys with their usual value are left out."""
    bound: dict[str, Any] = {"path": tool.path}
    if tool.method != "GET":
        bound = {"method": tool.method, **bound}
    located = {name: parameter.in_ or default_location(tool) for name, parameter in parameters.items()}
    described: dict[str, Any] = {}
    for name, parameter in parameters.items():
        wire = parameter.sent_as or name
        usual = "path" if wire in placeholders(tool.path) else "query"
        how = {} if located[name] == usual else {"in": located[name]}
        how |= ({} if wire == name else {"name": wire}) | _how(parameter, _SENT)
        if how and located[name] != "body":
            described[name] = how
    if described:
        bound["parameters"] = described
    in_body = {name: parameter for name, parameter in parameters.items() if located[name] == "body"}
    if in_body:
        bound["body"] = _body(tool, in_body)
    if fixed := {name: parameter.fixed for name, parameter in parameters.items() if parameter.fixed is not None}:
        bound["sends"] = fixed
    if tool.response in ("csv", "text"):
        bound["response"] = tool.response
    return bound


def default_location(tool: HttpTool) -> str:
    """Return where a parameter is sent that is not in the path and names no location."""
    return "body" if tool.method in _BODY_METHODS else "query"


def _property(parameter: HttpParameter) -> dict[str, Any]:
    described = {"description": parameter.description} if parameter.description else {}
    if parameter.schema_ is not None:
        return {**described, **{key: value for key, value in parameter.schema_.items() if key != "$defs"}}
    given = parameter.model_dump(include={*SCHEMA_KEYS} - {"example"}, exclude_none=True, by_alias=True)
    rule = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in given.items()
    }
    if parameter.example is not None and "examples" not in rule:
        rule["examples"] = [parameter.example]
    return rule


def _how(parameter: HttpParameter, keys: Iterable[str]) -> dict[str, Any]:
    """Return those of ``keys`` that the parameter sets to another value than the usual one."""
    return {key: value for key in keys if (value := getattr(parameter, key)) != HttpParameter.model_fields[key].default}


def _body(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    content_type = BODY_TYPES.get(tool.body.type, tool.body.type)
    body: dict[str, Any] = {} if content_type == BODY_TYPES["json"] else {"content_type": content_type}
    whole = tool.body.parameter or (next(iter(parameters)) if tool.body.type in ("text", "bytes") else None)
    if whole is not None:
        is_base64 = whole in parameters and (parameters[whole].base64 or tool.body.type == "bytes")
        return {**body, "argument": whole, **({"base64": True} if is_base64 else {})}
    fields = {name: parameter.sent_as or name for name, parameter in parameters.items()}
    keys = ("style", "explode", "content_type", "filename", "base64")
    encoding = {fields[name]: how for name, parameter in parameters.items() if (how := _how(parameter, keys))}
    return {**body, "fields": fields, **({"encoding": encoding} if encoding else {})}


_OTHER_FILES = frozenset({"source.yaml", OVERLAY})
Where = Callable[..., str]

_COPIED = (
    *("title", "summary", "description", "returns", "tags", "example", "example_queries", "aliases", "relations"),
    "confirm",
)
"""Fields of a tool that stay as they are."""


class HttpApiImporter(Importer[HttpApiSettings]):
    """Read ``source.yaml`` and the files of further categories."""

    settings_model = HttpApiSettings
    is_refreshed = False

    def read(
        self, folder: Path, settings: HttpApiSettings, document: yaml_loader.Document, problems: list[str]
    ) -> ImportedSource | None:
        """Return the source in ``folder``."""
        for name, value in settings.headers.items():
            try:
                check_header(name, value)
            except BindingError as error:
                problems.append(f"{document.where(('headers', name))}: headers: {error}")
        tools: list[ImportedTool] = []
        categories: list[ImportedCategory] = []
        for number, tool in enumerate(settings.tools):
            tools.append(_tool(settings, tool, "", functools.partial(document.in_tool, number), problems))
        for name, file, category in _categories(folder, settings, document, problems):
            title = category.title or in_words(name).capitalize()
            categories.append(ImportedCategory(name, title, category.description))
            for number, tool in enumerate(category.tools):
                tools.append(_tool(settings, tool, name, functools.partial(file.in_tool, number), problems))
        if not tools:
            problems.append(f"{document.where(())}: the source has no tools: add some as `tools:`")
        connection = {"headers": settings.headers} if settings.headers else {}
        faults = [fault.model_dump(exclude_none=True) for fault in settings.faults]
        return ImportedSource(
            tools, categories, settings.base_url, connection, faults=faults, unknown_notice=settings.unknown_notice
        )


def _categories(
    folder: Path, settings: HttpApiSettings, document: yaml_loader.Document, problems: list[str]
) -> Iterator[tuple[str, yaml_loader.Document, HttpCategory]]:
    files = sorted(path.stem for path in folder.glob("*.yaml") if path.name not in _OTHER_FILES)
    for name in settings.categories:
        if name not in files:
            problems.append(f"{document.where(('categories',))}: there is no file {name}.yaml")
    named = [name for name in settings.categories if name in files]
    for name in (*named, *(name for name in files if name not in named)):
        file = yaml_loader.load(folder / f"{name}.yaml")
        if not (name.isidentifier() and name == name.lower()):
            problems.append(f"{file.path}:1: the name of the file must be lower case letters, digits and _")
            continue
        category = parse_model(HttpCategory, file, file.data, problems)
        if category is not None:
            yield name, file, category


def _tool(settings: HttpApiSettings, tool: HttpTool, category: str, where: Where, problems: list[str]) -> ImportedTool:
    parameters = with_path_parameters(tool, _resolved(settings, tool, where, problems))
    binding = tool_binding(tool, parameters)
    problems += _problems(tool, parameters, binding, where)
    return ImportedTool(
        name=tool.name,
        where=where(),
        parameters=parameters_schema(parameters),
        effect=tool.effect or effect_of_method(tool.method),
        call=binding,
        category=category,
        **{field: getattr(tool, field) for field in _COPIED},
    )


def _resolved(settings: HttpApiSettings, tool: HttpTool, where: Where, problems: list[str]) -> dict[str, HttpParameter]:
    """Return the parameters of a tool, with those that are described for all tools."""
    found: dict[str, HttpParameter] = {}
    for name, parameter in tool.parameters.items():
        shared = settings.parameters.get(name)
        if parameter.model_fields_set:
            found[name] = parameter
        elif shared is not None:
            found[name] = shared
        else:
            problems.append(
                f"{where('parameters', name)}: parameter {name} has no type, and `parameters` of source.yaml has none "
                f"of that name{_closest(name, settings.parameters)}"
            )
    return found


def _problems(
    tool: HttpTool, parameters: Mapping[str, HttpParameter], binding: Mapping[str, Any], where: Where
) -> Iterator[str]:
    whole = tool.body.parameter
    in_body = [name for name, one in parameters.items() if (one.in_ or default_location(tool)) == "body"]
    if whole is not None and whole not in in_body:
        yield f"{where('body')}: body: there is no parameter {whole} in the body{_closest(whole, in_body)}"
    if tool.body.type in ("text", "bytes") and whole is None and len(in_body) > 1:
        yield f"{where('body')}: body: name the parameter that is the body: {{type: {tool.body.type}, parameter: …}}"
    if tool.effect == "read" and tool.method == "DELETE":
        yield f"{where('effect')}: effect: DELETE does not only read"
    for name, parameter in parameters.items():
        if parameter.schema_ is None and parameter.fixed is None and not (parameter.type or parameter.enum):
            yield f"{where('parameters', name)}: parameters.{name}: type is missing: string, integer, number, …"
    names = placeholders(tool.path)
    stray = [name for name, one in parameters.items() if one.in_ == "path" and (one.sent_as or name) not in names]
    for name in stray:
        closest = _closest(name, names)
        yield f"{where('parameters', name)}: parameters.{name}: the path {tool.path} has no {{{name}}}{closest}"
    if stray:
        return
    try:
        check_binding(binding)
    except BindingError as error:
        text = str(error)
        key = (
            "path"
            if text.startswith(("path", "the placeholder"))
            else "body"
            if text.startswith("body")
            else "parameters"
        )
        yield f"{where(key)}: {tool.name}: {text}"


def _closest(name: str, known: Iterable[str]) -> str:
    return f". {did_you_mean(name, known)}".rstrip(". ")
