"""The contract of a compiled catalog as models, from which its JSON Schema is made.

``catalog.contract`` checks the catalogs of others against that schema. After a change of these models, write it again::

    python -m toolfold.build.compiled_contract > layers/core/toolfold/catalog/contract.json
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import models_json_schema

from toolfold.build import schema
from toolfold.build.schema import TOOL_NAME, ArgumentForms, FaultCode, FoundBy, HeaderName, Key, Keys, LongKey
from toolfold.catalog.entries import Effect
from toolfold.catalog.json_schema import DIALECT
from toolfold.catalog.text_checks import MAX_SUMMARY, MAX_TEXT

_MAX_SECONDS = 10 * 366 * 86400
_MAX_COUNT = 10**10

# ``text`` is a format of ``catalog.contract``.
Label = Annotated[str, Field(max_length=200, json_schema_extra={"format": "text"})]
Line = Annotated[str, Field(max_length=MAX_SUMMARY, json_schema_extra={"format": "text"})]
Remark = Annotated[str, Field(max_length=1000, json_schema_extra={"format": "text"})]
Paragraph = Annotated[str, Field(max_length=2000, json_schema_extra={"format": "text"})]
Text = Annotated[str, Field(max_length=MAX_TEXT, json_schema_extra={"format": "text"})]
Texts = Annotated[list[str], Field(max_length=1000)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
ToolName = Annotated[str, Field(pattern=TOOL_NAME)]
Count = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
Seconds = Annotated[int, Field(ge=1, le=_MAX_SECONDS)]
Schema = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "$ref": DIALECT})]
Measure = Annotated[float, Field(ge=-1000, le=1000)]
Limit = Annotated[float, Field(gt=0, lt=_MAX_COUNT)]


class Part(BaseModel):
    """A part of the catalog that may have further keys."""


class Closed(BaseModel):
    """A part of the catalog without further keys."""

    model_config = ConfigDict(extra="forbid")


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


class Connection(Part):
    """What every adapter reads of ``connection``; each kind of source has more."""

    timeout_s: Limit = 1
    max_response_bytes: Limit = 1


class DatabaseConnection(Connection):
    """``connection`` of a database."""

    dialect: Literal["sqlite", "postgresql"]
    schemas: list[str] = []
    include: list[str] = []
    exclude: list[str] = []
    statement_timeout_s: Annotated[float, Field(gt=0, le=300)] = 15
    max_rows: Annotated[int, Field(ge=1, le=1000)] = 1000
    max_bytes: Annotated[int, Field(ge=1, le=20_000_000)] = 2_000_000


Plain = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class McpConnection(Part):
    """``connection`` of an MCP server."""

    command: Annotated[list[Plain], Field(max_length=200)] = []
    env: dict[Variable, Plain] = {}
    key_variable: Variable | Literal[""] = ""
    cwd: Plain = ""
    protocol_version: Plain = ""
    max_response_bytes: Annotated[int, Field(ge=1, le=1 << 30)] | None = None


class Thresholds(Closed):
    """The thresholds of ``catalog.fit``."""

    nothing: Measure
    sure: Measure


class Empty(Closed):
    """An object without keys."""


class Source(Part):
    """The entry of a source in the head."""

    title: Label
    description: Paragraph
    no_data: Paragraph
    version: Label = ""
    fetched_at: Label = ""
    instructions: Paragraph = ""
    connection: Connection = Connection()
    fit: Empty | Thresholds = Empty()
    kind: Name
    base_url: Annotated[str, Field(max_length=2000)]
    function_key: Key
    format_parameter: Key = ""
    unknown_notice: Keys
    freshness: dict[str, Seconds]
    arguments: ArgumentForms = ArgumentForms()
    auth: Auth | None
    faults: Annotated[list[Fault], Field(max_length=200)]


class Category(Part):
    """The entry of a category in the head."""

    name: Label
    source: str
    title: Label
    description: Paragraph
    tools: Count


class Counts(Part):
    """Values of a field → number of tools."""

    tags: Annotated[dict[Label, Count], Field(max_length=100_000)]
    access: dict[Label, Count]
    effect: dict[Label, Count]
    source: dict[Label, Count]


class Head(Part):
    """The first line of a catalog."""

    count: Count
    bytes: Count = 0
    definition_tokens: Count = 0
    sources: Annotated[dict[Name, Source], Field(max_length=1000)]
    categories: Annotated[list[Category], Field(max_length=10_000)]
    counts: Counts
    listing: str
    sections: dict[str, list[Any]]
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

    style: Literal["form", "spaceDelimited", "pipeDelimited", "deepObject"] = "form"
    explode: bool = True
    content_type: MediaType = ""
    filename: Printable = ""
    base64: bool = False


class HttpParameter(Part):
    """How an argument is sent. Which styles a location has, ``sources.http_api.binding`` checks."""

    location: Literal["path", "query", "header", "cookie"] = Field(default="query", alias="in")
    name: Printable = ""
    style: Printable = ""
    explode: bool = True
    content_type: MediaType = ""
    slashes: Printable = ""
    reserved: bool = False


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

    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str
    parameters: dict[str, HttpParameter] = {}
    sends: dict[str, Any] = {}
    body: HttpBody = HttpBody()


SkillFile = tuple[
    Annotated[str, Field(min_length=1, max_length=2000)],
    Annotated[str, Field(pattern=r"^[0-9A-Za-z]{64}$")],
    Annotated[int, Field(ge=0)],
    Annotated[str, Field(min_length=1, max_length=2000)],
    bool,
]


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


Relations = Literal["needs_output_of", "alternative", "then"]


class Tool(Part):
    """The entry of a tool. ``parameters`` and all values are checked by ``catalog.schema_checks`` besides."""

    name: ToolName
    source: str
    category: Line
    title: Line
    summary: Line
    description: Text
    tags: Annotated[list[Line], Field(max_length=1000)]
    access: Literal["free", "premium", "mixed"]
    effect: Effect
    freshness: str
    formats: list[Literal["csv", "json"]]
    parameters: Schema
    returns: Text
    example: dict[str, Any]
    use_instead: dict[Line, ToolName]
    see_also: list[ToolName]
    hash: Annotated[str, Field(pattern=r"^[0-9A-Za-z]{1,64}$")]
    call: Call
    answer: Answer
    hints: Hints = Hints()
    confirm: Line = ""
    relations: Annotated[list[tuple[ToolName, Relations] | tuple[ToolName, Relations, Line]], Field(max_length=50)] = []


class Annotations(Closed):
    """``annotations`` of a definition."""

    readOnlyHint: bool = True
    destructiveHint: bool = True
    openWorldHint: bool = True


class Meta(Closed):
    """``_meta`` of a definition."""

    always_load: Literal[True] = Field(default=True, alias="anthropic/alwaysLoad")


class Definition(Closed):
    """A definition for ``tools/list``."""

    name: ToolName
    title: Line = ""
    description: Text = ""
    input_schema: Schema = Field(alias="inputSchema")
    annotations: Annotations = Annotations()
    meta: Meta = Field(default=Meta(), alias="_meta")


class Exposed(Part):
    """A tool that stands for several in a mode."""

    kind: str
    definition: Definition


Positions = Annotated[list[Count], Field(max_length=20)]


class Profile(Part):
    """The entry of a profile. ``catalog.profiles`` checks that the positions are in the catalog."""

    title: Remark = ""
    description: Remark = ""
    context: Remark = ""
    mode: Literal["", "progressive", "lazy", "grouped", "direct", "kinds", "auto", "research"] = ""
    kinds: dict[Literal["connector", "database", "mcp", "skill"], Literal["progressive", "inline", "off"]] = {}
    pinned: Positions = []
    most_used: Positions = []
    listed: list[Count] | None = None
    unexposed: list[Count] = []
    elsewhere: Annotated[list[tuple[Remark, list[Remark], list[Count]]], Field(max_length=100)] = []
    switched_off: list[Literal["TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT"]] = []
    where: dict[Remark, Remark] = {}


def contract_text() -> str:
    """Return the JSON Schema of all parts, as the file that ``catalog.contract`` reads."""
    parts = (Head, Tool, HttpCall, SkillCall, DatabaseConnection, McpConnection, Definition, Exposed, Profile)
    _, made = models_json_schema([(part, "validation") for part in parts])
    return json.dumps({"$defs": _checks_only(made["$defs"])}, indent=1) + "\n"


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
