"""Typed access to a compiled catalog: sources, categories, tools, and the sections of the search index.

Opening a catalog parses its head only. Every other value is read and parsed when it is requested.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

from toolfold.catalog.head_checks import check_head, is_line
from toolfold.catalog.reader import Members, damaged, hash_of, is_integer_pairs, line_key, sections_of, unavailable
from toolfold.errors import CatalogUnavailable

if TYPE_CHECKING:
    from toolfold.catalog.profiles import Profile
    from toolfold.catalog.reader import Block, BlockReader

    T = TypeVar("T")

logger = logging.getLogger("toolfold")

FORMAT = 4
"""Version of the compiled layout. A reader refuses any other."""


Effect = Literal["read", "write", "destructive"]
"""What a call changes at the source: nothing, data that can be restored, or data that cannot."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)

EFFECT_WORDS: Mapping[str, str] = {"write": "writes", "destructive": "destructive"}
"""Effect → the word that model-visible texts add to a tool. ``read`` is the usual effect and is not mentioned."""


META_TOOLS = ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")
"""Names of the meta-tools that ``/mcp`` lists, in that order."""

COMBINING_TOOLS = ("TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT")
"""Names of the meta-tools that combine several calls in one."""

RESERVED_NAMES = (*META_TOOLS, "TOOL_CALL_WRITE", "TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT")
"""Names that no tool of a catalog may have."""


CONFIRM = "confirm"
"""What the line of a tool with ``confirm`` has at its end, and what model-visible texts add to it."""


class Auth(NamedTuple):
    """The credentials of a source. Fields as in ``build.schema.Auth``; ``oauth2`` as in ``build.schema.OAuth2``."""

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
    """An API or another service that provides tools. Fields as in ``build.schema.Source``, and these.

    Attributes:
        base_url: The URL that calls are sent to; empty for a kind of source that has none.
        version: The version that an imported source states of itself; may be empty.
        instructions: What an imported source says about the use of its tools; may be empty.
        fetched_at: When an imported source was read, in ISO 8601; may be empty.
        connection: What the adapter of an imported source needs beside ``base_url``.
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


class Tool(NamedTuple):
    """One tool that ``TOOL_CALL`` can call.

    Attributes:
        parameters: A JSON Schema (2020-12).
        effect: What a call changes at the source.
        example: Arguments of a valid call.
        use_instead: Similar request → the tool that serves it.
        hash: Hash of the entry, by which a client detects a change.
        call: Input of the source adapter: ``function``, ``query`` (parameter → query key where it differs),
            ``lists`` (parameter → separator, maximum number of items, allowed items), ``sends`` (defaults that are
            always sent), ``arguments`` (what the tool says instead of the source's); for an imported tool ``function``,
            its own name, and what the importer of its kind adds.
        answer: Location of the rows in a response: ``csv``, ``rows``, ``kind``.
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


_HEAD = {"count": int, "sources": dict, "categories": list, "counts": dict, "listing": str, "sections": dict}
"""Required keys of the head → their types."""

_SECTIONS = {"tools", "names", "lines", "members", "index", "spellings", "synonyms"}
"""Required sections.

- ``tools``: name → fields of :class:`Tool`
- ``names``: name → position
- ``lines``: position → ``[name, summary, category, access]``, the effect where it is not ``read``, and
  :data:`CONFIRM`, after the effect, for a tool with ``confirm``
- ``members``: field and value → positions, as runs
- ``index``: term → postings
- ``spellings``: first letter and length → words
- ``synonyms``: word → terms

Optional is ``semantic``: word → postings of the tools near it in meaning, which ``catalog.semantic`` decodes.

Sections of a catalog with skills (``catalog.skills``):

- ``skills``: URI of a SKILL.md → name of its tool
- ``files``: SHA-256 → ``{"text"}``, or ``{"blob"}`` in Base64

Optional are ``profiles``, ``definitions`` and ``exposed`` as well: see ``catalog.profiles``.
"""

_LISTS = frozenset({"tags", "formats", "see_also"})
_OBJECTS = frozenset({"parameters", "example", "use_instead", "call", "answer"})
_OPTIONAL = frozenset({"hints", "confirm", "relations"})
_TOOL = {
    field: list if field in _LISTS else dict if field in _OBJECTS else str
    for field in Tool._fields
    if field not in _OPTIONAL
}
"""Required fields of the entry of a tool → their JSON types."""

_MAX_SYNONYMS = 100
"""Terms of one word: several times what any vocabulary has. Each takes a look-up."""

_MAX_MEMOIZED = 2000
"""Values that :meth:`Catalog.memoize` keeps: every line of a catalog of hundreds of tools, at each detail level."""


class OtherFormat(ValueError):
    """The catalog was compiled for another version of the layout."""

    def __init__(self, found: Any) -> None:
        super().__init__(f"it was compiled by another version (format {found!r}, not {FORMAT}): compile it again")


class UnknownSource(CatalogUnavailable, KeyError):
    """The catalog has no source of that id."""


class Catalog:
    """All tools of all sources. Immutable; names are matched without regard to case.

    ``len``, ``counts``, ``description``, ``listing``, ``categories``, ``sources`` and ``source`` are answered from the
    head. Every other method raises ``CatalogUnavailable`` when a block that it needs cannot be read or is damaged.

    Args:
        head: The result of ``reader.parse_head``.
        read: Reads the blocks of the sections.
        sha256: The hash in the name of the object in S3; empty for a file.

    Raises:
        OtherFormat: The catalog has another format.
        ValueError: ``head`` is not the head of a compiled catalog.
    """

    __slots__ = ("_counts", "_head", "_memoized", "_read", "_sections", "_sources", "categories", "sha256")

    def __init__(self, head: Any, read: BlockReader, sha256: str = "") -> None:
        found = head.get("format") if isinstance(head, dict) else None
        if found != FORMAT:
            raise OtherFormat(found)
        if wrong := [key for key, type_ in _HEAD.items() if not isinstance(head.get(key), type_)]:
            raise ValueError(f"its head is damaged: {', '.join(sorted(wrong))}")
        self._head = head
        self._read = read
        try:
            check_head(head)
            self._sections = sections_of(head["sections"], read, head.get("bytes"))
            self._sources = {id_: _source(id_, entry) for id_, entry in head["sources"].items()}
            self.categories = tuple(_category(category) for category in head["categories"])
            self._counts: dict[str, dict[str, int]] = {
                "tags": dict(head["counts"]["tags"]),
                "access": dict(head["counts"]["access"]),
                "effect": dict(head["counts"]["effect"]),
                "source": dict(head["counts"]["source"]),
                "category": {category.name: category.tools for category in self.categories},
            }
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"its head is damaged: {type(error).__name__}") from None
        if missing := _SECTIONS - self._sections.keys():
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        self.sha256 = sha256
        self._memoized: dict[Any, Any] = {}

    def __len__(self) -> int:
        return int(self._head["count"])

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all tools, in the order of the listing."""
        return (line.name for line in self._lines())

    def memoize(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, cached under ``key`` as long as the catalog is loaded.

        Use it for values that depend on the catalog alone. The cache is emptied when it has two thousand values.
        """
        found = self._memoized.get(key)
        if found is None:
            found = make()
            if len(self._memoized) >= _MAX_MEMOIZED:
                self._memoized.clear()
            self._memoized[key] = found
        made: T = found
        return made

    def prefetch(self, **keys: Iterable[str]) -> None:
        """Read the blocks that contain ``keys`` (section → keys) in parallel.

        This saves time for a catalog that is not in memory. For one in memory it does nothing.
        """
        if not self._read.is_remote:
            return
        blocks: set[Block] = set()
        for section, section_keys in keys.items():
            blocks |= self._sections[section].blocks_of(section_keys)
        self._read(sorted(blocks))

    def prefetch_summaries(self, positions: Iterable[int]) -> None:
        """Read the blocks that :meth:`summary` needs for ``positions``, in parallel."""
        self.prefetch(lines=map(line_key, positions))

    def canonical_name(self, name: str) -> str | None:
        """Return the catalog's spelling of ``name``, or None."""
        position = self.position(name)
        if position is None:
            return None
        found = self.summary(position).name
        if name_key(found) != name_key(name):
            raise damaged("a name has the position of another tool")
        return found

    def get(self, name: str) -> Tool | None:
        """Return the tool called ``name``, or None."""
        entry = self._sections["tools"].get(name_key(name), self._is_tool)
        if entry is None:
            return None
        fields: dict[str, Any] = {key: tuple(entry[key]) if _TOOL[key] is list else entry[key] for key in _TOOL}
        relations = tuple(entry.get("relations", ()))
        return Tool(**fields, hints=entry.get("hints", {}), confirm=entry.get("confirm", ""), relations=relations)

    def called_tool(self, name: str) -> Tool | None:
        """Return the tool called ``name``, or None: the same object for each call of it."""
        return self.memoize(("tool", name_key(name)), lambda: self.get(name))

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Yield ``(name, summary, category)`` of every tool, in the order of the listing."""
        return ((line.name, line.summary, line.category) for line in self._lines())

    def summary(self, position: int) -> ToolSummary:
        """Return the summary of the tool at ``position``, counted from 0 in the order of the listing."""
        line = self._sections["lines"].get(line_key(position), self._is_line)
        if line is None:
            raise damaged(f"no line for the tool at {position}")
        return ToolSummary(*line)

    def position(self, name: str) -> int | None:
        """Return the position of the tool called ``name`` in the listing, or None."""
        found: int | None = self._sections["names"].get(name_key(name), self._is_position)
        return found

    def tags(self) -> Mapping[str, Sequence[int]]:
        """Return tag → positions of the tools that have it. The positions are read when they are iterated over."""
        return self.positions_of("tags")

    def positions_of(self, field: str) -> Mapping[str, Sequence[int]]:
        """Return value of ``field`` → positions of the tools that have it.

        The positions are read when they are iterated over.

        Args:
            field: ``category``, ``access``, ``effect``, ``source`` or ``tags``.
        """
        return Members(field, self._counts[field], self._sections["members"], len(self))

    def counts(self, field: str) -> Mapping[str, int]:
        """Return value → number of tools, for one of the fields of :meth:`positions_of`."""
        return self._counts[field]

    @property
    def description(self) -> str:
        """The descriptions of all sources, joined to one text."""
        return " ".join(str(source["description"]) for source in self._head["sources"].values())

    @property
    def listing(self) -> str:
        """The text of ``TOOL_LIST()``, rendered by the compiler; empty for a large catalog."""
        return str(self._head["listing"])

    @property
    def definition_tokens(self) -> int:
        """Tokens of the definitions of all tools, counted by the compiler; 0 where it did not count them."""
        return int(self._head.get("definition_tokens", 0))

    @property
    def has_approvals(self) -> bool:
        """Whether calls of some tools need approval."""
        return bool(self._head.get("confirmed") or self._counts["effect"].get("destructive"))

    @property
    def has_relations(self) -> bool:
        """Whether some tools are related to others."""
        return bool(self._head.get("related"))

    @property
    def profile_names(self) -> Sequence[str]:
        """The profiles of ``profiles.yaml``; ``default`` is among them only where it differs from the whole catalog."""
        names: Sequence[str] = self._head.get("profiles", ())
        return names

    @property
    def fingerprint(self) -> str:
        """A hash of the content: that of the object in S3, else of the hashes of all blocks."""
        return self.sha256 or self.memoize("fingerprint", lambda: hash_of(self._head["sections"]))

    @property
    def base(self) -> Catalog:
        """The whole catalog, for a part of one (``catalog.view``)."""
        return self

    @property
    def base_positions(self) -> Sequence[int]:
        """Positions of the listed tools in the whole catalog."""
        return range(len(self))

    def profile(self, name: str) -> Profile:
        """Return the profile called ``name``, one of :attr:`profile_names` or ``default``."""
        from toolfold.catalog.profiles import is_profile, parse_profile

        entry = self._optional("profiles", name, lambda value: is_profile(value, len(self)))
        return parse_profile(name, entry)

    def definition(self, position: int) -> Mapping[str, Any]:
        """Return the definition for ``tools/list`` of the tool at ``position``."""
        from toolfold.catalog.profiles import is_definition

        name = self.summary(position).name
        found: Mapping[str, Any] = self._optional(
            "definitions", line_key(position), lambda value: is_definition(value) and value["name"] == name
        )
        return found

    def prefetch_definitions(self, positions: Collection[int]) -> None:
        """Read the blocks that :meth:`definition` needs for ``positions``, in parallel."""
        if positions and "definitions" in self._sections:
            keys = [line_key(at) for at in positions]
            self.prefetch(lines=keys, definitions=keys)

    def exposed(self, profile: str, mode: str) -> Sequence[Mapping[str, Any]]:
        """Return the tools that stand for several in a mode: ``[{"kind", "definition"}, …]``."""
        from toolfold.catalog.profiles import is_exposed

        found: Sequence[Mapping[str, Any]] = self._optional("exposed", f"{profile}/{mode}", is_exposed)
        return found

    def require_callable(self, tool: Tool) -> None:
        """Check that ``tool`` may be called; only a view has tools that may not (``catalog.view``)."""

    def _optional(self, section: str, key: str, is_valid: Callable[[Any], bool]) -> Any:
        """Return a value of a section that catalogs of earlier versions do not have.

        Raises:
            CatalogUnavailable: There is no such section, or no such value.
        """
        found = self._sections[section].get(key, is_valid) if section in self._sections else None
        if found is None:
            raise unavailable("was compiled without profiles", "Tell the operator, who can compile it again.")
        return found

    def postings(self, term: str) -> Sequence[int]:
        """Return the postings of ``term``: position, weight, position, weight, …; empty for an unknown term."""
        found: Sequence[int] = self._sections["index"].get(term, is_integer_pairs) or ()
        return found

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        """Return the words of the catalog with that first letter and length."""
        found: str = self._sections["spellings"].get(f"{letter}{length}", _is_text) or ""
        return found.split()

    def synonyms(self, word: str) -> Sequence[str] | None:
        """Return the terms that ``word`` also matches: empty for an ignored word, None for an unknown word."""
        found: Sequence[str] | None = self._sections["synonyms"].get(word, _is_synonyms)
        return found

    @property
    def has_semantic_postings(self) -> bool:
        """Whether the compiler computed which words are near the tools in meaning."""
        return "semantic" in self._sections

    def semantic_postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the tools near ``term`` in meaning, and their weights; empty for an unknown term."""
        from toolfold.catalog import semantic  # few catalogs have the section

        text: str | None = self._sections["semantic"].get(term, _is_text)
        if text is None:
            return (), ()
        try:
            positions, weights = semantic.decode(text)
        except ValueError:
            raise damaged("a line of semantic") from None
        if positions and positions[-1] >= len(self):
            raise damaged("a line of semantic")
        return positions, weights

    @property
    def sources(self) -> Collection[Source]:
        """All sources."""
        return self._sources.values()

    def source(self, id_: str) -> Source:
        """Return the source called ``id_``.

        Raises:
            UnknownSource: There is no such source.
        """
        found = self._sources.get(id_)
        if found is None:
            logger.error("catalog is damaged: a tool has a source that is missing")
            raise UnknownSource("The tool catalog lacks a source.", "Tell the operator, whose log says more.")
        return found

    @property
    def skill_count(self) -> int:
        """How many of the tools are skills."""
        return int(self._head.get("skills", 0))

    def skill_tool(self, uri: str) -> str | None:
        """Return the name of the tool of the skill whose SKILL.md has ``uri``, or None."""
        section = self._sections.get("skills")
        found: str | None = None if section is None else section.get(uri, _is_text)
        return found

    def skill_tools(self) -> Iterator[tuple[str, str]]:
        """Yield the URI of each skill and the name of its tool, in the order of the URIs."""
        for uri, name in self._sections["skills"].items() if "skills" in self._sections else ():
            if not _is_text(name):
                raise damaged("a line of skills")
            yield uri, name

    def file(self, sha256: str) -> Mapping[str, str] | None:
        """Return ``{"text"}`` or ``{"blob"}``, the content that has the digest, or None."""
        section = self._sections.get("files")
        found: Mapping[str, str] | None = None if section is None else section.get(sha256, _is_content)
        return found

    def verify(self) -> None:
        """Read every value, to check a catalog before it is published.

        Raises:
            CatalogUnavailable: A block is damaged, or a section does not have all tools.
        """
        sizes = {name: sum(1 for _ in section.items()) for name, section in self._sections.items()}
        if not sizes["tools"] == sizes["names"] == sizes["lines"] == len(self):
            raise damaged(f"not every section has {len(self)} tools")
        if sizes.get("skills", 0) != self.skill_count:
            raise damaged(f"there are not {self.skill_count} skills")

    def _is_tool(self, value: Any) -> bool:
        if not (
            isinstance(value, dict)
            and all(isinstance(value.get(key), type_) for key, type_ in _TOOL.items())
            and value["effect"] in EFFECTS
        ):
            return False
        from toolfold.catalog.tool_checks import check_tool  # for the first tool that is described or called

        try:
            source = self._sources.get(value["source"])
            check_tool(value, None if source is None else source.freshness)
        except (ValueError, RecursionError) as error:
            logger.error("tool %s of the catalog is damaged: it %s", ascii(value["name"][:64]), error)
            return False
        return True

    def _is_line(self, value: Any) -> bool:
        # The effect is left out of the line of a tool that only reads.
        if not (_is_texts(value) and 4 <= len(value) <= 6):
            return False
        if not (value[4:5] == [] or value[4] in EFFECTS) or value[5:] not in ([], [CONFIRM]):
            return False
        name, summary, category, access = value[:4]
        return is_line(name, summary, category, access)

    def _is_position(self, value: Any) -> bool:
        return type(value) is int and 0 <= value < len(self)

    def _lines(self) -> Iterator[ToolSummary]:
        for _, line in self._sections["lines"].items():
            if not self._is_line(line):
                raise damaged("a line of the listing")
            yield ToolSummary(*line)


def summary_suffix(access: str, effect: str, confirm: str = "") -> str:
    """Return the text after the summary in the line of a tool: empty, or for example `` (premium, writes)``."""
    remarks = [access] if access == "premium" else []
    if effect in EFFECT_WORDS:
        remarks.append(EFFECT_WORDS[effect])
    if confirm:
        remarks.append(CONFIRM)
    return f" ({', '.join(remarks)})" if remarks else ""


def name_key(name: str) -> str:
    """Return the key of a tool in the sections: in upper case, with ``_`` for ``-`` and ``.``, without outer spaces."""
    return name.strip().upper().replace("-", "_").replace(".", "_")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_content(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) == 1
        and all(isinstance(value.get(key), str) for key in value)
        and (value.keys() <= {"text", "blob"})
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_synonyms(value: Any) -> bool:
    return _is_texts(value) and len(value) <= _MAX_SYNONYMS


def _source(id_: str, entry: Mapping[str, Any]) -> Source:
    fields = {key: value for key, value in entry.items() if key in Source._fields}
    fields["faults"], fields["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
    fields["auth"] = None if entry["auth"] is None else Auth(**entry["auth"])
    return Source(id=id_, **fields)


def _category(entry: Mapping[str, Any]) -> Category:
    match entry:
        case {"name": str(), "source": str(), "title": str(), "description": str(), "tools": int()}:
            return Category(**entry)
    raise TypeError
