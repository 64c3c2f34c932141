"""Pydantic models of a hand-written HTTP API. Only what a request needs is required; the rest has a usual value."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from toolfold.build.importers.base import ImporterSettings, ToolFacts
from toolfold.build.schema.field_types import Identifier, Model, Url
from toolfold.build.schema.sources import Fault
from toolfold.sources.http_api.styles import check_template

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Location = Literal["path", "query", "header", "cookie", "body"]
Style = Literal["form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "deepObject"]

BODY_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
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
