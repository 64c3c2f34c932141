"""The arguments of TOOL_LIST, parsed and checked: its filters are matched against the catalog's categories and tags.

The counts of these are part of every answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, names_beginning, normalize
from toolfold.messages import THERE_ARE
from toolfold.meta_tools.arguments import invalid, next_call
from toolfold.meta_tools.result import safe_line
from toolfold.text_safety import quoted

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.wording import Text

TOOL = "TOOL_LIST"

_MAX_SUGGESTED = 10
"""Names suggested for an unknown one that resembles none: the most frequent."""


class Filters(NamedTuple):
    """Conditions on a tool: the names of which it has one, or with ``every_tag`` all tags; empty: no condition."""

    category: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    access: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    every_tag: bool = False

    def positions(self, catalog: Catalog) -> frozenset[int] | None:
        """Return the positions of the tools that meet every condition, or None when there is no condition."""
        groups = [("category", self.category), ("source", self.source), ("access", self.access)]
        groups += [("tags", (tag,)) for tag in self.tag] if self.every_tag else [("tags", self.tag)]
        matching = []
        for kind, names in groups:
            if names:
                matching.append(frozenset(at for name in names for at in catalog.positions(kind, name)))
        return frozenset.intersection(*matching) if matching else None


def parse_filters(catalog: Catalog, arguments: Mapping[str, Any]) -> Filters:
    """Parse ``category``, ``tag``, ``tag_mode``, ``access`` and ``source``.

    Raises:
        InvalidArguments: one of them is a name that the catalog does not have.
    """
    named = {kind: _named(catalog, arguments, kind) for kind in _SPELLINGS}
    return Filters(**named, every_tag=arguments.get("tag_mode") == "all")


def _named(catalog: Catalog, arguments: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return the names of categories, tags or sources that are given in any spelling, or by title."""
    given = arguments.get(kind)
    if given is None:
        return ()
    spellings = _SPELLINGS[kind](catalog)
    names = [given] if isinstance(given, str) else given
    if isinstance(given, str) and normalize(given) not in spellings:  # a title may hold a comma
        from toolfold.execution.argument_values import listed_values  # a name needs none of it

        names = listed_values(given) or names
    found: list[str] = []
    for text in (name for name in names if name.strip(" ,[]")):
        if normalize(text) not in spellings:
            raise _unknown(catalog, {**arguments, kind: names}, kind, text)
        found += spellings[normalize(text)]
    return tuple(dict.fromkeys(found))


def _corrected(arguments: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return the detail of an error with the call in which an argument has another value; None: it is left out."""
    others = {key: given for key, given in arguments.items() if key != name}
    return next_call(TOOL, others if value is None else {**others, name: value})


_MIN_BEGINNING = 4
"""Letters that are taken for the beginning of a name: ``crypto`` of ``cryptocurrencies``."""


def _unknown(catalog: Catalog, arguments: Mapping[str, Any], kind: str, text: str) -> InvalidArguments:
    names = {spelling: found[0] for spelling, found in _SPELLINGS[kind](catalog).items() if found}
    found = names_beginning(text, names, _MIN_BEGINNING)[:3] or closest_matches(text, names, most=3)
    closest = list(dict.fromkeys(map(names.__getitem__, found)))
    hint: str | Text = f"Did you mean {' or '.join(closest)}?"
    if not closest:
        counts = catalog.counts("tags" if kind == "tag" else kind)
        known = sorted(dict.fromkeys(names.values()), key=lambda name: -counts.get(name, 0))
        more = ", …" if len(known) > _MAX_SUGGESTED else ""
        hint = THERE_ARE.filled(names=f"{', '.join(known[:_MAX_SUGGESTED])}{more}")
    meant = [closest[0] if name == text else name for name in arguments[kind] if closest or name != text]
    if not meant and kind != "access":  # what the name is about is searched for
        arguments = {"query": text, **arguments}
    following = _corrected(arguments, kind, meant if len(meant) > 1 else next(iter(meant), None))
    return invalid(TOOL, f"there is no {kind} {quoted(text)}", hint, closest=closest, **following)


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
    return {**forms, **{normalize(category.name): [category.name] for category in catalog.categories}}


_ACCESS: Mapping[str, list[str]] = {
    "free": ["free", "mixed"],  # a tool that is free in part works with a free key
    "mixed": ["mixed"],
    "premium": ["premium"],
    "paid": ["premium"],
    "any": [],
    "all": [],
}
"""What an access may be called → its names; none: no condition."""

_SPELLINGS: Mapping[str, Callable[[Catalog], dict[str, list[str]]]] = {
    "category": _category_spellings,
    "access": lambda _: dict(_ACCESS),
    "tag": lambda catalog: {normalize(tag): [tag] for tag in catalog.counts("tags")},
    "source": lambda catalog: {
        normalize(getattr(source, form)): [source.id] for form in ("title", "id") for source in catalog.sources
    },
}
"""Filter → what its names may be called, as ``fuzzy.normalize`` spells it → the names."""

MAX_QUERY_LENGTH = 1000
"""Characters. A request is a sentence or two; longer text is a pasted document, whose words say little about it."""

MAX_QUERIES = 8
"""Requests of one call: steps of a piece of work. More would leave a line for each."""

_PROPOSED_LENGTH = 100
"""Characters at the beginning of a query that is too long, with which an error proposes to search."""


class ListRequest(NamedTuple):
    """The parsed arguments of a TOOL_LIST call. None stands for an argument that was not given.

    Attributes:
        queries: the requests, each on one line; empty: everything is listed.
        detail: the detail level of all tools.
        notice: a remark on the arguments for the caller.
    """

    queries: tuple[str, ...] = ()
    filters: Filters = Filters()
    limit: int | None = None
    offset: int | None = None
    token_budget: int | None = None
    detail: str | None = None
    notice: str = ""

    def noting(self, *remarks: str) -> ListRequest:
        """Return the request with further remarks."""
        return self._replace(notice=safe_line(" ".join(filter(None, (self.notice, *remarks)))))


def parse_list_request(catalog: Catalog, arguments: Mapping[str, Any]) -> ListRequest:
    """Parse the arguments of a TOOL_LIST on ``catalog``.

    Raises:
        InvalidArguments: the query is too long, or a name is not one of the catalog.
    """
    text = arguments.get("query", "")
    queries = tuple(dict.fromkeys(filter(None, map(_line, text if isinstance(text, list) else [str(text)]))))
    is_several = len(queries) > 1 and any(" " in query for query in queries)
    if not is_several:  # a list of single words is one request
        queries = tuple(filter(None, [" ".join(queries)]))
    problem = ""
    if len(queries) > MAX_QUERIES:
        problem = f"query has {len(queries)} requests, and {MAX_QUERIES} are the most"
        hint = "Send the others with another call."
    elif (longest := max(map(len, queries), default=0)) > MAX_QUERY_LENGTH:
        problem = f"a request of query has {longest:,} characters, and {MAX_QUERY_LENGTH:,} are the most"
        hint = "Send what is needed as a sentence or a few keywords."
    if problem:
        short = [query[:_PROPOSED_LENGTH] for query in queries[:MAX_QUERIES]]
        proposed = short if is_several else _line(short[0])
        raise invalid(TOOL, problem, hint, **_corrected(arguments, "query", proposed))
    is_blank = arguments.get("query") is not None and not queries
    given = {name: arguments.get(name) for name in ("limit", "offset", "token_budget", "detail")}
    notice = "The query is blank, so nothing was searched for." if is_blank else ""
    return ListRequest(queries, parse_filters(catalog, arguments), **given, notice=notice)


def _line(text: str) -> str:
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(text.split())


MAX_LISTED_TOOLS, MAX_LISTED_CHARACTERS = 1000, 50_000
"""A catalog with more tools, or with a longer listing (some 12,000 tokens), is not listed as a whole."""

MAX_NAMES = 50
"""Categories and tags named of such a catalog: the most frequent."""


def is_large(catalog: Catalog) -> bool:
    """Return whether ``catalog`` is too large to be listed as a whole."""
    return len(catalog) > MAX_LISTED_TOOLS or len(catalog.listing) > MAX_LISTED_CHARACTERS


def category_counts(catalog: Catalog) -> dict[str, int]:
    """Return category → number of tools, in the catalog's order; of a large catalog the largest categories first."""
    counts = Counter({category.name: category.tools for category in catalog.categories})
    return dict(counts.most_common(MAX_NAMES)) if is_large(catalog) and len(counts) > MAX_NAMES else counts


def tag_counts(catalog: Catalog) -> dict[str, int]:
    """Return tag → number of tools, the most frequent first; of a large catalog only these."""
    return dict(Counter(catalog.counts("tags")).most_common(MAX_NAMES if is_large(catalog) else None))


def categories_line(catalog: Catalog) -> str:
    """Return the counts of categories as a line of text; empty for a catalog without categories."""
    counts = ", ".join(f"{name} {count}" for name, count in category_counts(catalog).items())
    return safe_line(f"Categories: {counts}") if counts else ""
