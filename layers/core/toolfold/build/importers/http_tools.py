"""The YAML of HTTP APIs that a person describes by hand: ``source.yaml``, and a file for each further category.

Only what a request needs is required; the rest has a usual value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from toolfold.build import schema
from toolfold.build.importers.base import FRESHNESS_CLASS, HttpSettings, ToolOverlay
from toolfold.catalog.entries import Access, Format
from toolfold.fuzzy import did_you_mean
from toolfold.sources.http_api.styles import Location, Method, PathStyle, QueryStyle, check_template


def _with_type(given: object) -> object:
    """Return ``{"type": …}`` for a type alone, and an empty object for nothing: a reference to a shared parameter."""
    if given is None:
        return {}
    return {"type": given} if isinstance(given, str) else given


def _by_name(given: object) -> object:
    """Return a list of parameters as an object by name. An item that is a text names a shared parameter."""
    if not isinstance(given, list):
        return given
    items = [{"ref": item} if isinstance(item, str) else item for item in given]
    names = [item.get("name") or item.get("ref") if isinstance(item, dict) else None for item in items]
    if unnamed := [number for number, name in enumerate(names, 1) if not isinstance(name, str)]:
        raise ValueError(f"parameter {unnamed[0]} has no name; write parameters as NAME: {{type: …}}")
    if len(set(names)) < len(names):
        raise ValueError("a parameter is given twice")
    return dict(zip(names, items, strict=True))


KEYWORDS = (
    *("type", "description", "items", "properties", "minItems", "maxItems", "enum", "default", "pattern", "format"),
    *("minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "example", "examples"),
)
"""Keywords of JSON Schema that a parameter may have, in the order in which its schema has them. Their values are
checked with the schema of the tool."""


class HttpParameter(schema.Model):
    """One parameter: how it is sent, and :data:`KEYWORDS` beside that."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    ref: str | None = None
    """Key of a shared parameter, of which the other keys replace values."""
    name: str | None = None
    """Name of the argument, for a shared parameter whose key is another."""
    in_: Literal[Location, "body"] | None = Field(default=None, alias="in")
    """Where it is sent; by default in the path that names it, in the body of POST, PUT and PATCH, else in the query."""
    required: bool = False
    sent_as: Annotated[str, StringConstraints(min_length=1)] | None = None
    """Name in the request where it is not that of the parameter."""
    style: Literal[QueryStyle, PathStyle] | None = None
    """How a list or an object is written; by default as in OpenAPI."""
    explode: bool | None = None
    """Whether each item of a list is sent separately, ``a=1&a=2``, or all together, ``a=1,2``."""
    slashes: Literal["plain", "encoded"] | None = None
    """Whether a value of the path may have slashes, and how they are sent. Without it, they are refused."""
    content_type: str | None = None
    """Media type of the value, for example ``application/json`` in a query."""
    fixed: Any = None
    """Value that is always sent. Models do not see the parameter."""
    sends: schema.JsonScalar | None = None
    """Value that is sent when the argument is missing, and that the schema does not show."""
    separator: str | None = None
    """Text between the items of a list. An array in the arguments is joined with it."""
    item_enum: list[str] | None = None
    """Allowed items of a joined list. An item may have options in parentheses."""
    max_joined: int | None = Field(default=None, ge=1)
    """Items of a joined list at most."""
    complete: schema.JsonScalar | None = None
    """Value with which an answer has the rows that the default leaves out."""
    finest: schema.JsonScalar | None = None
    """Value with which an answer has the most rows for a period."""
    selects_month: bool = False
    """Whether the value is the month, YYYY-MM, of which an answer with rows shorter than a day is."""
    premium: list[schema.JsonScalar] = Field(default=[])
    """Values that some plans do not include."""
    free_items: int | None = Field(default=None, ge=1)
    """Items of a joined list that every plan includes."""
    found_by: schema.FoundBy | None = None
    repeated_as: str | None = None
    """Field or column of an answer that repeats the argument."""
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """A complete JSON Schema, instead of the keywords."""

    description: schema.Prose | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Its keywords."""
        given = {**(self.model_extra or {}), "description": self.description}
        return {key: given[key] for key in KEYWORDS if given.get(key) is not None}

    @model_validator(mode="after")
    def _is_described_once(self) -> HttpParameter:
        beside = sorted(self.model_extra or ())
        if unknown := [key for key in beside if key not in KEYWORDS]:
            hint = did_you_mean(unknown[0], sorted({*KEYWORDS, *HttpParameter.model_fields}))
            raise ValueError(f"there is no such key: {unknown[0]}. {hint}".rstrip(". "))
        if self.schema_ is not None and beside:
            raise ValueError(f"move these keys into the schema: {', '.join(beside)}")
        if not self.separator and (self.max_joined or self.item_enum):
            raise ValueError("max_joined and item_enum need a separator")
        return self


Parameters = Annotated[
    dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.\[\]-]{0,63}$")],
         Annotated[HttpParameter, BeforeValidator(_with_type)]],
    BeforeValidator(_by_name),
]  # fmt: skip


class Body(schema.Model):
    """The body of a request, where a word does not say enough."""

    type: Literal["json", "form"] = "json"
    parameter: str | None = None
    """The parameter that is the whole body. Without it, each parameter of the body is a member or a field."""


class HttpTool(ToolOverlay):
    """One tool: a request, and what a model reads about it."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    """The tool is called ``<id>__<name>``."""
    function: str = ""
    """Value of ``function_key`` of the source, where it is not the name."""
    path: Annotated[str, AfterValidator(lambda path: check_template(path) or path)] = ""
    """Added to ``base_url``, which is called itself without it; a placeholder is ``{parameter}``."""
    method: Annotated[Method, BeforeValidator(lambda given: given.upper() if isinstance(given, str) else given)] = "GET"
    parameters: Parameters = Field(default={})
    any_of: list[str] = Field(default=[])
    """Parameters of which at least one is required."""
    arguments: schema.ArgumentForms | None = None
    """What replaces the entries of the source's ``arguments`` for this tool."""
    body: Annotated[Body, BeforeValidator(lambda given: {"type": given} if isinstance(given, str) else given)] = Body()
    """Kind of the body: ``json`` or ``form``. A service with other bodies is described by an OpenAPI document."""
    response: Literal["json", "csv", "text"] | None = None
    """Form of the answers, for a service whose content types say otherwise."""
    formats: list[Format] = Field(default=["json"], min_length=1)
    returns: Annotated[
        schema.Returns, BeforeValidator(lambda given: {"outline": given} if isinstance(given, str) else given)
    ] = schema.Returns()
    """Fields of an answer, or where its rows and columns are."""
    access: Access = "free"
    freshness: str = FRESHNESS_CLASS
    use_instead: list[schema.UseInstead] = Field(default=[])
    """Similar requests that another tool serves."""
    common: bool = False
    """Whether the instructions for clients name the tool, so that a model that knows it calls it at once."""
    free_instead: schema.FreeInstead | None = None
    adjusted_by: schema.ToolName | None = None
    """The tool with the prices of this one corrected for splits, which show up as jumps in those of this one."""
    no_data: schema.Prose | None = None
    """Suggestion after a response of this tool without rows, instead of the one of the source."""


class HttpCategory(schema.Model):
    """A group of tools: the content of a further YAML file, whose name is that of the category."""

    title: schema.Prose | None = None
    description: schema.Prose | None = None
    tools: list[HttpTool] = Field(min_length=1)


class HttpApiSettings(HttpSettings):
    """The ``source.yaml`` of an HTTP API that is described by hand."""

    base_url: schema.Url
    """Address that the path of each tool is added to: https, or http on this machine."""
    function_key: str = ""
    """Parameter of the query that has the name of the tool, where all are functions of one URL."""
    format_parameter: str = ""
    """Parameter that selects JSON or CSV. A call that gives it gets the response in the service's own form."""
    parameters: Parameters = Field(default={})
    """Parameters that several tools have. A tool names one in its list, or as a key without a value."""
    tools: list[HttpTool] = Field(default=[])
    faults: list[schema.Fault] = Field(default=[])
    """Failures that the service reports with a status of success; the first that matches is used."""
    unknown_notice: list[str] = Field(default=[])
    """Keys with a notice of the service instead of data, even when no fault matches."""
    freshness: dict[str, Annotated[int, Field(ge=1)]] = Field(default={})
    """Class that a tool names as ``freshness`` → seconds for which its answers are fresh."""
    arguments: schema.ArgumentForms | None = None
    """How callers may write arguments otherwise."""
    categories: list[schema.Identifier] = Field(default=[])
    """Further YAML files with tools, in the order of the listing; by default all, in alphabetical order."""
