"""``toolfold catalog search``: what a search finds, and why, for a person.

A table on a terminal, lines with tabs between name, score and summary when a program reads them, TOOL_LIST's structured
answer as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog import search
from toolfold.meta_tools import list_request

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, ToolSummary
    from toolfold.meta_tools.dispatcher import MetaTools

USUAL = 10
"""Tools shown unless told otherwise: half a screen."""

_NOTHING = "Nothing fits. Try other English words, or look through `toolfold catalog list`."


def show(tools: MetaTools, arguments: Mapping[str, Any], *, as_json: bool, explain: bool) -> int:
    """Print what ``arguments``, those of TOOL_LIST, find; ``explain``: with the words that speak for each tool.

    Returns:
        The exit code: 0, or 1 when nothing fits.

    Raises:
        InvalidArguments: as TOOL_LIST.
        CatalogUnavailable: there is no catalog to search.
    """
    catalog = tools.catalog()
    wanted = list_request.parse_list_request(catalog, arguments)
    found = search.search(catalog, wanted.query, wanted.filters.positions(catalog))
    hits = found.hits[: wanted.limit or USUAL]
    briefs = [catalog.summary(hit.position) for hit in hits]
    reasons = [_reasons(catalog, wanted.query, hit.position) if explain else [] for hit in hits]
    if as_json:
        structured = tools.call(list_request.TOOL, arguments).structured
        if explain:
            for entry, hit, why in zip(structured["tools"], hits, reasons, strict=False):
                entry.update(score=round(hit.score), why=why)
        print(json.dumps(structured, ensure_ascii=False))
    elif not hits:
        print(_NOTHING, file=sys.stderr)
    else:
        _print(briefs, [f"{hit.score:.0f}" for hit in hits], reasons, found.top_ties)
        if sys.stdout.isatty():
            left = len(found.hits) - len(hits)
            print(f"\n* as good as the best{f'; {left} more fit less well: --limit N' if left else ''}")
    return 0 if hits else 1


def _reasons(catalog: Catalog, query: str, position: int) -> list[str]:
    """The words of the request that speak for a tool, with what they were taken for and their parts of the score."""
    return [
        f"{term.source_word}{'' if term.source_word == term.term else f' → {term.term}'} {part:.0f}"
        for term, part in search.explain(catalog, query, position)
    ]


def _print(briefs: list[ToolSummary], scores: list[str], reasons: list[list[str]], leaders: int) -> None:
    table = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    longest = max(len(brief.name) for brief in briefs)
    if table:
        print(f"  {'TOOL':{longest}}  SCORE  WHAT IT RETURNS")
    for place, (brief, score, why) in enumerate(zip(briefs, scores, reasons, strict=True)):
        text = brief.summary + (" (premium)" if brief.access == "premium" else "")
        if table:
            lines = [f"{'*' if place < leaders else ' '} {brief.name:{longest}}  {score:>5}  {text}"]
            lines += [f"  {'':{longest}}         {', '.join(why)}"] if why else []
            print(*(line if len(line) <= width else line[: width - 1] + "…" for line in lines), sep="\n")
        else:
            print(brief.name, score, text, *([", ".join(why)] if why else []), sep="\t")
