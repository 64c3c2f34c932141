"""The filters of a TOOL_LIST: the categories, tags and access it names, matched against the catalog's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, normalize
from toolfold.meta_tools.arguments import MIN_SIMILARITY, correction, invalid, parse_choice, parse_strings, quote

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

ACCESS = ("free", "mixed", "premium")

_ACCESS_SYNONYMS = {"paid": "premium", "any": "", "all": ""}
"""Other words for an access; empty: no condition."""

_MAX_SUGGESTED = 10
"""Names suggested for an unknown one that resembles none: the most frequent."""


@dataclass(frozen=True)
class Filters:
    """Conditions on a tool. An empty tuple adds no condition; names are spelled as in the catalog.

    Attributes:
        categories: the tool is in one of these.
        tags: the tool has one of these, or with ``every_tag`` all of them.
        every_tag: see ``tags``.
        access: the tool's access is one of these.
        sources: the tool is of one of these.
    """

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    every_tag: bool = False
    access: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.categories or self.tags or self.access or self.sources)

    def positions(self, catalog: Catalog) -> frozenset[int] | None:
        """Return the positions of the tools that meet every condition, or None when there is no condition."""
        matching = []
        if self.categories:
            matching.append(_union(catalog.positions_of("category"), self.categories))
        if self.sources:
            matching.append(_union(catalog.positions_of("source"), self.sources))
        if self.access:
            matching.append(_union(catalog.positions_of("access"), self.access))
        if self.tags:
            tags = catalog.tags()
            matching += [_union(tags, [tag]) for tag in self.tags] if self.every_tag else [_union(tags, self.tags)]
        return frozenset.intersection(*matching) if matching else None


def _union(positions: Mapping[str, Sequence[int]], values: Sequence[str]) -> frozenset[int]:
    return frozenset(position for value in values for position in positions.get(value, ()))


def parse_filters(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> Filters:
    """Parse ``category``, ``tag``, ``tag_mode``, ``access`` and ``source``.

    Raises:
        InvalidArguments: one of them has the wrong type, or a name that the catalog does not have.
    """
    access = [
        parse_choice(tool, {**arguments, "access": _ACCESS_SYNONYMS.get(normalize(name), name)}, "access", ACCESS)
        for name in parse_strings(tool, arguments, "access")
    ]
    # A tool that is free in part works with a free key.
    access += ["mixed"] if "free" in access else []
    return Filters(
        _categories(tool, catalog, arguments),
        _tags(tool, catalog, arguments),
        parse_choice(tool, arguments, "tag_mode", ("any", "all")) == "all",
        tuple(dict.fromkeys(value for value in access if value)),
        _sources(tool, catalog, arguments),
    )


def _categories(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the categories given by name or title. A title may hold a comma: text is first compared as a whole."""
    given = arguments.get("category")
    if given is None:
        return ()
    spellings = _category_spellings(catalog)
    if isinstance(given, str) and (names := spellings.get(normalize(given))):
        return tuple(names)
    categories: list[str] = []
    for text in parse_strings(tool, arguments, "category"):
        if (found := spellings.get(normalize(text))) is None:
            first = {spelling: names[0] for spelling, names in spellings.items()}
            raise _unknown(tool, arguments, "category", text, first, [category.name for category in catalog.categories])
        categories += found
    return tuple(dict.fromkeys(categories))


def _category_spellings(catalog: Catalog) -> dict[str, list[str]]:
    """Return what a category may be called → its names: title, name, and both forms of a name with its source.

    A name that several sources have stands for the categories of all of them.
    """
    forms: dict[str, list[str]] = {}
    for category in catalog.categories:
        name = category.name.removeprefix(f"{category.source}/")
        for form in {normalize(category.title), normalize(name), normalize(f"{category.source}/{name}")}:
            forms.setdefault(form, []).append(category.name)
    # A name counts before a title of another category.
    names = {normalize(category.name): [category.name] for category in catalog.categories}
    return {**forms, **names}


def _sources(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the sources given by id or title."""
    given = parse_strings(tool, arguments, "source")
    if not given:
        return ()
    names = {normalize(source.title): source.id for source in catalog.sources}
    names |= {normalize(source.id): source.id for source in catalog.sources}
    found = []
    for text in given:
        if (source_id := names.get(normalize(text))) is None:
            counts = catalog.counts("source")
            raise _unknown(tool, arguments, "source", text, names, sorted(counts, key=lambda id_: -counts[id_]))
        found.append(source_id)
    return tuple(dict.fromkeys(found))


def _tags(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    given = parse_strings(tool, arguments, "tag")
    if not given:
        return ()
    counts = catalog.counts("tags")
    names = {normalize(tag): tag for tag in counts}
    tags = []
    for text in given:
        if (found := names.get(normalize(text))) is None:
            by_count = sorted(counts, key=lambda tag: -counts[tag])
            raise _unknown(tool, arguments, "tag", text, {tag: tag for tag in counts}, by_count)
        tags.append(found)
    return tuple(dict.fromkeys(tags))


def _unknown(
    tool: str,
    arguments: Mapping[str, Any],
    kind: str,
    text: str,
    names: Mapping[str, str],
    by_relevance: list[str],
) -> InvalidArguments:
    """Return the error for an unknown name.

    Args:
        tool: the meta-tool.
        arguments: its arguments.
        kind: what the name should have been one of.
        text: the name that was given.
        names: spelling to compare it with → name.
        by_relevance: all names, the most useful first.
    """
    closest = list(dict.fromkeys(names[match] for match in closest_matches(text, names, most=3, least=MIN_SIMILARITY)))
    if closest:
        hint = f"Did you mean {' or '.join(closest)}?"
    else:
        more = ", …" if len(by_relevance) > _MAX_SUGGESTED else ""
        hint = f"There are {', '.join(by_relevance[:_MAX_SUGGESTED])}{more}; or search with query alone."
    following = correction(tool, arguments, kind, closest[0] if closest else None)
    return invalid(tool, f"there is no {kind} {quote(text)}", hint, closest=closest, **following)
