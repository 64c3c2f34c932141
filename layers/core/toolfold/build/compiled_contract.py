"""The contract of a compiled catalog as models, from which its JSON Schema is made.

``catalog.contract`` checks the catalogs of others against that schema. After a change of these models, write it again::

    python -m toolfold.build.compiled_contract > layers/core/toolfold/catalog/contract.json
"""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema, create_model

from toolfold.build import schema
from toolfold.build.schema import ArgumentForms, FaultCode, FoundBy, HeaderName, Keys, LongKey
from toolfold.catalog import entries, profiles
from toolfold.catalog.entries import (
    Count,
    Key,
    Label,
    Line,
    Measure,
    Name,
    Paragraph,
    Rule,
    Seconds,
    Sections,
    Text,
    ToolName,
)
from toolfold.catalog.json_schema import DIALECT
from toolfold.catalog.skills import SkillFile
from toolfold.sources.http_api.binding import Parameter
from toolfold.sources.http_api.styles import Method, QueryStyle
from toolfold.sources.mcp import connection as mcp
from toolfold.sources.sql.schema import SqlSettings

Texts = Annotated[list[str], Field(max_length=1000)]
Schema = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "$ref": DIALECT})]
Limit = Annotated[float, Field(gt=0, lt=10**10)]


class Part(BaseModel):
    """A part of the catalog that may have further keys."""


class Auth(schema.Auth):
    """The credentials of a source, whose variable is always named."""

    environment: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    prefix: HeaderName | Literal[""] = ""


class Fault(Part):
    """A failure that an upstream reports in a successful response."""

    keys: Keys
    match: LongKey
    code: FaultCode
    message: Paragraph
    suggestion: Paragraph
    retry_after_s: Seconds = 1


class Limits(Part):
    """What every adapter reads of ``connection``; each kind of source has more."""

    timeout_s: Limit = 1
    max_response_bytes: Limit = 1


def _entry(kind: Any, *without: str, base: type[Part] = Part, **types: Any) -> type[Part]:
    """Return the model of an object with the fields of a named tuple or dataclass.

    ``types`` are more exact than those of its fields, or of keys that it does not have.
    """
    hints, known = get_type_hints(kind, include_extras=True), inspect.signature(kind).parameters
    needed = {name for name, one in known.items() if one.default is one.empty}
    fields = {name: hints[name] for name in known if name not in without} | types
    optional: dict[str, Any] = {name: (of, ... if name in needed else None) for name, of in fields.items()}
    return create_model(kind.__name__, __base__=base, **optional)


_Faults = Annotated[list[Fault], Field(max_length=200)]
Source = _entry(entries.Source, "id", auth=Auth | None, faults=_Faults, arguments=ArgumentForms, connection=Limits)
Category = _entry(entries.Category)


_Counts = Annotated[dict[Label, Count], Field(max_length=100_000)]


class Head(Part):
    """The first line of a catalog."""

    count: Count
    bytes: Count = 0
    definition_tokens: Count = 0
    sources: Annotated[dict[Name, Source], Field(max_length=1000)]  # type: ignore[valid-type]  # made above
    categories: Annotated[list[Category], Field(max_length=10_000)]  # type: ignore[valid-type]
    counts: Annotated[dict[str, _Counts], Rule(required=["tags", "access", "effect", "source"])]
    sections: Annotated[dict[str, list[Any]], Rule(required=sorted(Sections.__required_keys__))]
    confirmed: Count = 0
    skills: Count = 0
    related: Count = 0
    semantic_share: Measure = 0
    common: Annotated[list[tuple[Count, Label]], Field(max_length=100)] = []
    profiles: Annotated[list[ToolName], Field(max_length=101)] = []


class JoinedList(Part):
    """A list that is sent as one text."""

    separator: Annotated[str, Field(min_length=1)]
    items: Texts = []
    max_items: Annotated[int, Field(ge=1, le=100_000)] = 1


class SentParameter(Part):
    """How an argument is sent; ``sources.http_api.binding`` checks the rest."""

    name: Key = ""


class Call(Part):
    """What every adapter reads of ``call``; each kind of source has more."""

    function: str
    parameters: dict[str, SentParameter] = {}
    sends: dict[str, Any] = {}
    lists: dict[str, JoinedList] = {}
    blank_allowed: Texts = []
    arguments: ArgumentForms = ArgumentForms()


MediaType = Annotated[str, Field(pattern="^[ -~]*$")]
Printable = Annotated[str, Field(json_schema_extra={"format": "printable"})]


class HttpField(Part):
    """How a field of a body is sent; keys as in ``sources.http_api.binding``."""

    style: QueryStyle = "form"
    explode: bool = True
    content_type: MediaType = ""
    filename: Printable = ""
    base64: bool = False


HttpParameter = _entry(Parameter, "argument", "location", **{"in": get_type_hints(Parameter)["location"]})
"""How an argument is sent. Which styles a location has, ``sources.http_api.binding`` checks."""


class HttpBody(Part):
    """The body of a request, of ``fields`` or of one ``argument``."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["argument"]}, {"required": ["fields"]}]})
    content_type: MediaType = ""
    argument: Printable = ""
    fields: dict[str, str] = {}
    encoding: dict[str, HttpField] = {}
    base64: bool = False
    required: bool = False


class HttpCall(Part):
    """``call`` of an HTTP API."""

    method: Method = "GET"
    path: str
    parameters: dict[str, HttpParameter] = {}  # type: ignore[valid-type]
    sends: dict[str, Any] = {}
    body: HttpBody = HttpBody()


class SkillCall(Part):
    """``call`` of a skill."""

    root: Annotated[str, Field(pattern="^skill://", max_length=2000)]
    front_matter: dict[str, Any]
    files: Annotated[list[SkillFile], Field(max_length=512)]


class Answer(Part):
    """Location of the rows in a response."""

    csv: str | None = None
    rows: Texts
    keys: Texts = []
    columns: Texts = []
    identifiers: Texts = []
    kind: Literal["object", "list", "map", "names", "typed"] | None = None


class FreeInstead(Part):
    """What to call with a key whose plan lacks the tool."""

    tool: ToolName
    arguments: dict[str, Any]


class Hints(Part):
    """What an answer may lack, and what to call instead."""

    complete: dict[str, Line | bool | float] = {}
    finest: dict[str, Line | bool | float] = {}
    premium: dict[str, list[Any]] = {}
    free_items: dict[str, int] = {}
    found_by: dict[str, FoundBy] = {}
    repeated_as: dict[str, Text] = {}
    month: Text = ""
    no_data: Text = ""
    adjusted_by: ToolName = "-"
    free_instead: FreeInstead | None = None


Tool = _entry(entries.Tool, parameters=Schema, call=Call, answer=Answer, hints=Hints)
"""The entry of a tool. ``parameters`` and all values are checked by ``catalog.contract`` besides."""


class Definition(BaseModel):
    """A definition for ``tools/list``."""

    model_config = ConfigDict(extra="forbid")

    name: ToolName
    title: Line = ""
    description: Text = ""
    input_schema: Schema = Field(alias="inputSchema")
    annotations: dict[Literal["readOnlyHint", "destructiveHint", "openWorldHint"], bool] = {}
    meta: dict[Literal["anthropic/alwaysLoad"], Literal[True]] = Field(default={}, alias="_meta")


class Exposed(Part):
    """A tool that stands for several in a mode."""

    kind: str
    definition: Definition


_McpBytes = Annotated[int, Field(ge=1, le=1 << 30)]
_SECTIONS = get_type_hints(Sections, include_extras=True)
PARTS = {
    "Head": Head,
    "HttpCall": HttpCall,
    "SkillCall": SkillCall,
    "DatabaseConnection": _entry(SqlSettings, base=Limits),
    "McpConnection": _entry(mcp.Connection, "url", "headers", max_response_bytes=_McpBytes | None),
    **{name: get_args(of)[0] if get_origin(of) is NotRequired else of for name, of in _SECTIONS.items()},
    "tools": Tool,
    "profiles": _entry(profiles.Profile, "name"),
    "definitions": Definition,
    "exposed": list[Exposed],
}
"""Name → type of what ``catalog.contract`` checks: the sections, and parts of their values for the adapters."""


def contract_text() -> str:
    """Return the JSON Schema of all parts, as the file that ``catalog.contract`` reads."""
    parts, made = TypeAdapter.json_schemas([(name, "validation", TypeAdapter(type_)) for name, type_ in PARTS.items()])
    named = {name: made for (name, _), made in parts.items() if made != {"$ref": f"#/$defs/{name}"}}
    return json.dumps(_checks_only({"$defs": made["$defs"] | named}), indent=1, sort_keys=True) + "\n"


def _checks_only(value: Any) -> Any:
    """Return a schema without what it says for readers: properties called ``title`` have schemas, and no text."""
    if isinstance(value, list):
        return [_checks_only(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "patternProperties" in value:
        value = {**value, "additionalProperties": False}
    return {
        key: _checks_only(inner)
        for key, inner in value.items()
        if key != "default" and not (key in ("title", "description") and isinstance(inner, str))
    }


if __name__ == "__main__":
    print(contract_text(), end="")
