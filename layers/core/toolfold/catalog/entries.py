"""What a catalog has: sources, categories and tools, the words for them, and how the compiled layout writes them.

Annotations are evaluated here: a named tuple compiles each annotation that is a text, and the first response waits.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from toolfold.catalog.text_checks import MAX_SUMMARY, text_problem

FORMAT = 5
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

RESERVED_NAMES = (*META_TOOLS, "TOOL_CALL_WRITE", "TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT")
"""Names that no tool of a catalog may have."""

MAX_LISTED = 1000
"""Tools of the largest catalog, or part of one, whose ``TOOL_LIST()`` lists all: about 25,000 tokens."""

CONFIRM = "confirm"
"""What the line of a tool with ``confirm`` has at its end, and what model-visible texts add to it."""


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


class Source(NamedTuple):
    """An API or another service that provides tools. Fields as in ``source.yaml``, and these.

    Attributes:
        base_url: The URL that calls are sent to; empty for a kind of source that has none.
        version: The version that an imported source states of itself; may be empty.
        instructions: What an imported source says about the use of its tools; may be empty.
        fetched_at: When an imported source was read, in ISO 8601; may be empty.
        connection: What the adapter of an imported source needs beside ``base_url``.
        fit: The thresholds ``nothing`` and ``sure`` of ``catalog.fit``; empty where they cannot be found.
    """

    id: str
    title: str
    kind: str
    base_url: str
    function_key: str
    auth: Auth | None
    freshness: Mapping[str, int]
    no_data: str
    faults: tuple[Mapping[str, Any], ...]
    unknown_notice: tuple[str, ...]
    format_parameter: str = ""
    arguments: Mapping[str, Any] = {}
    description: str = ""
    version: str = ""
    instructions: str = ""
    fetched_at: str = ""
    connection: Mapping[str, Any] = {}
    fit: Mapping[str, float] = {}

    @property
    def signs_in(self) -> bool:
        """Whether its calls are made with a token of the user, who signs in there."""
        auth = self.auth
        return auth is not None and auth.oauth2 is not None and auth.oauth2.get("grant") == "authorization_code"


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
        relations: ``[to, kind]`` or ``[to, kind, via]`` for each related tool: ``needs_output_of``, ``alternative`` or
            ``then``, and what connects the two.
    """

    name: str
    source: str
    category: str
    title: str
    summary: str
    description: str
    tags: tuple[str, ...]
    access: str
    effect: Effect
    freshness: str
    formats: tuple[str, ...]
    parameters: Mapping[str, Any]
    returns: str
    example: Mapping[str, Any]
    use_instead: Mapping[str, str]
    see_also: tuple[str, ...]
    hash: str
    call: Mapping[str, Any]
    answer: Mapping[str, Any]
    hints: Mapping[str, Any] = MappingProxyType({})
    confirm: str = ""
    relations: tuple[Sequence[str], ...] = ()

    @property
    def needs_approval(self) -> bool:
        """Whether each call needs approval: see ``execution.approval``."""
        return self.effect == "destructive" or bool(self.confirm)

    @property
    def only_reads(self) -> bool:
        """Whether it may be called again, or several times, without asking anyone."""
        return self.effect == "read" and not self.confirm


class ToolSummary(NamedTuple):
    """The part of a tool that a listing shows."""

    name: str
    summary: str
    category: str
    access: str
    effect: Effect = "read"
    confirm: str = ""
    """:data:`CONFIRM` for a tool with ``confirm``."""


class Category(NamedTuple):
    """A group of tools of one source.

    ``name`` is unique in the catalog: it is ``source/name`` where several sources have a category of that name.
    """

    name: str
    source: str
    title: str
    description: str
    tools: int


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

    This format needs the fewest tokens of those measured (``docs/explanation/decisions/answers.md``).
    """
    by_category: dict[str, list[str]] = {}
    for line in lines:
        suffix = summary_suffix(line.access, line.effect, line.confirm)
        by_category.setdefault(line.category, []).append(f"{line.name}: {line.summary}{suffix}")
    parts = [f"{len(lines)} tools. {DESCRIBE_STEP}"]
    for category in categories:
        parts += [f"# {category.name}: {category.title}", *by_category.get(category.name, ())]
    return "\n".join(parts)


def name_key(name: str) -> str:
    """Return the key of a tool in the sections: in upper case, with ``_`` for ``-`` and ``.``, without outer spaces."""
    return name.strip().upper().replace("-", "_").replace(".", "_")


SECTIONS = {"tools", "names", "lines", "members", "index", "spellings", "synonyms"}
"""Required sections.

- ``tools``: name → fields of :class:`Tool`
- ``names``: name → position
- ``lines``: position → ``[name, summary, category, access]``, the effect where it is not ``read``, and
  :data:`CONFIRM`, after the effect, for a tool with ``confirm``
- ``members``: field and value → positions, as runs
- ``index``: term → postings
- ``spellings``: first letter and length → words
- ``synonyms``: word → terms

Optional is ``semantic``: word → postings of the tools near it in meaning, which ``reader.decode_postings`` reads.

Sections of a catalog with skills (``catalog.skills``):

- ``skills``: URI of a SKILL.md → name of its tool
- ``files``: SHA-256 → ``{"text"}``, or ``{"blob"}`` in Base64

Optional are ``profiles``, ``definitions`` and ``exposed`` as well: see ``catalog.profiles``.
"""

_ACCESS = ("free", "premium", "mixed")
_MAX_LABEL, _MAX_NAME = 200, 64
_TOOL_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LISTS = frozenset({"tags", "formats", "see_also", "relations"})

_MAX_SYNONYMS = 100
"""Terms of one word: several times what any vocabulary has. Each takes a look-up."""


def is_summary(value: Any) -> bool:
    """Return whether ``value`` is the line of a tool: the fields of :class:`ToolSummary`."""
    # The effect is left out of the line of a tool that only reads.
    if not (is_texts(value) and 4 <= len(value) <= 6):
        return False
    if not (value[4:5] == [] or value[4] in EFFECTS) or value[5:] not in ([], [CONFIRM]):
        return False
    name, summary, category, access = value[:4]
    return (
        0 < len(name) <= _MAX_NAME
        and _TOOL_NAME.issuperset(name)
        and access in _ACCESS
        and len(summary) <= MAX_SUMMARY
        and len(category) <= _MAX_LABEL
        and not (text_problem(summary) or text_problem(category))
    )


def is_text(value: Any) -> bool:
    """Return whether ``value`` is a text."""
    return isinstance(value, str)


def is_content(value: Any) -> bool:
    """Return whether ``value`` is the content of a file: ``{"text"}`` or ``{"blob"}``."""
    return isinstance(value, dict) and len(value) == 1 and any(is_text(value.get(key)) for key in ("text", "blob"))


def is_texts(value: Any) -> bool:
    """Return whether ``value`` is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def is_synonyms(value: Any) -> bool:
    """Return whether ``value`` has the terms of a word."""
    return is_texts(value) and len(value) <= _MAX_SYNONYMS


def parse_tool(entry: Mapping[str, Any]) -> Tool:
    """Return the tool of an entry that the contract of catalogs allows."""
    fields: dict[str, Any] = {
        key: tuple(value) if key in _LISTS else value for key, value in entry.items() if key in Tool._fields
    }
    return Tool(**fields)


def parse_source(id_: str, entry: Mapping[str, Any]) -> Source:
    """Return the source of an entry of the head."""
    fields = {key: value for key, value in entry.items() if key in Source._fields}
    fields["faults"], fields["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
    fields["auth"] = None if entry["auth"] is None else Auth(**entry["auth"])
    return Source(id=id_, **fields)
