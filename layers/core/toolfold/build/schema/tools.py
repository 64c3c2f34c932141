"""A tool and its parameters, and a category of tools: the content of ``<category>.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from toolfold.build.relations import Relation
from toolfold.build.schema.field_types import (
    TOOL_NAME,
    Identifier,
    JsonScalar,
    Model,
    Pattern,
    Phrase,
    Prose,
    Summary,
    Tag,
)

HINTS = ("complete", "finest", "selects_month", "premium", "free_items", "found_by", "repeated_as")
"""Keys of a parameter that say what answers lack, and what to call instead of a call that failed."""


def _confirmation(given: object) -> object:
    """Return the text for ``confirm: true``, and any other value as it is."""
    if given is False:
        raise ValueError("leave confirm out: a destructive tool always needs approval, others do not")
    return "Each call must be approved" if given is True else given


class FoundBy(Model):
    """The tool that finds values of a parameter, and the parameter of that tool that takes a guess at one."""

    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    parameter: str | None = None


class FreeInstead(Model):
    """The nearest tool for a key whose plan does not include a tool, and arguments that only this tool has."""

    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    arguments: dict[str, Any] = {}


class Parameter(Model):
    """One parameter of a tool, after references to shared parameters are resolved."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """The complete JSON Schema (2020-12) of the parameter. Its ``$defs`` are moved to the schema of the tool."""
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
    """Text between the items of a list. An array in the arguments is joined with it."""
    item_enum: list[str] | None = None
    """Allowed items of a joined list. An item may have options in parentheses."""
    max_items: int | None = Field(default=None, ge=1)
    max_repeats: int | None = Field(default=None, ge=2)
    """Maximum items of an array that is sent as a repeated key of the query string."""
    sends: JsonScalar | None = None
    """Value that is sent when the argument is missing, without being shown as the default."""
    complete: JsonScalar | None = None
    """Value with which an answer has the rows that the default leaves out."""
    finest: JsonScalar | None = None
    """Value with which an answer has the most rows for a period."""
    selects_month: bool = False
    """Whether the value is the month, YYYY-MM, of which an answer with rows shorter than a day is."""
    premium: list[JsonScalar] = []
    """Values that some plans do not include."""
    free_items: int | None = Field(default=None, ge=1)
    """Items of a joined list that every plan includes."""
    found_by: FoundBy | None = None
    repeated_as: str | None = None
    """Field or column of an answer that repeats the argument."""
    send_default: bool = False
    """Whether to send the default when the argument is missing, because the upstream has another default."""

    @model_validator(mode="after")
    def _is_whole_or_described(self) -> Parameter:
        if self.schema_ is None:
            if missing := [key for key in ("type", "description") if getattr(self, key) is None]:
                raise ValueError(f"{' and '.join(missing)} missing; or give the complete schema")
        elif beside := self.model_fields_set - {"name", "schema_", "description", "required", "query", *HINTS}:
            raise ValueError(f"move these keys into the schema: {', '.join(sorted(beside))}")
        return self

    @model_validator(mode="after")
    def _is_consistent(self) -> Parameter:
        if self.schema_ is not None:
            return self
        if self.default is not None and self.enum is not None and self.default not in self.enum:
            raise ValueError(f"default {self.default!r} is not in the enum {self.enum}")
        if self.required and (self.complete is not None or self.finest is not None):
            raise ValueError("complete and finest are only for an optional parameter")
        if self.send_default and self.default is None:
            raise ValueError("send_default without a default")
        if self.sends is not None and (self.default is not None or self.required):
            raise ValueError("sends is only for an optional parameter without default")
        if self.sends is not None and self.enum is not None and self.sends not in self.enum:
            raise ValueError(f"sends {self.sends!r} is not in the enum {self.enum}")
        if self.required and self.default is not None:
            raise ValueError("a required parameter has no default")
        if self.type != "string" and (self.pattern or self.separator or self.max_repeats):
            raise ValueError("pattern, separator and max_repeats are only for strings")
        if self.type in ("string", "boolean") and (self.minimum, self.maximum, self.exclusive_minimum) != (None,) * 3:
            raise ValueError("minimum, maximum and exclusive_minimum are only for numbers")
        if (self.max_items or self.item_enum) and not self.separator:
            raise ValueError("max_items and item_enum need a separator")
        if self.enum is None and self.type != "boolean" and not self.examples:
            raise ValueError("needs an example (examples: [...])")
        return self


class Tickers(Model):
    """How the source writes tickers, and what other services write instead."""

    parameters: list[str] = []
    """Parameters that hold tickers, in every tool."""
    prefixes: dict[str, str] = {}
    """Venue before a colon (``LSE:TSCO``) → the suffix of the source; empty: no suffix."""
    suffixes: dict[str, str] = {}
    """Venue after a full stop at other services (``TSCO.L``) → the suffix of the source; empty: no suffix."""


class ArgumentForms(Model):
    """How callers write arguments otherwise than the schemas say. No model sees it, and no search."""

    names: dict[str, list[Phrase]] = {}
    """Parameter → other names for it. ``range[0]`` and ``range[1]`` are the ends of a list of two."""
    values: dict[str, str | dict[str, list[Phrase]]] = {}
    """Parameter → allowed value → other words for it; or the parameter that has the same values."""
    pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    """Two parameters that one argument such as ``EUR/USD`` may fill."""
    pair_names: list[Phrase] = []
    """Names of such an argument."""
    tickers: Tickers | None = None


class UseInstead(Model):
    """A request that another tool serves, and the name of that tool."""

    phrase: Phrase
    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]


class JsonShape(Model):
    """Location of the rows in a JSON response.

    ``rows`` is a dotted path; ``|`` separates several lists with the same columns. ``typed`` is an answer whose values
    have their types already: a text remains a text, also when it spells a number.
    """

    keys: list[str] = []
    rows: str = ""
    kind: Literal["object", "list", "map", "names", "typed"]
    columns: list[str] = []


class Returns(Model):
    """Format of the response: CSV columns and JSON shape. ``outline`` replaces the outline generated from them."""

    csv: str | None = None
    json_: JsonShape | None = Field(default=None, alias="json")
    outline: Prose | None = None
    rows: list[str] = []
    """Paths of the rows in JSON, for a tool without ``json``."""


class Tool(Model):
    """One tool, in the file of its category."""

    name: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    function: str | None = None
    """Name of the function at the upstream where it is not ``name``."""
    title: Prose
    summary: Summary
    description: Prose
    tags: list[Tag] = Field(min_length=1, max_length=6)
    example_queries: list[Phrase] = []
    """Requests of users who need the tool, in their words."""
    aliases: list[Phrase] = []
    """Other names of the data that the tool returns."""
    use_instead: list[UseInstead] = []
    """Similar requests that another tool serves."""
    access: Literal["free", "premium", "mixed"]
    effect: Literal["read", "write", "destructive"] = "read"
    """What a call changes at the source: nothing, data that can be restored, or data that cannot."""
    confirm: Annotated[Summary, BeforeValidator(_confirmation)] | None = None
    """What a person reads before each call, which then needs approval; ``true`` for a text without details. Calls of
    destructive tools need approval in any case."""
    common: bool = False
    """Whether the instructions for clients name the tool, so that a model that knows it calls it at once."""
    expose: bool = True
    """Whether the tool may be called. One that may not is in no listing; TOOL_GET describes it."""
    freshness: str
    formats: list[Literal["csv", "json"]] = Field(min_length=1)
    parameters: list[Parameter] = []
    parameters_schema: dict[str, Any] | None = None
    """``parameters`` as one JSON Schema (2020-12). The compiler moves it here."""
    arguments: ArgumentForms | None = None
    """What replaces the entries of the source's ``arguments`` for this tool."""
    any_of: list[str] = []
    """Parameters of which at least one is required."""
    returns: Returns
    relations: list[Relation] = Field(default=[], max_length=20)
    """Tools that are called before this one, instead of it, or after it."""
    free_instead: FreeInstead | None = None
    adjusted_by: Annotated[str, StringConstraints(pattern=TOOL_NAME)] | None = None
    """The tool with the prices of this one corrected for splits, which show up as jumps in those of this one."""
    no_data: Prose | None = None
    """Suggestion after a response of this tool without rows, instead of the one of the source."""
    example: dict[str, Any]
    """Arguments of a valid call. The tests send it to the mock API."""
    is_example_generated: bool = False
    """Whether ``example`` was made from the schema. It is then left out where it does not fit."""
    binding: dict[str, Any] | None = None
    """Input of the adapter, for an imported tool, whose ``name`` is not the name in the catalog yet."""

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
        is_described = self.returns.json_ is not None or self.returns.outline is not None or self.binding is not None
        if "json" in self.formats and not is_described:
            raise ValueError("returns.json is missing, and formats has json")
        if "csv" not in self.formats and self.returns.csv is not None:
            raise ValueError("returns.csv is given, and formats has no csv")
        return self


class Category(Model):
    """A group of tools: the content of ``<category>.yaml``."""

    category: Identifier
    title: Prose
    description: Prose
    tools: list[Tool] = Field(min_length=1)
