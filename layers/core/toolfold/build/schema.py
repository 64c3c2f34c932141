"""What a source's YAML may say, as pydantic models: unknown keys, missing words and contradictions are refused.

``source.yaml`` holds :class:`Source`; each ``<category>.yaml`` beside it holds one :class:`Category` with its tools.
Build side: pydantic is imported here and nowhere on the request path.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from toolfold.errors import CALL_ERRORS

TOOL_NAME = r"^[A-Za-z0-9._-]{1,64}$"
"""What MCP allows. Names are looked up without regard to case, so no two may differ by case alone."""

SUMMARY_LIMIT = 120
"""Characters of a one-line description: what fits one line of a list that a model reads whole."""

JsonScalar = str | bool | int | float


def _one_sentence_line(text: str) -> str:
    if "\n" in text or text != text.strip():
        raise ValueError("must be one line without spaces around it")
    if text.endswith("."):
        raise ValueError("must not end with a full stop")
    return text


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return pattern


Prose = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Summary = Annotated[str, StringConstraints(min_length=10, max_length=SUMMARY_LIMIT), AfterValidator(_one_sentence_line)]
Phrase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9%][a-z0-9 '&/%+.()-]*$", max_length=90)]
"""Words to be found by: indexed, never shown."""
Pattern = Annotated[str, AfterValidator(_regex)]
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Parameter(Model):
    """One parameter of a tool, after references to shared parameters are resolved."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """The whole JSON Schema (2020-12) of the parameter: objects, arrays, alternatives. Its ``$defs`` are the tool's."""
    type: Literal["string", "integer", "number", "boolean"] | None = None
    description: Prose | None = None
    required: bool = False
    enum: list[JsonScalar] | None = Field(default=None, min_length=1)
    default: JsonScalar | None = None
    pattern: Pattern | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    examples: list[JsonScalar | list[str]] = []
    query: str | None = None
    """Key in the query string where it is not ``name``."""
    separator: str | None = None
    """The value is a list joined by this; arrays are accepted and joined."""
    item_enum: list[str] | None = None
    """Allowed items of a joined list; an item may carry options in parentheses."""
    max_items: int | None = Field(default=None, ge=1)
    max_repeats: int | None = Field(default=None, ge=2)
    """The key is sent once per item of an array, at most this often."""
    sends: JsonScalar | None = None
    """What is sent when the caller leaves the parameter out, where no default is to be shown."""
    send_default: bool = False
    """Whether the default is sent when the caller leaves the parameter out, since the upstream's own is another."""

    @model_validator(mode="after")
    def _is_whole_or_described(self) -> Parameter:
        if self.schema_ is None:
            if missing := [key for key in ("type", "description") if getattr(self, key) is None]:
                raise ValueError(f"{' and '.join(missing)} missing; or give the whole schema")
        elif beside := self.model_fields_set - {"name", "schema_", "description", "required", "query"}:
            raise ValueError(f"the schema is given whole, so these belong into it: {', '.join(sorted(beside))}")
        return self

    @model_validator(mode="after")
    def _is_consistent(self) -> Parameter:
        if self.schema_ is not None:
            return self
        if self.default is not None and self.enum is not None and self.default not in self.enum:
            raise ValueError(f"default {self.default!r} is not in the enum {self.enum}")
        if self.send_default and self.default is None:
            raise ValueError("send_default without a default")
        if self.sends is not None and (self.default is not None or self.required):
            raise ValueError("sends is for a parameter that may be left out and shows no default")
        if self.sends is not None and self.enum is not None and self.sends not in self.enum:
            raise ValueError(f"sends {self.sends!r} is not in the enum {self.enum}")
        if self.required and self.default is not None:
            raise ValueError("a required parameter has no default")
        if self.type != "string" and (self.pattern or self.separator or self.max_repeats):
            raise ValueError("pattern, separator and max_repeats are for strings")
        if self.type in ("string", "boolean") and (self.minimum, self.maximum, self.exclusive_minimum) != (None,) * 3:
            raise ValueError("minimum, maximum and exclusive_minimum are for numbers")
        if (self.max_items or self.item_enum) and not self.separator:
            raise ValueError("max_items and item_enum need a separator")
        if self.enum is None and self.type != "boolean" and not self.examples:
            raise ValueError("needs an example (examples: [...])")
        return self


class UseInstead(Model):
    """A phrase of people who need another tool, and that tool."""

    phrase: Phrase
    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]


class JsonShape(Model):
    """Where the rows of a JSON answer are. ``rows`` is a dotted path; ``|`` separates lists with the same columns."""

    keys: list[str] = []
    rows: str = ""
    kind: Literal["object", "list", "map", "names"]
    columns: list[str] = []


class Returns(Model):
    """What comes back: CSV columns, JSON shape. ``outline`` replaces the outline made from them."""

    csv: str | None = None
    json_: JsonShape | None = Field(default=None, alias="json")
    outline: Prose | None = None


class Tool(Model):
    name: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    function: str | None = None
    """The upstream's name of the function where it is not ``name``."""
    title: Prose
    summary: Summary
    description: Prose
    tags: list[Tag] = Field(min_length=1, max_length=6)
    example_queries: list[Phrase] = []
    """What people say when they need the tool, in their words."""
    aliases: list[Phrase] = []
    """Other names of what it returns."""
    use_instead: list[UseInstead] = []
    """Requests that are close, and belong to another tool."""
    access: Literal["free", "premium", "mixed"]
    effect: Literal["read", "write", "destructive"] = "read"
    """What a call changes at the source: nothing, something, or something that cannot be brought back."""
    freshness: str
    formats: list[Literal["csv", "json"]] = Field(min_length=1)
    parameters: list[Parameter] = []
    parameters_schema: dict[str, Any] | None = None
    """``parameters`` given as one JSON Schema (2020-12); the compiler puts it here."""
    any_of: list[str] = []
    """At least one of these parameters must be given."""
    returns: Returns
    example: dict[str, Any]
    """Arguments of a call that works; the tests build its query string."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Tool:
        names = [parameter.name for parameter in self.parameters]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"parameters given twice: {', '.join(twice)}")
        definitions: dict[str, Any] = {}
        for parameter in self.parameters:
            for name, definition in (parameter.schema_ or {}).get("$defs", {}).items():
                if definitions.setdefault(name, definition) != definition:
                    raise ValueError(f"two parameters define $defs.{name} differently")
        if unknown := sorted(set(self.any_of) - set(names)):
            raise ValueError(f"any_of names parameters that do not exist: {', '.join(unknown)}")
        if "json" in self.formats and self.returns.json_ is None and self.returns.outline is None:
            raise ValueError("returns.json is missing, and formats has json")
        if "csv" not in self.formats and self.returns.csv is not None:
            raise ValueError("returns.csv is given, and formats has no csv")
        return self


class Category(Model):
    category: Identifier
    title: Prose
    description: Prose
    tools: list[Tool] = Field(min_length=1)


class Auth(Model):
    """The API key of a source: how it is sent, and where it comes from."""

    query_key: str | None = None
    """Parameter of the query string that carries the key; None where the adapter sends it elsewhere."""
    environment: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]
    """Environment variable that holds the key, or the reference to it in AWS."""
    caller_key: bool = False
    """Whether a key that arrives with an MCP request is passed on to this source. It is sent to no other."""
    signup_url: str | None = None
    """Page where a user gets a key."""


class Fault(Model):
    """One failure that comes inside an answer: a text under one of ``keys``, or, without keys, in the body."""

    id: Identifier
    keys: list[str] = []
    match: Pattern
    code: str
    message: Prose
    suggestion: Prose
    retry_after_s: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _code_exists(self) -> Fault:
        if self.code not in CALL_ERRORS:
            raise ValueError(f"code {self.code!r} is not one of {', '.join(CALL_ERRORS)}")
        return self


class Source(Model):
    id: Identifier
    title: Prose
    description: Prose
    adapter: Identifier = "http_api"
    """Name under which ``sources.registry`` knows the adapter."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https://")]
    function_key: str
    auth: Auth | None = None
    """None for a source that needs no key."""
    freshness: dict[str, Annotated[int, Field(ge=1)]]
    """Freshness class → seconds an answer stays fresh."""
    categories: list[Identifier] = Field(min_length=1)
    """Files beside this one, in the order in which they are listed."""
    parameters: dict[str, dict[str, Any]] = {}
    """Shared parameters: key → fields of a :class:`Parameter`, ``name`` being the key where it is not given."""
    faults: list[Fault] = []
    """Tried in this order; the first that matches decides."""
    no_data: Prose
    """The next step after an answer without rows."""
    unknown_notice: list[str] = []
    """Keys under which a text is a notice of the upstream, never data, even when no fault matches."""


VOCABULARY = "vocabulary.yaml"
"""The file, beside the others of a source, that holds a :class:`Vocabulary`; it may be missing."""


class Names(Model):
    """Proper names of one kind, and the categories whose tools are about such things."""

    categories: list[Identifier] = []
    tools: list[str] = []
    preferred: list[str] = []
    """The tools meant when the request states nothing else."""
    words: str

    def holds(self, category: str, tool: str) -> bool:
        """Return whether such a name may be meant for that tool."""
        return category in self.categories or tool in self.tools or tool in self.preferred


class Vocabulary(Model):
    """What words in a request stand for beside themselves."""

    names: dict[Identifier, Names] = {}
    synonyms: dict[str, dict[str, str]] = {}
    """Words of the catalog → language → what else is said for them, separated by commas."""
    ignored: str = ""
    """Words that mean nothing alone."""
    out_of_scope: dict[str, list[str]] = {}
    """What the source does not serve → what people say who want it."""
