"""The arguments of TOOL_LIST, parsed and checked: its filters are matched against the catalog's categories and tags.

The counts of these are part of every answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.meta_tools import detail_levels
from toolfold.meta_tools.arguments import (
    correction,
    invalid,
    parse_choice,
    parse_integer,
    parse_strings,
    quote,
)
from toolfold.meta_tools.result import safe_line

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.wording import Text

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
    from toolfold.messages import THERE_ARE  # for errors only

    closest = list(dict.fromkeys(names[match] for match in closest_matches(text, names, most=3)))
    hint: str | Text = did_you_mean(text, names, most=3, shown=names.__getitem__).strip()
    if not hint:
        more = ", …" if len(by_relevance) > _MAX_SUGGESTED else ""
        hint = THERE_ARE.filled(names=f"{', '.join(by_relevance[:_MAX_SUGGESTED])}{more}")
    following = correction(tool, arguments, kind, closest[0] if closest else None)
    return invalid(tool, f"there is no {kind} {quote(text)}", hint, closest=closest, **following)


TOOL = "TOOL_LIST"

MAX_QUERY_LENGTH = 1000
"""Characters. A request is a sentence or two; longer text is a pasted document, whose words say little about it."""

MAX_QUERIES = 8
"""Requests of one call: steps of a piece of work. More would leave a line for each."""

_PROPOSED_LENGTH = 100
"""Characters at the beginning of a query that is too long, with which an error proposes to search."""

MAX_TOOLS = 200
MIN_TOKENS, MAX_TOKENS = 100, 100_000
MAX_OFFSET = 10**9


@dataclass(frozen=True)
class ListRequest:
    """The parsed arguments of a TOOL_LIST call. None stands for an argument that was not given.

    Attributes:
        query: the request on one line, empty when it was not given.
        queries: several requests, each on one line, of which ``query`` is the list; empty for a single one.
        filters: conditions that a tool must meet.
        limit: most tools to return.
        offset: tools to skip.
        token_budget: most tokens of the text.
        detail: the detail level of all tools.
        notice: a remark on the arguments for the caller.
    """

    query: str = ""
    queries: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    limit: int | None = None
    offset: int | None = None
    token_budget: int | None = None
    detail: str | None = None
    notice: str = ""

    @property
    def is_unfiltered(self) -> bool:
        """Whether no argument narrows or shapes the list."""
        given = (self.limit, self.offset, self.token_budget, self.detail)
        return not self.query and not self.filters and all(value is None for value in given)

    @property
    def is_paged(self) -> bool:
        """Whether the caller set how much to return, or from where."""
        return not (self.limit is None and self.offset is None and self.token_budget is None)


def parse_list_request(catalog: Catalog, arguments: Mapping[str, Any]) -> ListRequest:
    """Parse the arguments of a TOOL_LIST on ``catalog``.

    Raises:
        InvalidArguments: an argument has the wrong type, is out of range, or has a name that the catalog does not have.
    """
    queries = _parse_queries(arguments)
    query = "; ".join(queries) if queries else _parse_query(arguments)
    is_blank = arguments.get("query") is not None and not query
    return ListRequest(
        query=query,
        queries=queries,
        filters=parse_filters(TOOL, catalog, arguments),
        limit=parse_integer(TOOL, arguments, "limit", 1, MAX_TOOLS),
        offset=parse_integer(TOOL, arguments, "offset", 0, MAX_OFFSET),
        token_budget=parse_integer(TOOL, arguments, "token_budget", MIN_TOKENS, MAX_TOKENS),
        detail=parse_choice(TOOL, arguments, "detail", tuple(detail_levels.LEVELS)),
        notice="The query is blank, so nothing was searched for." if is_blank else "",
    )


def _parse_queries(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the requests of a list, each on one line. A list of single words is one request, and so is one text."""
    given = arguments.get("query")
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        return ()
    queries = tuple(dict.fromkeys(query for text in given if (query := " ".join(_printable(text).split()))))
    if len(queries) < 2 or all(" " not in query for query in queries):
        return ()
    if len(queries) > MAX_QUERIES:
        raise invalid(
            TOOL,
            f"query has {len(queries)} requests, and {MAX_QUERIES} are the most",
            "Send the others with another call.",
            **correction(TOOL, arguments, "query", list(queries[:MAX_QUERIES])),
        )
    if (longest := max(map(len, queries))) > MAX_QUERY_LENGTH:
        raise invalid(
            TOOL,
            f"a request of query has {longest:,} characters, and {MAX_QUERY_LENGTH:,} are the most",
            "Send each as a few keywords.",
            **correction(TOOL, arguments, "query", [query[:_PROPOSED_LENGTH] for query in queries]),
        )
    return queries


def _parse_query(arguments: Mapping[str, Any]) -> str:
    """Return the query on one line: control characters become spaces, a list of words a sentence."""
    given = arguments.get("query")
    if isinstance(given, dict) and len(given) == 1 and isinstance(inner := next(iter(given.values())), str):
        given = inner
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        given = " ".join(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = str(given)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise invalid(
            TOOL,
            f"query must be text, not {quote(given)}",
            'Send query as text, e.g. "price of a stock".',
            **correction(TOOL, arguments, "query"),
        )
    if len(given) > MAX_QUERY_LENGTH:
        raise invalid(
            TOOL,
            f"query has {len(given):,} characters, and {MAX_QUERY_LENGTH:,} are the most",
            "Send what is needed as a sentence or a few keywords.",
            **correction(TOOL, arguments, "query", " ".join(_printable(given[:_PROPOSED_LENGTH]).split())),
        )
    return " ".join(_printable(given).split())


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


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
