"""Typed access to a compiled catalog: sources, categories, tools, and the sections of the search index.

Opening a catalog parses its head only. Every other value is read and parsed when it is requested.

The part of a catalog that a profile exposes is a catalog as well, whose tools have the positions of the whole. Tools
that are known and may not be called are found by their names, and in no listing and no search. All others do not exist
there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.catalog.entries import (
    FORMAT,
    Auth,
    Category,
    Sections,
    Source,
    Tool,
    ToolSummary,
    listing_text,
    name_key,
    parse_entry,
)
from toolfold.catalog.reader import (
    Section,
    are_runs,
    damaged,
    hash_of,
    line_key,
    member_key,
    positions_in,
    unavailable,
)
from toolfold.messages import COMPILE

if TYPE_CHECKING:
    from toolfold.catalog.profiles import Profile
    from toolfold.catalog.reader import Block, BlockReader
    from toolfold.errors import CallError

    T = TypeVar("T")

_MAX_MEMOIZED = 2000
"""Values that :meth:`Catalog.memoize` keeps: every line of a catalog of hundreds of tools, at each detail level."""


class Catalog:
    """All tools of all sources. Immutable; names are matched without regard to case.

    ``len``, ``counts``, ``description``, ``categories``, ``sources`` and ``source`` are answered from the
    head. Every other method raises ``CatalogUnavailable`` when a block that it needs cannot be read or is damaged.

    Args:
        head: The result of ``reader.parse_head``.
        read: Reads the blocks of the sections.
        sha256: The hash in the name of the object in S3; empty for a file.
        is_packaged: Whether it belongs to this package, and its values need no checks.

    Attributes:
        listed: Positions of the tools, in ascending order; of a part of a catalog, of those that are listed.
        profile_names: The profiles of ``profiles.yaml``; ``default`` is among them only where it differs from the whole
            catalog.
        definition_tokens: Tokens of the definitions of all tools, counted by the compiler, of a part in proportion to
            its tools; 0 where it did not count them.
        has_relations: Whether some tools are related to others.
        has_semantic_postings: Whether the compiler computed which words are near the tools in meaning.

    Raises:
        ValueError: ``head`` is not the head of a compiled catalog, or has another format.
    """

    def __init__(self, head: Any, read: BlockReader, sha256: str = "", is_packaged: bool = False) -> None:
        found = head.get("format") if isinstance(head, dict) else None
        if found != FORMAT:
            raise ValueError(f"it was compiled by another version (format {found!r}, not {FORMAT}): compile it again")
        check = None
        if not is_packaged:
            from toolfold.catalog.contract import check_head, check_line  # loads a compiled library

            check_head(head)
            check = check_line
        self._head, self._read = head, read
        size = head.get("bytes")
        self._sections = {
            name: Section(name, head["sections"][name], read, size, check)
            for name in Sections.__annotations__
            if name in head["sections"]
        }
        self.listed: Sequence[int] = range(head["count"])
        self._sources: dict[str, Source] = {
            id_: parse_entry(Source, entry, id=id_, auth=entry["auth"] and Auth(**entry["auth"]))
            for id_, entry in head["sources"].items()
        }
        self.categories: tuple[Category, ...] = tuple(parse_entry(Category, entry) for entry in head["categories"])
        own = {category.name: category.tools for category in self.categories}
        self._counts: Mapping[str, Mapping[str, int]] = {**head["counts"], "category": own}
        self.profile_names: Sequence[str] = head.get("profiles", ())
        self.definition_tokens, self.has_relations = int(head.get("definition_tokens", 0)), bool(head.get("related"))
        self.has_semantic_postings = "near" in self._sections
        self.sha256 = sha256
        self._memoized: dict[Any, Any] = {}
        # Of a part of a catalog.
        self._whole: Catalog | None = None
        self._positions: Container[int] = self.listed
        self._withheld: Mapping[int, Callable[[Tool], CallError]] = {}

    def part(self, listed: Sequence[int], withheld: Mapping[int, Callable[[Tool], CallError]]) -> Catalog:
        """Return a part of this catalog, which is whole.

        Args:
            listed: Positions of the tools that are listed, in ascending order.
            withheld: Positions of the tools that are known and may not be called → makes the error of a call.
        """
        part = Catalog.__new__(Catalog)
        vars(part).update(vars(self))
        part._whole, part._withheld, part.listed, part._positions = self, withheld, tuple(listed), frozenset(listed)
        part._memoized = {}
        part.definition_tokens = self.definition_tokens * len(listed) // max(1, len(self))  # no tool is read to count
        counts = part.counts("category")
        part.categories = tuple(
            category._replace(tools=counts[category.name]) for category in self.categories if category.name in counts
        )
        return part

    def __len__(self) -> int:
        return len(self.listed)

    def __contains__(self, name: object) -> bool:
        """Return whether a tool of that name is listed."""
        return self.position(str(name)) is not None

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
        """Return the catalog's spelling of the name of a listed or known tool, or None."""
        position = self._known_position(name)
        if position is None:
            return None
        found = self.base.summary(position).name
        if name_key(found) != name_key(name):
            raise damaged("a name has the position of another tool")
        return found

    def get(self, name: str) -> Tool | None:
        """Return the listed or known tool called ``name``, or None: the same object each time."""
        return self.memoize(("tool", name_key(name)), lambda: self._parse_tool(name))

    def _parse_tool(self, name: str) -> Tool | None:
        if self._whole is not None:
            tool = self._whole.get(name) if self._known_position(name) is not None else None
            return None if tool is None else tool.among(self, self._whole)
        entry = self._sections["tools"].get(name_key(name))
        tool = None if entry is None else parse_entry(Tool, entry)
        source = None if tool is None else self._sources.get(tool.source)
        if tool is not None and source is not None and tool.freshness not in source.freshness:
            raise damaged(f"{tool.name} of tools: its freshness is not one of its source")
        return tool

    def summary(self, position: int) -> ToolSummary:
        """Return the summary of the tool at ``position``, counted from 0 in the order of the listing."""
        line = self._sections["lines"].get(line_key(position))
        if line is None:
            raise damaged(f"no line for the tool at {position}")
        return ToolSummary(*line)

    def position(self, name: str) -> int | None:
        """Return the position of the tool called ``name`` in the listing, or None."""
        found = self._known_position(name)
        return found if found in self._positions else None

    def _known_position(self, name: str) -> int | None:
        """Return the position of a tool that is listed or known here, or None."""
        found: int | None = self._sections["names"].get(name_key(name))
        if found is not None and found not in self.base.listed:
            raise damaged("a line of names")
        return found if found in self._positions or found in self._withheld else None

    def counts(self, field: str) -> Mapping[str, int]:
        """Return value → number of tools, for ``category``, ``access``, ``effect``, ``source`` or ``tags``."""
        if self._whole is None:
            return self._counts[field]

        def count() -> dict[str, int]:
            found = {value: len(self.positions(field, value)) for value in self._counts[field]}
            return {value: number for value, number in found.items() if number}

        return self.memoize(("counts of", field), count)

    def positions(self, field: str, value: str) -> Sequence[int]:
        """Return the positions of the tools that have ``value`` in one of the fields of :meth:`counts`."""
        if not (count := self._counts[field].get(value)):
            return ()
        runs = self._sections["members"].get(member_key(field, value)) or ()
        if not are_runs(runs, len(self.base)) or sum(runs[1::2]) - sum(runs[::2]) != count:
            raise damaged("a line of members")
        return [at for at in positions_in(runs) if at in self._positions]

    @property
    def description(self) -> str:
        """The descriptions of all sources, joined to one text."""
        return " ".join(source.description for source in self.sources)

    @property
    def listing(self) -> str:
        """The text of ``TOOL_LIST()``, with every tool in one line."""
        return self.memoize("listing", lambda: listing_text(self.categories, list(self._lines())))

    def common(self) -> Sequence[tuple[int, str]]:
        """Return positions and signatures of the tools that models may know by name: ``GLOBAL_QUOTE(symbol)``."""
        return [(at, one) for at, one in self._head.get("common", ()) if at in self._positions]

    @property
    def has_writes(self) -> bool:
        """Whether some tools change data."""
        counts = self.counts("effect")
        return bool(counts.get("write") or counts.get("destructive"))

    @property
    def has_approvals(self) -> bool:
        """Whether calls of some tools need approval."""
        has_some = bool(self._head.get("confirmed") or self._counts["effect"].get("destructive"))
        if self._whole is None or not has_some:
            return has_some
        return any(line.effect == "destructive" or line.confirm for line in self._lines())

    @property
    def fingerprint(self) -> str:
        """A hash of the content: that of the object in S3, else of the hashes of all blocks."""
        return self.sha256 or self.memoize("fingerprint", lambda: hash_of(self._head["sections"]))

    @property
    def base(self) -> Catalog:
        """The whole catalog, for a part of one."""
        return self if self._whole is None else self._whole

    def profile(self, name: str) -> Profile:
        """Return the profile called ``name``, one of :attr:`profile_names` or ``default``."""
        from toolfold.catalog.profiles import parse_profile

        return parse_profile(name, self._optional("profiles", name), len(self.base))

    def definition(self, position: int) -> Mapping[str, Any]:
        """Return the definition for ``tools/list`` of the tool at ``position``."""
        found: Mapping[str, Any] = self._optional("definitions", line_key(position))
        if found["name"] != self.summary(position).name:
            raise damaged("a line of definitions")
        return found

    def prefetch_definitions(self, positions: Collection[int]) -> None:
        """Read the blocks that :meth:`definition` needs for ``positions``, in parallel."""
        if positions and "definitions" in self._sections:
            keys = [line_key(at) for at in positions]
            self.prefetch(lines=keys, definitions=keys)

    def exposed(self, profile: str, mode: str) -> Sequence[Mapping[str, Any]]:
        """Return the tools that stand for several in a mode: ``[{"kind", "definition"}, …]``."""
        found: Sequence[Mapping[str, Any]] = self._optional("exposed", f"{profile}/{mode}")
        return found

    def require_callable(self, tool: Tool) -> None:
        """Check that ``tool`` may be called here.

        Raises:
            CallError: It is known here, and may not be called.
        """
        at = self._known_position(tool.name) if self._withheld else None
        if at is not None and at in self._withheld:
            raise self._withheld[at](tool)

    def _get(self, section: str, key: str) -> Any:
        return self._sections[section].get(key) if section in self._sections else None

    def _optional(self, section: str, key: str) -> Any:
        """Return a value of a section that catalogs of earlier versions do not have."""
        found = self._get(section, key)
        if found is None:
            raise unavailable("was compiled without profiles", COMPILE)
        return found

    def postings(self, term: str, section: str = "index") -> Sequence[int]:
        """Return the postings of ``term``: position, weight, position, weight, …; empty for an unknown term.

        ``section`` is ``near`` for those by meaning.
        """
        if (whole := self._whole) is not None:

            def kept() -> Sequence[int]:
                found = whole.postings(term, section)
                pairs = zip(found[::2], found[1::2], strict=True)
                return [number for pair in pairs if pair[0] in self._positions for number in pair]

            return self.memoize((section, term), kept)
        found: Sequence[int] = self._sections[section].get(term) or ()
        if len(found) % 2:
            raise damaged(f"a line of {section}")
        if section == "near":
            found = [number for pair in zip(accumulate(found[::2]), found[1::2], strict=True) for number in pair]
        return found

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        """Return the words of the catalog with that first letter and length."""
        found: str = self._sections["spellings"].get(f"{letter}{length}") or ""
        return found.split()

    def synonyms(self, word: str) -> Sequence[str] | None:
        """Return the terms that ``word`` also matches: empty for an ignored word, None for an unknown word."""
        found: Sequence[str] | None = self._sections["synonyms"].get(word)
        return found

    @property
    def semantic_share(self) -> float:
        """How much the scores by meaning count beside those by words."""
        return float(self._head.get("semantic_share", 0.0))

    @property
    def sources(self) -> Collection[Source]:
        """The sources; of a part of a catalog those that have listed tools."""
        if self._whole is None:
            return self._sources.values()
        present = {category.source for category in self.categories}
        return [source for source in self._sources.values() if source.id in present]

    def source(self, id_: str) -> Source:
        """Return the source called ``id_``.

        Raises:
            CatalogUnavailable: There is no such source.
        """
        found = self._sources.get(id_)
        if found is None:
            raise damaged("a tool has a source that is missing")
        return found

    @property
    def skill_count(self) -> int:
        """How many of the tools are skills."""
        if self._whole is None:
            found: int = self._head.get("skills", 0)
            return found
        return self.memoize("skill count", lambda: sum(1 for _ in self.skill_tools()))

    def skill_tool(self, uri: str) -> str | None:
        """Return the name of the tool of the skill whose SKILL.md has ``uri``, or None."""
        found: str | None = self._get("skills", uri)
        return found if found is None or self._whole is None or found in self else None

    def skill_tools(self) -> Iterator[tuple[str, str]]:
        """Yield the URI of each skill and the name of its tool, in the order of the URIs."""
        found = self._sections["skills"].items() if "skills" in self._sections else iter(())
        return found if self._whole is None else ((uri, name) for uri, name in found if name in self)

    def file(self, sha256: str) -> Mapping[str, str] | None:
        """Return ``{"text"}`` or ``{"blob"}``, the content that has the digest, or None."""
        found: Mapping[str, str] | None = self._get("files", sha256)
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

    def _lines(self) -> Iterator[ToolSummary]:
        if self._whole is None:
            return (ToolSummary(*line) for _, line in self._sections["lines"].items())
        self.prefetch_summaries(self.listed)
        return map(self.summary, self.listed)
