"""Check the texts of imported tools: others wrote them, so that all findings are warnings.

The thresholds are wider than those of :mod:`toolfold.build.lint`, and every rule takes one pass over the tools of a
source: a document of GitHub has a thousand. ``overlay.yaml`` is where a text is corrected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from toolfold.build.findings import Finding
from toolfold.catalog import json_schema
from toolfold.catalog.entries import Tool
from toolfold.catalog.model import Catalog
from toolfold.catalog.tokenizer import in_words, stems
from toolfold.results import tokens

__all__ = ["MAX_SHOWN", "check_imported"]

MIN_WORDS = 3
"""Specific words of summary and description. Below it a tool is found by its name alone."""

MAX_LINE_TOKENS = 60
"""Of ``NAME: summary``: twice what a hand-written tool may have. Names of operations are long."""

MAX_SCHEMA_TOKENS = 1_500
"""Of name, description and parameters: what TOOL_GET returns for one tool."""

MAX_SHOWN = 20
"""Findings of one rule and source that are listed; the last says how many more there are."""

_OVERLAY = "write {} in overlay.yaml"

GENERIC = frozenset(
    stems(
        "api data dataset endpoint feature function information info item method object operation output query record "
        "request response result service tool utility value various thing return fetch retrieve provide allow enable "
        "use useful helper general generic main new"
    )
)
"""Terms that apply to every tool."""


def check_imported(catalog: Catalog, locations: Mapping[str, str]) -> Iterator[Finding]:
    """Yield warnings about the texts of imported tools.

    Args:
        catalog: the compiled catalog.
        locations: name of each imported tool → ``file:line`` of its description.
    """
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], Finding] = {}
    for source, finding in _findings(catalog, locations):
        key = (source, finding.rule)
        counts[key] += 1
        if counts[key] <= MAX_SHOWN:
            yield finding
        else:
            last[key] = finding
    for (source, rule), found in last.items():
        problem = f"{counts[source, rule] - MAX_SHOWN} more tools of {source} have the same problem"
        yield Finding(found.file, found.line, rule, problem, found.advice, is_warning=True)


def _findings(catalog: Catalog, locations: Mapping[str, str]) -> Iterator[tuple[str, Finding]]:
    summaries: dict[tuple[str, frozenset[str]], str] = {}
    texts: dict[tuple[str, frozenset[str]], str] = {}
    for name, where in locations.items():
        tool = catalog.get(name)
        if tool is None:
            continue
        summary, text = frozenset(stems(tool.summary)), frozenset(stems(f"{tool.summary} {tool.description}"))
        for rule, problem, advice in (*_wording(tool, summary, text), *_sizes(tool)):
            yield tool.source, _finding(name, where, rule, problem, advice)
        alike = texts.setdefault((tool.source, text), name)
        same = summaries.setdefault((tool.source, summary), name)
        if alike != name:
            problem = f"summary and description have the same words as those of {alike}"
            yield tool.source, _finding(name, where, "too-alike", problem, _OVERLAY.format("the difference"))
        elif same != name:
            problem = f"the summary has the same words as that of {same}"
            yield tool.source, _finding(name, where, "same-summary", problem, _OVERLAY.format("the difference"))


def _wording(tool: Tool, summary: frozenset[str], text: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    named = set(stems(f"{in_words(tool.name)} {tool.title}"))
    if len(text - GENERIC) < MIN_WORDS:
        problem = f"summary and description have {len(text - GENERIC)} specific words"
        yield "too-short", problem, _OVERLAY.format("a description")
    elif not summary - named - GENERIC:
        yield "says-the-name", "the summary only repeats the name", _OVERLAY.format("a summary")


def _sizes(tool: Tool) -> Iterator[tuple[str, str, str]]:
    if (cost := tokens.count(f"{tool.name}: {tool.summary}")) > MAX_LINE_TOKENS:
        yield "line-tokens", f"name and summary have about {cost} tokens", _OVERLAY.format("a shorter summary")
    schema = {"description": f"{tool.summary}. {tool.description}", "parameters": tool.parameters}
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    if (cost := tokens.count(text)) > MAX_SCHEMA_TOKENS:
        properties = json_schema.properties(tool.parameters)
        longest = max(properties, key=lambda name: len(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost:,} tokens, most of them in {longest}"
        yield "schema-tokens", problem, "leave the tool out with exclude where it is not needed"


def _finding(name: str, where: str, rule: str, problem: str, advice: str) -> Finding:
    file, _, line = where.rpartition(":")
    return Finding(file, int(line), rule, f"{name}: {problem}", advice, is_warning=True)
