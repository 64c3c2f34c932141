"""Counts of a catalog's categories and tags, part of every answer of TOOL_LIST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.meta_tools.result import safe_line

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

MAX_LISTED_TOOLS, MAX_LISTED_CHARACTERS = 1000, 50_000
"""A catalog with more tools, or with a longer listing (some 12,000 tokens), is not listed as a whole."""

MAX_NAMES = 50
"""Categories and tags named of such a catalog: the most frequent."""

MIN_TAG_COUNT = 4
"""Tools that carry a tag for the text to name it. Of the many tags most are on one or two tools."""


def is_large(catalog: Catalog) -> bool:
    """Return whether ``catalog`` is too large to be listed as a whole."""
    return not catalog.listing or len(catalog) > MAX_LISTED_TOOLS or len(catalog.listing) > MAX_LISTED_CHARACTERS


def category_counts(catalog: Catalog) -> dict[str, int]:
    """Return category → number of tools, in the catalog's order; of a large catalog the largest categories first."""
    counts = {category.name: category.tools for category in catalog.categories}
    return _most_frequent(counts, MAX_NAMES) if is_large(catalog) and len(counts) > MAX_NAMES else counts


def tag_counts(catalog: Catalog) -> dict[str, int]:
    """Return tag → number of tools, the most frequent first; of a large catalog only these."""
    counts = dict(catalog.counts("tags"))
    return _most_frequent(counts, MAX_NAMES if is_large(catalog) else len(counts))


def summary_lines(catalog: Catalog) -> list[str]:
    """Return the counts as text: a line of categories, and a line of the tags that occur often."""
    tags = {tag: count for tag, count in tag_counts(catalog).items() if count >= MIN_TAG_COUNT}
    titled = (("Categories", category_counts(catalog)), ("Tags", tags))
    return [
        safe_line(f"{title}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
        for title, counts in titled
        if counts
    ]


def _most_frequent(counts: dict[str, int], limit: int) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:limit])
