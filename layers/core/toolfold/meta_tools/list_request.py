"""The arguments of TOOL_LIST, parsed and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools import detail_levels
from toolfold.meta_tools.arguments import (
    correction,
    invalid,
    parse_choice,
    parse_integer,
    quote,
)
from toolfold.meta_tools.filters import Filters, parse_filters

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

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
