"""What a catalog has: sources, categories and tools, the words for them, and how the compiled layout writes them.

Annotations are evaluated here: a named tuple compiles each annotation that is a text, and the first response waits.
"""

import re
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict, get_args

from toolfold.catalog.text_checks import MAX_SUMMARY, MAX_TEXT
from toolfold.text_safety import counted

FORMAT = 7
"""Version of the compiled layout. A reader refuses any other."""

Effect = Literal["read", "write", "destructive"]
"""What a call changes at the source: nothing, data that can be restored, or data that cannot."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)

EFFECT_WORDS: Mapping[str, str] = {"write": "writes", "destructive": "destructive"}
"""Effect → the word that model-visible texts add to a tool. ``read`` is the usual effect and is not mentioned."""

META_TOOLS = ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")
"""Names of the meta-tools that ``/mcp`` lists, in that order."""

DEFAULT_PROFILE = "default"
"""The profile of the path without a name."""

COMBINING_TOOLS = ("TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT")
"""Names of the meta-tools that combine several calls in one."""

DESCRIBE_STEP = "Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL."
"""What to do after a list of tools in one line each, which the compiled listing says as well."""

RESERVED_NAMES = (*META_TOOLS, "TOOL_CALL_WRITE", *COMBINING_TOOLS)
"""Names that no tool of a catalog may have."""

CONFIRM = "confirm"
"""What the line of a tool with ``confirm`` has at its end, and what model-visible texts add to it."""


class Rule:
    """Keywords of JSON Schema for the values of a type, of which ``build.compiled_contract`` makes the contract."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), **self.keywords}


# ``text`` and ``printable`` are formats of ``catalog.contract``.
Label = Annotated[str, Rule(maxLength=200, format="text")]
Line = Annotated[str, Rule(maxLength=MAX_SUMMARY, format="text")]
Remark = Annotated[str, Rule(maxLength=1000, format="text")]
Paragraph = Annotated[str, Rule(maxLength=2000, format="text")]
Text = Annotated[str, Rule(maxLength=MAX_TEXT, format="text")]
Key = Annotated[str, Rule(maxLength=200, format="printable")]
Name = Annotated[str, Rule(pattern="^[a-z][a-z0-9_]{0,63}$")]
_NAME_IN_TEXT = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
"""What may be the name of a tool in a text: with lower-case letters, a word would be one too often."""
TOOL_NAME = "^[A-Za-z0-9._-]{1,64}$"
"""Names that MCP allows. They are looked up without regard to case, so two names must differ in more than case."""
ToolName = Annotated[str, Rule(pattern=TOOL_NAME)]
Hash = Annotated[str, Rule(pattern="^[0-9A-Za-z]{1,64}$")]
Count = Annotated[int, Rule(minimum=0, maximum=10**10)]
Seconds = Annotated[int, Rule(minimum=1, maximum=10 * 366 * 86400)]
Measure = Annotated[float, Rule(minimum=-1000, maximum=1000)]
Access = Literal["free", "premium", "mixed"]
Format = Literal["csv", "json"]
RelationKind = Literal["needs_output_of", "alternative", "then", "may_need_output_of"]
"""In the order in which texts name them: what comes before a call is needed most. The last is inferred from names."""

KEY_PLACES = ("query_key", "header", "cookie", "bearer", "basic", "oauth2")
"""Fields of :class:`Auth` that say where the key goes; a source has one of them, or none."""


class Auth(NamedTuple):
    """The credentials of a source. Fields as in ``build.schema.Auth``; ``oauth2`` as its OAuth2."""

    environment: str
    query_key: str | None = None
    caller_key: bool = False
    signup_url: str | None = None
    header: str | None = None
    prefix: str = ""
    cookie: str | None = None
    bearer: bool = False
    basic: bool = False
    oauth2: Mapping[str, Any] | None = None


_FIT = Rule(propertyNames={"enum": ["nothing", "sure"]}, dependentRequired={"nothing": ["sure"], "sure": ["nothing"]})


class Source(NamedTuple):
    """An API or another service that provides tools. Fields as in ``source.yaml``, and these.

    Attributes:
        base_url: The URL that calls are sent to; empty for a kind of source that has none.
        version: The version that an imported source states of itself; may be empty.
        instructions: What an imported source says about the use of its tools; may be empty.
        fetched_at: When an imported source was read, in ISO 8601; may be empty.
        connection: What the adapter of an imported source needs beside ``base_url``.
        fit: The thresholds ``nothing`` and ``sure`` of ``catalog.search``; empty where they cannot be found.
    """

    id: Name
    title: Label
    kind: Name
    base_url: Annotated[str, Rule(maxLength=2000)]
    function_key: Key
    auth: Auth | None
    freshness: Mapping[str, Seconds]
    no_data: Paragraph
    faults: Annotated[tuple[Mapping[str, Any], ...], Rule(maxItems=200)]
    unknown_notice: Annotated[tuple[Key, ...], Rule(maxItems=200)]
    description: Paragraph = ""
    version: Label = ""
    instructions: Paragraph = ""
    fetched_at: Label = ""
    connection: Mapping[str, Any] = {}
    format_parameter: Key = ""
    arguments: Mapping[str, Any] = {}
    fit: Annotated[Mapping[str, Measure], _FIT] = {}

    @property
    def oauth2(self) -> Mapping[str, Any]:
        """How it issues access tokens; empty where it issues none."""
        return (self.auth and self.auth.oauth2) or {}

    @property
    def signs_in(self) -> bool:
        """Whether its calls are made with a token of the user, who signs in there."""
        return self.auth is not None and (self.auth.oauth2 or {}).get("grant") == "authorization_code"


Relation = tuple[ToolName, RelationKind] | tuple[ToolName, RelationKind, Line]
"""The related tool, how it is related, and what connects the two."""


class Tool(NamedTuple):
    """One tool that ``TOOL_CALL`` can call.

    Attributes:
        parameters: A JSON Schema (2020-12).
        effect: What a call changes at the source.
        example: Arguments of a valid call.
        use_instead: Similar request → the tool that serves it.
        hash: Hash of the entry, by which a client detects a change.
        call: Input of the source adapter: ``function`` (the name that the source has for it), ``lists`` (parameter →
            separator, maximum number of items, allowed items), ``sends`` (values that are sent where an argument is
            missing), ``arguments`` (what the tool says instead of the source's), and what the importer of its kind
            adds, of HTTP APIs a binding (``sources.http_api.binding``).
        answer: Location of the rows in a response: ``csv``, ``rows``, ``kind``; ``keys`` and ``columns`` of its JSON.
        hints: What an answer may lack, and what to call instead: ``complete`` (parameter → value that brings all rows),
            ``finest`` (parameter → value that brings the most rows for a period), ``month`` (the parameter that
            selects a month), ``premium`` (parameter → values that some plans lack), ``free_items`` (parameter → items
            that every plan includes), ``found_by`` (parameter → tool and its parameter that find values),
            ``repeated_as`` (parameter → field of the answer), ``free_instead`` (tool and arguments), ``adjusted_by``
            (tool), ``no_data`` (the suggestion after an answer without rows). May be empty.
        confirm: What a person reads before each call, which needs approval; empty for a tool without ``confirm``.
    """

    name: ToolName
    source: str
    category: Line
    title: Line
    summary: Line
    description: Text
    tags: Annotated[tuple[Line, ...], Rule(maxItems=1000)]
    access: Access
    effect: Effect
    freshness: str
    formats: tuple[Format, ...]
    parameters: Mapping[str, Any]
    returns: Text
    example: Mapping[str, Any]
    use_instead: Mapping[Line, ToolName]
    call: Mapping[str, Any]
    answer: Mapping[str, Any]
    see_also: tuple[ToolName, ...]
    hash: Hash
    hints: Mapping[str, Any] = MappingProxyType({})
    confirm: Line = ""
    relations: Annotated[tuple[Relation, ...], Rule(maxItems=50)] = ()

    @property
    def needs_approval(self) -> bool:
        """Whether each call needs approval: see ``execution.approval``."""
        return self.effect == "destructive" or bool(self.confirm)

    @property
    def only_reads(self) -> bool:
        """Whether it may be called again, or several times, without asking anyone."""
        return self.effect == "read" and not self.confirm

    def among(self, listed: Container[str], known: Container[str]) -> "Tool":
        """Return it without the names of tools of ``known`` that are not ``listed``."""
        hints = dict(self.hints)
        if finders := hints.get("found_by"):
            hints["found_by"] = {key: finder for key, finder in finders.items() if finder["tool"] in listed}
        if (free := hints.get("free_instead")) and free["tool"] not in listed:
            del hints["free_instead"]
        if (adjusted_by := hints.get("adjusted_by")) and adjusted_by not in listed:
            del hints["adjusted_by"]
        if any(name in known and name not in listed for name in _NAME_IN_TEXT.findall(hints.get("no_data", ""))):
            del hints["no_data"]
        return self._replace(
            see_also=tuple(name for name in self.see_also if name in listed),
            use_instead={need: name for need, name in self.use_instead.items() if name in listed},
            relations=tuple(relation for relation in self.relations if relation[0] in listed),
            hints={name: value for name, value in hints.items() if value},
        )


class ToolSummary(NamedTuple):
    """The part of a tool that a listing shows."""

    name: ToolName
    summary: Line
    category: Label
    access: Access
    effect: Effect = "read"
    confirm: Literal["", "confirm"] = ""
    """:data:`CONFIRM` for a tool with ``confirm``."""


class Category(NamedTuple):
    """A group of tools of one source.

    ``name`` is unique in the catalog: it is ``source/name`` where several sources have a category of that name.
    """

    name: Label
    source: str
    title: Label
    description: Paragraph
    tools: Count


def summary_suffix(access: str, effect: str, confirm: str = "") -> str:
    """Return the text after the summary in the line of a tool: empty, or for example `` (premium, writes)``."""
    remarks = [access] if access == "premium" else []
    if effect in EFFECT_WORDS:
        remarks.append(EFFECT_WORDS[effect])
    if confirm:
        remarks.append(CONFIRM)
    return f" ({', '.join(remarks)})" if remarks else ""


def listing_text(categories: Sequence[Category], lines: Sequence[ToolSummary]) -> str:
    """Return the text of ``TOOL_LIST()``: a heading for each category, a line for each tool.

    This format needs the fewest tokens of those measured.
    """
    by_category: dict[str, list[str]] = {}
    for line in lines:
        suffix = summary_suffix(line.access, line.effect, line.confirm)
        by_category.setdefault(line.category, []).append(f"{line.name}: {line.summary}{suffix}")
    parts = [f"{counted(len(lines), 'tool')}. {DESCRIBE_STEP}"]
    for category in categories:
        parts += [f"# {category.name}: {category.title}", *by_category.get(category.name, ())]
    return "\n".join(parts)


def name_key(name: str) -> str:
    """Return the key of a tool in the sections: in upper case, with ``_`` for ``-`` and ``.``, without outer spaces."""
    return name.strip().upper().replace("-", "_").replace(".", "_")


Postings = Sequence[Annotated[int, Rule(minimum=0, maximum=2**40)]]


class Sections(TypedDict):
    """The sections of a catalog in their order, each a mapping from keys to values of the type that is given here.

    - ``tools``: key of a name → fields of :class:`Tool`
    - ``names``: key of a name → position
    - ``lines``: position → fields of :class:`ToolSummary`, without those at the end that have their usual values
    - ``members``: field and value → positions, as runs
    - ``index``: term → postings
    - ``spellings``: first letter and length → words
    - ``synonyms``: word → terms; each takes a look-up, and a hundred are several times what any vocabulary has
    - ``near``: word → postings of the tools near it in meaning, each position less the one before it
    - ``skills``: URI of a SKILL.md → name of its tool (``catalog.skills``)
    - ``files``: SHA-256 → ``{"text"}``, or ``{"blob"}`` in Base64
    - ``profiles``, ``definitions`` and ``exposed``: see ``catalog.profiles``
    """

    names: Count
    lines: ToolSummary
    members: Sequence[Count]
    tools: Tool
    index: Postings
    spellings: str
    synonyms: Annotated[Sequence[str], Rule(maxItems=100)]
    skills: NotRequired[str]
    files: NotRequired[Annotated[Mapping[Literal["text", "blob"], str], Rule(minProperties=1, maxProperties=1)]]
    profiles: NotRequired[Mapping[str, Any]]
    exposed: NotRequired[Sequence[Mapping[str, Any]]]
    definitions: NotRequired[Mapping[str, Any]]
    near: NotRequired[Postings]


def parse_entry(kind: Any, entry: Mapping[str, Any], **more: Any) -> Any:
    """Return the named tuple ``kind`` of the fields in an entry that the contract of catalogs allows."""
    fields = {key: entry[key] for key in kind._fields if key in entry}
    return kind(**{key: tuple(value) if type(value) is list else value for key, value in {**fields, **more}.items()})
