"""The arguments of TOOL_LIST, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools import arguments as reading
from toolfold.meta_tools import detail_levels, filters
from toolfold.meta_tools.filters import Filters

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

TOOL = "TOOL_LIST"

ARGUMENTS = ("query", "category", "tag", "tag_mode", "access", "limit", "offset", "token_budget", "detail")

LONGEST_QUERY = 1000
"""Characters. A request is a sentence or two; what is longer is a pasted document, in which words mean little."""

MOST_TOOLS = 200
LEAST_TOKENS, MOST_TOKENS = 100, 100_000
MOST_OFFSET = 10**9


@dataclass(frozen=True)
class ListRequest:
    """What a TOOL_LIST is asked for. ``query`` is one line, empty when nothing is searched for; None: not given.

    ``notice`` is what the caller should be told about the arguments themselves.
    """

    query: str = ""
    filters: Filters = field(default_factory=Filters)
    limit: int | None = None
    offset: int | None = None
    token_budget: int | None = None
    detail: str | None = None
    notice: str = ""

    @property
    def everything(self) -> bool:
        """Whether nothing was asked for in particular."""
        given = (self.limit, self.offset, self.token_budget, self.detail)
        return not self.query and not self.filters and all(value is None for value in given)

    @property
    def more_than_usual(self) -> bool:
        """Whether it was said how much to show, or from where."""
        return not (self.limit is None and self.offset is None and self.token_budget is None)


def read(catalog: Catalog, arguments: Mapping[str, Any]) -> ListRequest:
    """``arguments`` of a TOOL_LIST, checked against what ``catalog`` has.

    Raises:
        InvalidArguments: one is unknown, of another type, out of range, or names what there is not.
    """
    reading.only(TOOL, arguments, ARGUMENTS)
    query = _query(arguments.get("query"))
    blank = arguments.get("query") is not None and not query
    return ListRequest(
        query=query,
        filters=filters.read(TOOL, catalog, arguments),
        limit=reading.number(TOOL, arguments, "limit", 1, MOST_TOOLS),
        offset=reading.number(TOOL, arguments, "offset", 0, MOST_OFFSET),
        token_budget=reading.number(TOOL, arguments, "token_budget", LEAST_TOKENS, MOST_TOKENS),
        detail=reading.choice(TOOL, arguments, "detail", tuple(detail_levels.DETAILS)),
        notice="The query is blank, so nothing was searched for." if blank else "",
    )


def _query(given: Any) -> str:
    """The request on one line. Control characters count as blanks, words in a list as a sentence."""
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        given = " ".join(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = str(given)
    if given is None:
        return ""
    if not isinstance(given, str):
        hint = 'Send query as text, e.g. "price of a stock".'
        raise reading.refused(TOOL, f"query must be text, not {reading.shown(given)}", hint)
    if len(given) > LONGEST_QUERY:
        message = f"query has {len(given):,} characters, and {LONGEST_QUERY:,} are the most"
        raise reading.refused(TOOL, message, "Send what is needed as a sentence or a few keywords.")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in given).split())
