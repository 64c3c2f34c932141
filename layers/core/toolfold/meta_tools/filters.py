"""Which tools a TOOL_LIST is about: the categories, tags and access it names, found among those that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.fuzzy import closest_matches, normalize
from toolfold.meta_tools import arguments as reading

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

ACCESS = ("free", "mixed", "premium")

_SUGGESTED = 10
"""Names offered for one that is unknown and like none: the most frequent."""


@dataclass(frozen=True)
class Filters:
    """What a tool must be: of one of the categories, of one of the kinds of access, with any or all of the tags.

    Names are the catalog's own; an empty tuple asks for nothing.
    """

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    every_tag: bool = False
    access: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.categories or self.tags or self.access)

    def positions(self, catalog: Catalog) -> frozenset[int] | None:
        """Where the tools that pass stand in ``catalog``; None when nothing is asked and all pass."""
        asked = []
        if self.categories:
            asked.append(_any_of(catalog.positions_of("category"), self.categories))
        if self.access:
            asked.append(_any_of(catalog.positions_of("access"), self.access))
        if self.tags:
            tags = catalog.tags()
            asked += [_any_of(tags, [tag]) for tag in self.tags] if self.every_tag else [_any_of(tags, self.tags)]
        return frozenset.intersection(*asked) if asked else None


def _any_of(positions: Mapping[str, Sequence[int]], values: Sequence[str]) -> frozenset[int]:
    return frozenset(position for value in values for position in positions.get(value, ()))


def read(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> Filters:
    """The filters among ``arguments``: ``category``, ``tag``, ``tag_mode``, ``access``.

    Raises:
        InvalidArguments: one of them has the wrong shape, or names what the catalog does not have.
    """
    categories = _categories(tool, catalog, arguments)
    tags = reading.texts(tool, arguments, "tag")
    known = {normalize(tag): tag for tag in catalog.counts("tags")} if tags else {}
    tag_mode = reading.choice(tool, arguments, "tag_mode", ("any", "all"))
    access = [
        reading.choice(tool, {"access": given}, "access", ACCESS) for given in reading.texts(tool, arguments, "access")
    ]
    return Filters(
        categories,
        tuple(dict.fromkeys(known.get(normalize(tag)) or _unknown_tag(tool, catalog, tag) for tag in tags)),
        tag_mode == "all",
        tuple(dict.fromkeys(value for value in access if value)),
    )


def _categories(tool: str, catalog: Catalog, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Categories by name or title. A title may hold a comma: a text is first tried whole."""
    given = arguments.get("category")
    if given is None:
        return ()
    known = {normalize(category.title): category.name for category in catalog.categories}
    known |= {normalize(category.name): category.name for category in catalog.categories}
    if isinstance(given, str) and (whole := known.get(normalize(given))):
        return (whole,)
    found = []
    for asked in reading.texts(tool, arguments, "category"):
        name = known.get(normalize(asked))
        if name is None:
            raise _unknown(tool, "category", asked, known, [category.name for category in catalog.categories])
        found.append(name)
    return tuple(dict.fromkeys(found))


def _unknown_tag(tool: str, catalog: Catalog, tag: str) -> str:
    counts = catalog.counts("tags")
    raise _unknown(tool, "tag", tag, {known: known for known in counts}, sorted(counts, key=lambda k: -counts[k]))


def _unknown(tool: str, kind: str, asked: str, known: Mapping[str, str], names: list[str]) -> Exception:
    """The error for a name that is none; ``known`` are the spellings it may have meant → names, ``names`` all, the most
    useful first."""
    near = list(dict.fromkeys(known[like] for like in closest_matches(asked, known, most=3, least=reading.LIKE)))
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    else:
        more = ", …" if len(names) > _SUGGESTED else ""
        hint = f"There are {', '.join(names[:_SUGGESTED])}{more}; or search with query alone."
    return reading.refused(tool, f"there is no {kind} {reading.shown(asked)}", hint, closest=near)
