"""What the whole catalog holds, told in every TOOL_LIST: categories and tags with their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

WHOLE_TOOLS, WHOLE_CHARACTERS = 1000, 50_000
"""A catalog with more tools, or with a longer listing (some 12,000 tokens), is not listed whole."""

MOST_NAMED = 50
"""Categories and tags that are named of such a catalog: the most frequent."""

OFTEN = 4
"""Tools that carry a tag from which on the text names it. Of the many tags most are on one or two."""


def large(catalog: Catalog) -> bool:
    """Whether ``catalog`` is too large to be listed whole."""
    return not catalog.listing or len(catalog) > WHOLE_TOOLS or len(catalog.listing) > WHOLE_CHARACTERS


def categories(catalog: Catalog) -> dict[str, int]:
    """Category → how many tools it has, in the catalog's order; of a large catalog the largest, the largest first."""
    counts = {category.name: category.tools for category in catalog.categories}
    return _most(counts) if large(catalog) and len(counts) > MOST_NAMED else counts


def tags(catalog: Catalog) -> dict[str, int]:
    """Tag → how many tools carry it, the most frequent first; of a large catalog no others."""
    counts = dict(catalog.counts("tags"))
    return _most(counts, MOST_NAMED if large(catalog) else len(counts))


def lines(catalog: Catalog) -> list[str]:
    """The same for a text: a line for the categories, one for the tags that are worth a word."""
    often = {tag: count for tag, count in tags(catalog).items() if count >= OFTEN}
    named = (("Categories", categories(catalog)), ("Tags", often))
    return [f"{name}: {', '.join(f'{of} {count}' for of, count in counts.items())}" for name, counts in named if counts]


def _most(counts: dict[str, int], most: int = MOST_NAMED) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:most])
