"""``toolfold catalog search``: which tools match a request, and why.

Prints a table to a terminal, tab-separated lines (name, score, summary) to a pipe, and TOOL_LIST's structured answer
with ``--json``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import summary_suffix
from toolfold.catalog.explanation import ANY_FIELD, Explainer
from toolfold.cli import tables, terminal
from toolfold.cli.output import print_json
from toolfold.meta_tools import list_request

if TYPE_CHECKING:
    from toolfold.catalog.entries import ToolSummary
    from toolfold.catalog.explanation import ExplainedHit
    from toolfold.meta_tools.dispatcher import MetaTools

DEFAULT_LIMIT = 10
"""Tools shown by default: half a screen."""

_NO_MATCH = "No tool matches. Try other English words, or look through `toolfold catalog list`."


def search_catalog(tools: MetaTools, arguments: Mapping[str, Any], *, as_json: bool, explain: bool) -> int:
    """Print the tools that match.

    Args:
        tools: the meta-tools over the catalog.
        arguments: those of TOOL_LIST.
        as_json: whether to print JSON.
        explain: whether to print the words that matched each tool.

    Returns:
        The exit code: 0, or 1 when nothing matches.

    Raises:
        InvalidArguments: as TOOL_LIST.
        CatalogUnavailable: the catalog cannot be read.
    """
    catalog = tools.catalog()
    request = list_request.parse_list_request(catalog, arguments)
    limit = request.limit or DEFAULT_LIMIT
    explained = Explainer(catalog).search(request.query, limit, request.filters.positions(catalog), divided=0)
    found, hits = explained.result, explained.hits
    summaries = [catalog.summary(hit.position) for hit in hits]
    reasons = [_reasons(hit) if explain else [] for hit in hits]
    if as_json:
        structured = tools.call(list_request.TOOL, arguments).structured
        if explain:
            for entry, hit, why in zip(structured["tools"], hits, reasons, strict=False):
                entry.update(score=round(hit.score), why=why)
        print_json(structured)
    elif not hits:
        print(_NO_MATCH, file=sys.stderr)
    elif terminal.is_terminal(sys.stdout):
        _print_table(summaries, [f"{hit.score:.0f}" for hit in hits], reasons, found.top_ties)
        weaker = len(found.hits) - len(hits)
        end = "* best matches." + (f" {weaker} weaker ones: --limit N" if weaker else "")
        print("", *tables.wrap(end, terminal.width()), sep="\n")
    else:
        for summary, hit, why in zip(summaries, hits, reasons, strict=True):
            print(summary.name, f"{hit.score:.0f}", _text(summary), *([", ".join(why)] if why else []), sep="\t")
    return 0 if hits else 1


def _reasons(hit: ExplainedHit) -> list[str]:
    """Return the words of the query that matched a tool, what they were corrected to, and their parts of the score."""
    shown = ((part, "" if part.field == ANY_FIELD else f"({part.field.replace('_', ' ')}) ") for part in hit.parts)
    return [
        f"{kind}{part.word}{'' if part.word == part.term else f' → {part.term}'} {part.score:.0f}"
        for part, kind in shown
    ]


def _print_table(
    summaries: Sequence[ToolSummary], scores: Sequence[str], reasons: Sequence[Sequence[str]], top_ties: int
) -> None:
    """Print a line for each tool, cut to the width of the terminal; the first ``top_ties`` are marked."""
    width = terminal.width()
    name_width = max(len(summary.name) for summary in summaries)
    print(_shortened(f"  {'TOOL':{name_width}}  SCORE  WHAT IT RETURNS", width))
    for rank, (summary, score, why) in enumerate(zip(summaries, scores, reasons, strict=True)):
        mark = "*" if rank < top_ties else " "
        lines = [f"{mark} {summary.name:{name_width}}  {score:>5}  {_text(summary)}"]
        lines += [f"  {'':{name_width}}         {', '.join(why)}"] if why else []
        print(*(_shortened(line, width) for line in lines), sep="\n")


def _shortened(line: str, width: int) -> str:
    """Return ``line`` in at most ``width`` columns, cut between words."""
    if len(line) <= width:
        return line
    words = line[:width].rpartition(" ")[0].rstrip()
    return f"{words} …" if len(words) + 2 <= width else f"{words.rpartition(' ')[0].rstrip()} …"


def _text(summary: ToolSummary) -> str:
    return summary.summary + summary_suffix(summary.access, summary.effect, summary.confirm)
