"""Whether a catalog can be chosen from: what compiles may still be told apart badly, say nothing, order about or cost
too much. Build side; ``toolfold catalog lint``.

:func:`check` compiles a folder and judges what a model would read of it. The rules are in :data:`RULES`; what each
refuses and why is told in ``docs/reference/catalog-format.md``. The thresholds were chosen on the catalog of Alpha
Vantage: its 129 tools are as close to each other as tools get and all pass; a reworded copy of one does not.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolfold.build import prompt_injection, yaml_loader
from toolfold.build.compiler import compile_folder
from toolfold.catalog import json_schema
from toolfold.catalog.model import Catalog
from toolfold.catalog.model import Tool as Compiled
from toolfold.catalog.store import parse_catalog
from toolfold.catalog.tokenizer import in_words, stems
from toolfold.errors import SourceError
from toolfold.results import tokens

RULES = {
    "source": "the YAML compiles",
    "too-alike": "no two tools are alike without saying what sets them apart",
    "same-summary": "no two summaries have the same words",
    "says-the-name": "a summary says more than the name and the title",
    "too-short": "summary and description have enough words to choose by",
    "empty-words": "nothing is said that is true of every tool",
    "speaks-to-model": "text describes; it gives no orders and hides nothing",
    "line-tokens": "the line of a tool in TOOL_LIST fits its allowance",
    "schema-tokens": "name, description and parameters of a tool fit their allowance",
    "example-queries": "each tool has enough example queries to be found by, and no more",
    "shared-words": "an alias or an example query belongs to one tool",
}
"""Rule → what holds where it is kept."""

LIKENESS = {"name": 0.2, "summary": 0.3, "text": 0.3, "schema": 0.2}
"""What the likeness of two tools adds up, each 0 to 1: letters of the names, words of the summaries, words of summary
and description, parameters with their types and values."""

MOST_ALIKE = 0.6
"""Likeness from which two tools must be set apart. The closest pair of the catalog that is not has 0.57; a copy with
one word in four changed has 0.7."""

FEWEST_WORDS = 10
"""Different words that carry meaning, in summary and description together; the shortest of the catalog has 14."""

LINE_TOKENS = 30
"""``NAME: summary``. A line of the catalog has 18; each is read in every conversation that lists the tools."""

SCHEMA_TOKENS = 350
"""``{"name", "description", "parameters"}`` as compact JSON, of a tool with up to :data:`USUAL_PARAMETERS`."""

USUAL_PARAMETERS = 6
PARAMETER_TOKENS = 50
"""What each parameter beyond the usual number may add. One has 25 (a switch) to 60 (a month with its pattern), and what
the upstream needs cannot be left out."""

WAIVER = re.compile(r"#\s*lint: allow ([a-z-]+): \S+")
"""A comment on the line of a finding that lets it pass: ``# lint: allow schema-tokens: why``."""

EXAMPLE_QUERIES = range(8, 16)
"""Phrases for a tool. Fewer leave ways of asking out; more drown those of its neighbours in the index."""

GENERIC = frozenset(
    stems(
        "api data dataset endpoint feature function information info item method object operation output query record "
        "request response result service tool utility value various thing return fetch retrieve provide allow enable "
        "use useful helper general generic main new"
    )
)
"""Terms that every tool could use of itself."""

_EMPTY = re.compile(
    r"\bthis (?:tool|function|endpoint|api|method|service)\b|\b(?:is|are|can be) used (?:to|for|by)\b"
    r"|\b(?:allows?|enables?|lets?|helps?) (?:you|one|users?|the user)\b"
    r"|\b(?:an?|the) (?:tool|function|endpoint|api|method|service|utility) (?:that|to|for|which)\b"
    r"|\b(?:powerful|easy[- ]to[- ]use|comprehensive|cutting[- ]edge|best[- ]in[- ]class|seamless(?:ly)?)\b"
    r"|\b(?:and so on|etc)\b|\bvarious (?:data|information|kinds|types|things)\b|\b(?:tbd|todo|lorem ipsum)\b",
    re.IGNORECASE,
)
"""Words that say nothing of a tool: what a tool is, what tools are for, praise, and the rest left to be guessed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to correct. ``str()`` is ``file:line: rule: what is wrong; what to do``."""

    file: str
    line: int
    rule: str
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.problem}; {self.advice}"


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool as compiled and as written, with the words that it is judged by."""

    compiled: Compiled
    written: Mapping[str, Any]
    document: yaml_loader.Document
    at: yaml_loader.Location
    named: set[str] = field(init=False)
    summary: set[str] = field(init=False)
    text: set[str] = field(init=False)
    shape: set[str] = field(init=False)

    def __post_init__(self) -> None:
        tool = self.compiled
        for name, value in (
            ("named", set(stems(f"{in_words(tool.name)} {tool.title}"))),
            ("summary", set(stems(tool.summary))),
            ("text", set(stems(f"{tool.summary} {tool.description}"))),
            (
                "shape",
                {
                    f"{key} {' '.join(json_schema.type_words(tool.parameters, rule))} {rule.get('enum')}"
                    for key, rule in json_schema.properties(tool.parameters).items()
                },
            ),
        ):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        return self.compiled.name

    def finding(self, rule: str, problem: str, advice: str, *at: str | int) -> Finding:
        return _finding(self.document, (*self.at, *at), rule, f"{self.name}: {problem}", advice)


def check(folder: Path) -> list[Finding]:
    """Return what is wrong with the catalog below ``folder``, in the order of its files. Nothing is written.

    Of a catalog that does not compile only the compiler's problems are returned.
    """
    try:
        catalog = parse_catalog(compile_folder(folder).encode())
    except SourceError as error:
        return [_from_compiler(problem) for problem in error.problems]
    documents = [yaml_loader.load(path) for path in sorted(folder.glob("*/*.yaml"))]
    tools = list(_tools(catalog, documents))
    found = [finding for document in documents for finding in _spoken(document)]
    for tool in tools:
        found += [*_worded(tool), *_weighed(tool)]
    found += [*_alike(tools), *_shared(tools)]
    lines = {str(document.path): document.path.read_text(encoding="utf-8").splitlines() for document in documents}
    kept = [finding for finding in found if not _is_waived(finding, lines[finding.file][finding.line - 1])]
    return sorted(kept, key=lambda finding: (finding.file, finding.line, finding.rule))


def _is_waived(finding: Finding, line: str) -> bool:
    waiver = WAIVER.search(line)
    return waiver is not None and waiver[1] == finding.rule


def _from_compiler(problem: str) -> Finding:
    file, line, text = re.fullmatch(r"(.*?):(?:(\d+):)? (.*)", problem, re.DOTALL).groups()  # type: ignore[union-attr]
    return Finding(file, int(line or 1), "source", text, "nothing else is checked until it compiles")


def _finding(document: yaml_loader.Document, at: yaml_loader.Location, rule: str, problem: str, advice: str) -> Finding:
    file, _, line = document.where(at).rpartition(":")
    return Finding(file, int(line), rule, problem, advice)


def _tools(catalog: Catalog, documents: Iterable[yaml_loader.Document]) -> Iterator[_Tool]:
    for document in documents:
        for number, written in enumerate(document.data.get("tools", ())):
            compiled = catalog.get(written["name"])
            assert compiled is not None, "what compiles is in the catalog"  # noqa: S101
            yield _Tool(compiled, written, document, ("tools", number))


def _spoken(document: yaml_loader.Document) -> Iterator[Finding]:
    for at, text in _texts(document.data):
        for what, words in prompt_injection.find_prompt_injection(text):
            advice = "say what the tool returns, in visible letters, to whoever reads"
            yield _finding(document, at, "speaks-to-model", f"{_path(at)} {what}: {words}", advice)


def _texts(value: Any, at: yaml_loader.Location = ()) -> Iterator[tuple[yaml_loader.Location, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(str(key), (*at, key))
            yield from _texts(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*at, number))


def _path(at: yaml_loader.Location) -> str:
    return ".".join(str(part) for part in at if isinstance(part, str)) or "the file"


def _worded(tool: _Tool) -> Iterator[Finding]:
    """Yield what its words leave a model to choose by."""
    if not tool.summary - tool.named - GENERIC:
        advice = "say what comes back, of what, and how often or how far"
        yield tool.finding("says-the-name", "the summary says nothing beyond the name", advice, "summary")
    if (count := len(tool.text - GENERIC)) < FEWEST_WORDS:
        problem = f"summary and description have {count} different words that mean something"
        advice = f"{FEWEST_WORDS} are the least: units, limits, what sets it apart from its neighbours"
        yield tool.finding("too-short", problem, advice, "description")
    for key in ("summary", "description"):
        if found := _EMPTY.search(tool.written[key]):
            advice = "drop it, or say what is true of this tool alone"
            yield tool.finding("empty-words", f"the {key} says {found.group()!r}", advice, key)
    if (count := len(tool.written.get("example_queries", ()))) not in EXAMPLE_QUERIES:
        advice = f"write {EXAMPLE_QUERIES.start} to {EXAMPLE_QUERIES.stop - 1}, each in other words"
        yield tool.finding("example-queries", f"has {count} example queries", advice, "example_queries")


def _weighed(tool: _Tool) -> Iterator[Finding]:
    """Yield what it costs to read."""
    compiled = tool.compiled
    if (cost := tokens.count(f"{tool.name}: {compiled.summary}")) > LINE_TOKENS:
        problem = f"name and summary have about {cost} tokens"
        yield tool.finding("line-tokens", problem, f"shorten the summary to {LINE_TOKENS}", "summary")
    description = f"{compiled.summary}. {compiled.description}"
    schema = {"name": tool.name, "description": description, "parameters": compiled.parameters}
    properties = json_schema.properties(compiled.parameters)
    more = max(0, len(properties) - USUAL_PARAMETERS)
    allowed = SCHEMA_TOKENS + more * PARAMETER_TOKENS
    if (cost := tokens.count(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))) > allowed:
        longest = max(properties, key=lambda name: tokens.count(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost} tokens, most of them in {longest}"
        yield tool.finding("schema-tokens", problem, f"shorten descriptions to {allowed}", "parameters")


def _alike(tools: list[_Tool]) -> Iterator[Finding]:
    for one, other in itertools.combinations(tools, 2):
        if one.summary == other.summary:
            place = other.document.where((*other.at, "summary"))
            advice = "say in each what the other does not have"
            problem = f"the summary has the same words as {other.name}'s ({place})"
            yield one.finding("same-summary", problem, advice, "summary")
        if _is_set_apart(one, other):
            continue
        parts = {
            "summary": _overlap(one.summary, other.summary),
            "text": _overlap(one.text, other.text),
            "schema": _overlap(one.shape, other.shape),
        }
        # The names last: comparing them takes a hundred times as long, and seldom can they still decide.
        if LIKENESS["name"] + _likeness(parts) < MOST_ALIKE:
            continue
        parts["name"] = difflib.SequenceMatcher(None, one.name, other.name, autojunk=False).ratio()
        if _likeness(parts) >= MOST_ALIKE:
            shown = ", ".join(f"{part} {100 * share:.0f} %" for part, share in parts.items())
            problem = f"is too alike {other.name} ({other.document.where(other.at)}): {shown}"
            advice = (
                "make one of them, or say in both summaries what sets them apart, or in use_instead which requests "
                "are the other's"
            )
            yield one.finding("too-alike", problem, advice, "name")


def _is_set_apart(one: _Tool, other: _Tool) -> bool:
    """Return whether each names, in its summary, a thing that is in its own name and nowhere with the other (copper,
    aluminum), or one says which requests belong to the other (``use_instead``)."""
    if other.name in one.compiled.use_instead.values() or one.name in other.compiled.use_instead.values():
        return True
    return bool(one.named & one.summary - other.text) and bool(other.named & other.summary - one.text)


def _likeness(parts: Mapping[str, float]) -> float:
    return sum(LIKENESS[part] * share for part, share in parts.items())


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _shared(tools: list[_Tool]) -> Iterator[Finding]:
    """Yield names, aliases and example queries that two tools claim: a search could not tell whose they are."""
    named = {_spelled(in_words(tool.name)): (tool.name, "names") for tool in tools}
    asked: dict[str, tuple[str, str]] = {}
    for tool in tools:
        for key, owners in (("aliases", named), ("example_queries", asked)):
            for number, phrase in enumerate(tool.written.get(key, ())):
                name, what = owners.setdefault(_spelled(phrase), (tool.name, key))
                if name != tool.name:
                    problem = f"{phrase!r} is also among the {what} of {name}"
                    advice = "leave it to the one that is meant"
                    yield tool.finding("shared-words", problem, advice, key, number)


def _spelled(phrase: str) -> str:
    return " ".join(phrase.lower().split())
