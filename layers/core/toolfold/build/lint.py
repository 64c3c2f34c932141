"""Check the texts that a model reads: ``toolfold catalog lint``.

:func:`check` compiles a folder and reports tools that are too similar, texts without information, instructions to the
model, and excessive length. :data:`RULES` lists the rules; ``docs/reference/catalog-format.md`` explains them. The
thresholds were chosen so that the 129 tools of Alpha Vantage pass, and a reworded copy of one of them does not.

Check the texts of imported tools: others wrote them, so that all findings are warnings.

The thresholds are wider than those of :mod:`toolfold.build.lint`, and every rule takes one pass over the tools of a
source: a document of GitHub has a thousand. ``overlay.yaml`` is where a text is corrected.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolfold.build import prompt_injection, yaml_loader
from toolfold.build.compiler import compile_sources
from toolfold.build.typed_secrets import check_secrets
from toolfold.build.validation_errors import Finding
from toolfold.catalog import json_schema
from toolfold.catalog.entries import Tool
from toolfold.catalog.entries import Tool as Compiled
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.catalog.tokenizer import in_words, stems
from toolfold.errors import SourceError
from toolfold.results import tokens

MIN_IMPORTED_WORDS = 3
"""Specific words of summary and description. Below it a tool is found by its name alone."""

MAX_IMPORTED_LINE_TOKENS = 60
"""Of ``NAME: summary``: twice what a hand-written tool may have. Names of operations are long."""

MAX_IMPORTED_SCHEMA_TOKENS = 1_500
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
            yield tool.source, _imported_finding(name, where, rule, problem, advice)
        alike = texts.setdefault((tool.source, text), name)
        same = summaries.setdefault((tool.source, summary), name)
        if alike != name:
            problem = f"summary and description have the same words as those of {alike}"
            yield tool.source, _imported_finding(name, where, "too-alike", problem, _OVERLAY.format("the difference"))
        elif same != name:
            problem = f"the summary has the same words as that of {same}"
            yield (
                tool.source,
                _imported_finding(name, where, "same-summary", problem, _OVERLAY.format("the difference")),
            )


def _wording(tool: Tool, summary: frozenset[str], text: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    named = set(stems(f"{in_words(tool.name)} {tool.title}"))
    if len(text - GENERIC) < MIN_IMPORTED_WORDS:
        problem = f"summary and description have {len(text - GENERIC)} specific words"
        yield "too-short", problem, _OVERLAY.format("a description")
    elif not summary - named - GENERIC:
        yield "says-the-name", "the summary only repeats the name", _OVERLAY.format("a summary")


def _sizes(tool: Tool) -> Iterator[tuple[str, str, str]]:
    if (cost := tokens.count(f"{tool.name}: {tool.summary}")) > MAX_IMPORTED_LINE_TOKENS:
        yield "line-tokens", f"name and summary have about {cost} tokens", _OVERLAY.format("a shorter summary")
    schema = {"description": f"{tool.summary}. {tool.description}", "parameters": tool.parameters}
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    if (cost := tokens.count(text)) > MAX_IMPORTED_SCHEMA_TOKENS:
        properties = json_schema.properties(tool.parameters)
        longest = max(properties, key=lambda name: len(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost:,} tokens, most of them in {longest}"
        yield "schema-tokens", problem, "leave the tool out with exclude where it is not needed"


def _imported_finding(name: str, where: str, rule: str, problem: str, advice: str) -> Finding:
    file, _, line = where.rpartition(":")
    return Finding(file, int(line), rule, f"{name}: {problem}", advice, is_warning=True)


RULES = {
    "source": "the YAML compiles",
    "left-out": "what an imported source describes can be a tool, or is excluded",
    "too-alike": "no two tools are similar without stating the difference",
    "same-summary": "no two summaries have the same words",
    "says-the-name": "a summary states more than the name and the title",
    "too-short": "summary and description have enough words to choose a tool",
    "empty-words": "texts contain no phrases that apply to every tool",
    "typed-secret": "no key, token or password is typed into source.yaml",
    "speaks-to-model": "texts describe; they give no instructions and hide nothing",
    "line-tokens": "the line of a tool in TOOL_LIST is within its token limit",
    "schema-tokens": "name, description and parameters of a tool are within their token limit",
    "example-queries": "each tool has enough example queries for the search, and not too many",
    "shared-words": "an alias or an example query belongs to one tool",
}
"""Rule → condition that it requires."""

SIMILARITY_WEIGHTS = {"name": 0.2, "summary": 0.3, "text": 0.3, "schema": 0.2}
"""Weights of the parts of the similarity of two tools, each 0 to 1: letters of the names, words of the summaries, words
of summary and description, parameters with their types and values."""

MAX_SIMILARITY = 0.6
"""Similarity from which two tools must state their difference. The most similar pair of Alpha Vantage that does not has
0.57; a copy with one word in four changed has 0.7."""

MIN_WORDS = 10
"""Minimum number of different, specific words in summary and description. The minimum of Alpha Vantage is 14."""

MAX_LINE_TOKENS = 30
"""Maximum tokens of ``NAME: summary``. Alpha Vantage has 18 on average; every listing of the tools contains them."""

MAX_SCHEMA_TOKENS = 350
"""Maximum tokens of name, description and parameters as compact JSON, for up to :data:`USUAL_PARAMETERS`."""

USUAL_PARAMETERS = 6
PARAMETER_TOKENS = 50
"""Tokens that each further parameter may add. A parameter has 25 (a flag) to 60 (a month with its pattern)."""

_CORRECT = "correct it first; the other rules need a compiled catalog"
_EXCLUDE = "correct the document, or accept it with exclude in source.yaml"

WAIVER = re.compile(r"#\s*lint: allow ([a-z-]+): \S+")
"""A comment that suppresses a finding on its line: ``# lint: allow schema-tokens: reason``."""

EXAMPLE_QUERIES = range(8, 16)
"""Allowed number of example queries. With fewer, requests are missed; with more, a tool outranks similar tools."""

_EMPTY = re.compile(
    r"\bthis (?:tool|function|endpoint|api|method|service)\b|\b(?:is|are|can be) used (?:to|for|by)\b"
    r"|\b(?:allows?|enables?|lets?|helps?) (?:you|one|users?|the user)\b"
    r"|\b(?:an?|the) (?:tool|function|endpoint|api|method|service|utility) (?:that|to|for|which)\b"
    r"|\b(?:powerful|easy[- ]to[- ]use|comprehensive|cutting[- ]edge|best[- ]in[- ]class|seamless(?:ly)?)\b"
    r"|\b(?:and so on|etc)\b|\bvarious (?:data|information|kinds|types|things)\b|\b(?:tbd|todo|lorem ipsum)\b",
    re.IGNORECASE,
)
"""Phrases without information: references to the tool, praise, placeholders, and open-ended lists."""


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool, compiled and in YAML, with the sets of words that the rules compare."""

    compiled: Compiled
    yaml_entry: Mapping[str, Any]
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

    def written(self, key: str) -> str:
        """Return a text of the YAML, or what the compiler made in its place."""
        return str(self.yaml_entry.get(key) or getattr(self.compiled, key))

    def finding(self, rule: str, problem: str, advice: str, *at: str | int) -> Finding:
        found = _finding(self.document, (*self.at, *at), rule, f"{self.name}: {problem}", advice)
        # Of a tool with a request of its own, no text is required.
        return replace(found, is_warning="path" in self.yaml_entry)


def check(folder: Path) -> list[Finding]:
    """Return the findings for the catalog below ``folder``, sorted by file and line.

    If the catalog does not compile, only the errors of the compiler are returned.
    """
    try:
        compiled = compile_sources(folder)
    except SourceError as error:
        return [_from_compiler(problem) for problem in error.problems]
    catalog = parse_catalog(compiled.text.encode())
    documents = [yaml_loader.load(path) for path in sorted(folder.glob("*/*.yaml")) if _is_written(path)]
    tools = list(_tools(catalog, documents))
    found = [finding for document in documents for finding in _check_injection(document)]
    found += _secrets(documents)
    for tool in tools:
        found += [*_check_wording(tool), *_check_tokens(tool)]
    found += [*_check_similarity(tools), *_check_shared_phrases(tools)]
    kept = _without_waived(found)
    kept += [_from_compiler(problem, "left-out", _EXCLUDE) for problem in compiled.left_out]
    written = {tool.name for tool in tools}
    kept += check_imported(catalog, {name: where for name, where in compiled.imported.items() if name not in written})
    return sorted(kept, key=lambda finding: (finding.file, finding.line, finding.rule))


def find_secrets(folder: Path) -> list[Finding]:
    """Return a warning for each secret that is typed into a ``source.yaml`` below ``folder``."""
    return _without_waived(_secrets(yaml_loader.load(path) for path in sorted(folder.glob("*/source.yaml"))))


def _secrets(documents: Iterable[yaml_loader.Document]) -> list[Finding]:
    sources = [document for document in documents if Path(document.path).name == "source.yaml"]
    return [finding for document in sources for finding in check_secrets(document)]


def _without_waived(findings: list[Finding]) -> list[Finding]:
    """Return the findings whose lines do not accept them."""
    lines = {file: Path(file).read_text(encoding="utf-8").splitlines() for file in {one.file for one in findings}}
    return [finding for finding in findings if not _is_waived(finding, lines[finding.file][finding.line - 1])]


def _is_waived(finding: Finding, line: str) -> bool:
    waiver = WAIVER.search(line)
    return waiver is not None and waiver[1] == finding.rule


def _is_written(path: Path) -> bool:
    """Return whether a file was written for this catalog, as the document of an OpenAPI service was not."""
    source = path.with_name("source.yaml")
    data = yaml_loader.load(source).data if source.exists() else None
    if not isinstance(data, dict) or data.get("kind") != "openapi":
        return True
    return path.name not in (data.get("document"), "openapi.yaml")


def _from_compiler(problem: str, rule: str = "source", advice: str = _CORRECT) -> Finding:
    file, line, text = re.fullmatch(r"(.*?):(?:(\d+):)? (.*)", problem, re.DOTALL).groups()  # type: ignore[union-attr]
    return Finding(file, int(line or 1), rule, text, advice)


def _finding(document: yaml_loader.Document, at: yaml_loader.Location, rule: str, problem: str, advice: str) -> Finding:
    file, _, line = document.where(at).rpartition(":")
    return Finding(file, int(line), rule, problem, advice)


def _tools(catalog: Catalog, documents: Iterable[yaml_loader.Document]) -> Iterator[_Tool]:
    for document in documents:
        listed = document.data.get("tools", ()) if isinstance(document.data, dict) else ()
        for number, yaml_entry in enumerate(listed if isinstance(listed, list) else ()):
            compiled = catalog.get(yaml_entry["name"])
            if compiled is None:  # a source whose tools are named after it
                compiled = catalog.get(f"{Path(document.path).parent.name}__{yaml_entry['name']}")
            assert compiled is not None, "what compiles is in the catalog"  # noqa: S101
            yield _Tool(compiled, yaml_entry, document, ("tools", number))


def _check_injection(document: yaml_loader.Document) -> Iterator[Finding]:
    for at, text in _texts(document.data):
        for what, words in prompt_injection.find_prompt_injection(text):
            advice = "describe what the tool returns, in visible characters"
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


def _check_wording(tool: _Tool) -> Iterator[Finding]:
    """Yield findings about the wording of summary, description and example queries."""
    if not tool.summary - tool.named - GENERIC:
        advice = "state what the tool returns, for what, and how often or how far back"
        yield tool.finding("says-the-name", "the summary only repeats the name", advice, "summary")
    if (count := len(tool.text - GENERIC)) < MIN_WORDS:
        problem = f"summary and description have {count} different specific words"
        advice = f"write at least {MIN_WORDS}: units, limits, the difference from similar tools"
        yield tool.finding("too-short", problem, advice, "description")
    for key in ("summary", "description"):
        if found := _EMPTY.search(tool.written(key)):
            advice = "remove it, or state what only this tool does"
            yield tool.finding("empty-words", f"the {key} contains {found.group()!r}", advice, key)
    if (count := len(tool.yaml_entry.get("example_queries", ()))) not in EXAMPLE_QUERIES:
        advice = f"write {EXAMPLE_QUERIES.start} to {EXAMPLE_QUERIES.stop - 1}, each in other words"
        yield tool.finding("example-queries", f"has {count} example queries", advice, "example_queries")


def _check_tokens(tool: _Tool) -> Iterator[Finding]:
    compiled = tool.compiled
    if (cost := tokens.count(f"{tool.name}: {compiled.summary}")) > MAX_LINE_TOKENS:
        problem = f"name and summary have about {cost} tokens"
        yield tool.finding("line-tokens", problem, f"shorten the summary to {MAX_LINE_TOKENS}", "summary")
    description = f"{compiled.summary}. {compiled.description}"
    schema = {"name": tool.name, "description": description, "parameters": compiled.parameters}
    properties = json_schema.properties(compiled.parameters)
    more = max(0, len(properties) - USUAL_PARAMETERS)
    max_tokens = MAX_SCHEMA_TOKENS + more * PARAMETER_TOKENS
    if (cost := tokens.count(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))) > max_tokens:
        longest = max(properties, key=lambda name: tokens.count(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost} tokens, most of them in {longest}"
        yield tool.finding("schema-tokens", problem, f"shorten descriptions to {max_tokens}", "parameters")


def _check_similarity(tools: list[_Tool]) -> Iterator[Finding]:
    for tool, other in itertools.combinations(tools, 2):
        if tool.summary == other.summary:
            location = other.document.where((*other.at, "summary"))
            advice = "state in each what the other does not have"
            problem = f"the summary has the same words as {other.name}'s ({location})"
            yield tool.finding("same-summary", problem, advice, "summary")
        if _is_distinguished(tool, other):
            continue
        parts = {
            "summary": _overlap(tool.summary, other.summary),
            "text": _overlap(tool.text, other.text),
            "schema": _overlap(tool.shape, other.shape),
        }
        # Names last: comparing them takes a hundred times as long, and is rarely needed.
        if SIMILARITY_WEIGHTS["name"] + _similarity(parts) < MAX_SIMILARITY:
            continue
        parts["name"] = difflib.SequenceMatcher(None, tool.name, other.name, autojunk=False).ratio()
        if _similarity(parts) >= MAX_SIMILARITY:
            shown = ", ".join(f"{part} {100 * share:.0f} %" for part, share in parts.items())
            problem = f"is too similar to {other.name} ({other.document.where(other.at)}): {shown}"
            advice = (
                "merge them, or state the difference in both summaries, or list in use_instead which requests belong "
                "to the other"
            )
            yield tool.finding("too-alike", problem, advice, "name")


def _is_distinguished(tool: _Tool, other: _Tool) -> bool:
    """Return whether two tools state their difference.

    Each summary contains a word of its own name that the other tool does not have (copper, aluminum), or one tool lists
    requests of the other in ``use_instead``.
    """
    if other.name in tool.compiled.use_instead.values() or tool.name in other.compiled.use_instead.values():
        return True
    return bool(tool.named & tool.summary - other.text) and bool(other.named & other.summary - tool.text)


def _similarity(parts: Mapping[str, float]) -> float:
    return sum(SIMILARITY_WEIGHTS[part] * share for part, share in parts.items())


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _check_shared_phrases(tools: list[_Tool]) -> Iterator[Finding]:
    """Yield aliases and example queries of one tool that are a name, an alias or an example query of another."""
    named = {_normalized(in_words(tool.name)): (tool.name, "names") for tool in tools}
    queried: dict[str, tuple[str, str]] = {}
    for tool in tools:
        for key, owners in (("aliases", named), ("example_queries", queried)):
            for number, phrase in enumerate(tool.yaml_entry.get(key, ())):
                name, what = owners.setdefault(_normalized(phrase), (tool.name, key))
                if name != tool.name:
                    problem = f"{phrase!r} is also in the {what} of {name}"
                    advice = "keep it only in the tool that serves it"
                    yield tool.finding("shared-words", problem, advice, key, number)


def _normalized(phrase: str) -> str:
    return " ".join(phrase.lower().split())
