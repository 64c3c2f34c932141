"""The compiled catalog as the request path sees it: plain data, opened once, nothing built before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from toolfold.catalog.reader import Members, damaged, line_key, numbers, sections_of

if TYPE_CHECKING:
    from toolfold.catalog.reader import Block, BlockReader

    T = TypeVar("T")

FORMAT = 3
"""Version of the compiled layout. A reader refuses any other."""


Effect = Literal["read", "write", "destructive"]
"""What a call of a tool changes at its source: nothing, something, or something that cannot be restored."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)

EFFECT_WORDS: Mapping[str, str] = {"write": "writes", "destructive": "destructive"}
"""Effect → the word that model-visible texts add to a tool. ``read`` is the usual effect and is not mentioned."""


@dataclass(frozen=True)
class Auth:
    """The API key of a source. Fields as in ``build.schema.Auth``."""

    environment: str
    query_key: str | None = None
    caller_key: bool = False
    signup_url: str | None = None


@dataclass(frozen=True)
class Source:
    """What tools belong to: an API or another service. Fields as in ``build.schema.Source``."""

    id: str
    title: str
    adapter: str
    base_url: str
    function_key: str
    auth: Auth | None
    freshness: Mapping[str, int]
    no_data: str
    faults: tuple[Mapping[str, Any], ...]
    unknown_notice: tuple[str, ...]


@dataclass(frozen=True)
class Tool:
    """One callable entry.

    Attributes:
        parameters: a JSON Schema (2020-12).
        effect: what a call changes at the source.
        example: arguments of a call that works.
        use_instead: a request that is close → the tool that serves it.
        hash: changes whenever the entry does.
        call: what the source adapter needs: ``function``, ``query`` (parameter → query key where it differs),
            ``lists`` (parameter → separator, most items, allowed items), ``sends`` (defaults that are always sent).
        answer: where rows are in an answer: ``csv``, ``rows``, ``kind``.
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


@dataclass(frozen=True)
class ToolSummary:
    """The part of a tool that a listing shows."""

    name: str
    summary: str
    category: str
    access: str
    effect: Effect = "read"


@dataclass(frozen=True)
class Category:
    """A group of tools of one source, as listed.

    ``name`` is unique in the catalog: where several sources have a category of that name it is ``source/name``.
    """

    name: str
    source: str
    title: str
    description: str
    tools: int


_HEAD = {"count": int, "sources": dict, "categories": list, "counts": dict, "listing": str, "sections": dict}
"""What the head holds: key → type."""

_SECTIONS = {"tools", "names", "lines", "members", "index", "spellings", "synonyms"}
"""What must be there: name → Tool's fields, name → position, position → [name, summary, category, access]
(and the effect where it is not read),
field:value → positions, term → postings, letter and length → words."""

_TOOL = {
    field: list if kind.startswith("tuple") else dict if kind.startswith("Mapping") else str
    for field, kind in Tool.__annotations__.items()
}
"""Fields of a tool's entry → their types in JSON."""


_MOST_KEPT = 2000


class OtherFormat(ValueError):
    """A catalog that another version of the compiler wrote."""

    def __init__(self, found: Any) -> None:
        super().__init__(f"it was compiled by another version (format {found!r}, not {FORMAT}): compile it again")


class Catalog:
    """All tools of all sources. Immutable; names are matched without regard to case.

    ``head`` is what ``sections.parse_head`` gives, ``read`` gives the blocks of the sections, ``sha256`` is the hash
    that names the catalog in S3, empty for a file. Every method but those that the head answers (``len``, ``counts``,
    ``about``, ``listing``, ``categories``, ``source``) raises ``CatalogUnavailable`` when what it needs cannot be had
    or is damaged.

    Raises:
        ValueError: the head is not that of a compiled catalog of this format.
    """

    __slots__ = ("_counts", "_head", "_kept", "_read", "_sections", "_sources", "categories", "sha256")

    def __init__(self, head: Any, read: BlockReader, sha256: str = "") -> None:
        found = head.get("format") if isinstance(head, dict) else None
        if found != FORMAT:
            raise OtherFormat(found)
        if wrong := [key for key, type_ in _HEAD.items() if not isinstance(head.get(key), type_)]:
            raise ValueError(f"its head is damaged: {', '.join(sorted(wrong))}")
        self._head = head
        self._read = read
        try:
            self._sections = sections_of(head["sections"], read)
            self._sources = {id_: _source(id_, entry) for id_, entry in head["sources"].items()}
            self.categories = tuple(_category(category) for category in head["categories"])
            self._counts: dict[str, dict[str, int]] = {
                "tags": dict(head["counts"]["tags"]),
                "access": dict(head["counts"]["access"]),
                "effect": dict(head["counts"]["effect"]),
                "category": {category.name: category.tools for category in self.categories},
            }
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"its head is damaged: {type(error).__name__}") from None
        if missing := _SECTIONS - self._sections.keys():
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        self.sha256 = sha256
        self._kept: dict[Any, Any] = {}

    def __len__(self) -> int:
        return int(self._head["count"])

    def __iter__(self) -> Iterator[str]:
        """Yield names, in listing order."""
        return (line.name for line in self._lines())

    def memoize(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` returns, from memory after the first call with ``key``.

        For values that follow from the catalog alone. They are kept with it, up to two thousand.
        """
        found = self._kept.get(key)
        if found is None:
            found = make()
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        made: T = found
        return made

    def prefetch(self, **keys: Iterable[str]) -> None:
        """Fetch side by side what will be asked for: section → keys. Only a saving of time, and only for a catalog
        that is not in memory."""
        if not self._read.is_remote:
            return
        blocks: set[Block] = set()
        for section, wanted in keys.items():
            blocks |= self._sections[section].blocks_of(wanted)
        self._read(sorted(blocks))

    def prefetch_summaries(self, positions: Iterable[int]) -> None:
        """Do as :meth:`expect`, for :meth:`brief`."""
        self.prefetch(lines=map(line_key, positions))

    def canonical_name(self, name: str) -> str | None:
        """Return the catalog's spelling of ``name``, or None."""
        position = self.position(name)
        return None if position is None else self.summary(position).name

    def get(self, name: str) -> Tool | None:
        """Return the tool called ``name``, or None."""
        entry = self._sections["tools"].get(name_key(name), _is_tool)
        if entry is None:
            return None
        fields: dict[str, Any] = {key: tuple(entry[key]) if _TOOL[key] is list else entry[key] for key in _TOOL}
        return Tool(**fields)

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Yield ``(name, summary, category)`` of every tool, in listing order."""
        return ((line.name, line.summary, line.category) for line in self._lines())

    def summary(self, position: int) -> ToolSummary:
        """Return the line of the tool at ``position``, counted from 0 in listing order."""
        line = self._sections["lines"].get(line_key(position), _is_line)
        if line is None:
            raise damaged(f"no line for the tool at {position}")
        return ToolSummary(*line)

    def position(self, name: str) -> int | None:
        """Return where the tool called ``name`` stands in the listing, or None."""
        found: int | None = self._sections["names"].get(name_key(name), _is_position)
        return found

    def tags(self) -> Mapping[str, Sequence[int]]:
        """Return tag → positions of the tools that carry it. A tag's positions are read when they are asked for."""
        return self.positions_of("tags")

    def positions_of(self, field: str) -> Mapping[str, Sequence[int]]:
        """Return value → positions of the tools with it, for ``category``, ``access``, ``effect`` or ``tags``.

        A value's positions are read when they are iterated over.
        """
        return Members(field, self._counts[field], self._sections["members"])

    def counts(self, field: str) -> Mapping[str, int]:
        """Return value → how many tools have it, for ``category``, ``access``, ``effect`` or ``tags``."""
        return self._counts[field]

    @property
    def description(self) -> str:
        """Return what the catalog holds, in a sentence or two: the descriptions of its sources."""
        return " ".join(str(source["description"]) for source in self._head["sources"].values())

    @property
    def listing(self) -> str:
        """Return the text of ``TOOL_LIST()``, made when the catalog was compiled; empty for a large catalog."""
        return str(self._head["listing"])

    def postings(self, term: str) -> Sequence[int]:
        """Return the postings of ``term``: position, weight, position, weight, …; empty for an unknown term."""
        found: Sequence[int] = self._sections["index"].get(term, numbers) or ()
        return found

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        """Return the words of the catalog with that first letter and length."""
        shelf: str = self._sections["spellings"].get(f"{letter}{length}", _is_text) or ""
        return shelf.split()

    def synonyms(self, word: str) -> Sequence[str] | None:
        """Return the terms that ``word`` also stands for: none for a word without meaning, None for an unknown one."""
        found: Sequence[str] | None = self._sections["synonyms"].get(word, _is_texts)
        return found

    @property
    def sources(self) -> Collection[Source]:
        """All sources."""
        return self._sources.values()

    def source(self, id_: str) -> Source:
        """Return the source called ``id_``.

        Raises:
            KeyError: no such source.
        """
        return self._sources[id_]

    def verify(self) -> None:
        """Read every value once, to check a catalog before it is published."""
        held = {name: sum(1 for _ in section.items()) for name, section in self._sections.items()}
        if not held["tools"] == held["names"] == held["lines"] == len(self):
            raise damaged(f"not every section holds {len(self)} tools")

    def _lines(self) -> Iterator[ToolSummary]:
        for _, line in self._sections["lines"].items():
            if not _is_line(line):
                raise damaged("a line of the listing")
            yield ToolSummary(*line)


def summary_suffix(access: str, effect: str) -> str:
    """Return what the line of a tool says after its summary: nothing, or for example `` (premium, writes)``."""
    remarks = [access] if access == "premium" else []
    if effect in EFFECT_WORDS:
        remarks.append(EFFECT_WORDS[effect])
    return f" ({', '.join(remarks)})" if remarks else ""


def name_key(name: str) -> str:
    """Return the key under which a tool's name is looked up: two names that differ by case alone have the same."""
    return name.strip().upper()


def _is_tool(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(key), type_) for key, type_ in _TOOL.items())
        and value["effect"] in EFFECTS
    )


def _is_line(value: Any) -> bool:
    # The effect is left out of the line of a tool that only reads.
    return _is_texts(value) and (len(value) == 4 or (len(value) == 5 and value[4] in EFFECTS))


def _is_position(value: Any) -> bool:
    return isinstance(value, int)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _source(id_: str, entry: Mapping[str, Any]) -> Source:
    fields = {key: value for key, value in entry.items() if key in Source.__annotations__}
    fields["faults"], fields["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
    texts = (entry["title"], entry["description"], entry["adapter"], entry["base_url"], entry["no_data"])
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    fields["auth"] = None if entry["auth"] is None else Auth(**entry["auth"])
    return Source(id=id_, **fields)


def _category(entry: Mapping[str, Any]) -> Category:
    match entry:
        case {"name": str(), "source": str(), "title": str(), "description": str(), "tools": int()}:
            return Category(**entry)
    raise TypeError
