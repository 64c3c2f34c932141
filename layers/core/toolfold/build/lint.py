"""Check the texts that a model reads: ``toolfold catalog lint``.

:func:`check` compiles a folder and reports tools that are too similar, texts without information, instructions to the
model, and excessive length. :data:`RULES` lists the rules; ``docs/reference/catalog-format.md`` explains them. The
thresholds were chosen so that the 129 tools of Alpha Vantage pass, and a reworded copy of one of them does not.

Others wrote the texts of imported tools, so that their findings are warnings, with wider thresholds. Every rule for
them takes one pass over the tools: a document of GitHub has a thousand.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from toolfold.build import text_safety, yaml_loader
from toolfold.build.compiler import compile_sources
from toolfold.build.importers import base as importers
from toolfold.catalog import json_schema
from toolfold.catalog.tokenizer import in_words, stems
from toolfold.errors import SourceError
from toolfold.results import tokens


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule. ``str()`` is ``file:line: rule: problem; advice``.

    A warning is about a tool whose texts may be generated, or are of others: it does not keep a catalog from being
    published.
    """

    file: str
    line: int
    rule: str
    problem: str
    advice: str
    is_warning: bool = False

    def __str__(self) -> str:
        warning = "warning: " if self.is_warning else ""
        return f"{self.file}:{self.line}: {warning}{self.rule}: {self.problem}; {self.advice}"


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
MAX_LINE_TOKENS = 30
MAX_SCHEMA_TOKENS = 350
USUAL_PARAMETERS = 6
PARAMETER_TOKENS = 50
"""Tokens that each further parameter may add. A parameter has 25 (a flag) to 60 (a month with its pattern)."""


class _Limits(NamedTuple):
    """Thresholds of the texts of one tool.

    ``words`` are different, specific ones in summary and description: below those of imported tools, a tool is found by
    its name alone; the minimum of Alpha Vantage is 14. ``line_tokens`` are of ``NAME: summary``, 18 on average there;
    ``schema_tokens`` of name, description and up to :data:`USUAL_PARAMETERS` parameters as compact JSON.
    """

    words: int
    line_tokens: int
    schema_tokens: int
    parameter_tokens: int


_WRITTEN = _Limits(MIN_WORDS, MAX_LINE_TOKENS, MAX_SCHEMA_TOKENS, PARAMETER_TOKENS)
_IMPORTED = _Limits(3, 60, 1_500, 0)

_ADVICE = {
    "says-the-name": (
        "state what the tool returns, for what, and how often or how far back",
        "write a summary in overlay.yaml",
    ),
    "too-short": (
        f"write at least {MIN_WORDS}: units, limits, the difference from similar tools",
        "write a description in overlay.yaml",
    ),
    "line-tokens": (f"shorten the summary to {MAX_LINE_TOKENS}", "write a shorter summary in overlay.yaml"),
    "schema-tokens": ("shorten descriptions to {most}", "leave the tool out with exclude where it is not needed"),
    "same-summary": ("state in each what the other does not have", "write the difference in overlay.yaml"),
}
"""Rule → what to do about a finding of a tool that was written, and of an imported one."""

MAX_SHOWN = 20
"""Findings of one rule and imported source that are listed; the last says how many more there are."""

_CORRECT = "correct it first; the other rules need a compiled catalog"
_EXCLUDE = "correct the document, or accept it with exclude in source.yaml"

GENERIC = frozenset(
    stems(
        "api data dataset endpoint feature function information info item method object operation output query record "
        "request response result service tool utility value various thing return fetch retrieve provide allow enable "
        "use useful helper general generic main new"
    )
)
"""Terms that apply to every tool."""


WAIVER = re.compile(r"#\s*lint: allow ([a-z-]+): \S+")
"""A comment that suppresses a finding on its line: ``# lint: allow schema-tokens: reason``."""

EXAMPLE_QUERIES = range(8, 21)
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


@dataclass(frozen=True)
class _Tool:
    """A tool of a source, and the sets of words that the rules compare."""

    described: importers.Tool
    source: str
    limits: _Limits

    @property
    def name(self) -> str:
        return self.described.name

    @functools.cached_property
    def named(self) -> frozenset[str]:
        return frozenset(stems(f"{in_words(self.name)} {self.described.title}"))

    @functools.cached_property
    def summary(self) -> frozenset[str]:
        return frozenset(stems(self.described.summary))

    @functools.cached_property
    def text(self) -> frozenset[str]:
        return frozenset(stems(f"{self.described.summary} {self.described.description}"))

    @functools.cached_property
    def shape(self) -> frozenset[str]:
        parameters = self.described.parameters
        return frozenset(
            f"{key} {' '.join(json_schema.type_words(parameters, rule))} {rule.get('enum')}"
            for key, rule in json_schema.properties(parameters).items()
        )

    def finding(self, rule: str, problem: str, at: str, *more: str | int, advice: str = "") -> Finding:
        # Of a tool that is named after its source, no text is required.
        is_warning = self.limits is _IMPORTED or self.name != self.described.function
        text, where = f"{self.name}: {problem}", self.described.where(at, *more)
        return _finding(where, rule, text, advice or self.advice(rule), is_warning=is_warning)

    def advice(self, rule: str) -> str:
        return _ADVICE[rule][self.limits is _IMPORTED]


def check(folder: Path) -> list[Finding]:
    """Return the findings for the catalog below ``folder``, sorted by file and line.

    If the catalog does not compile, only the errors of the compiler are returned.
    """
    try:
        compiled = compile_sources(folder)
    except SourceError as error:
        return [_from_compiler(problem) for problem in error.problems]
    documents = list(_documents(path for path in sorted(folder.glob("*/*.yaml")) if _is_written(path)))
    tools, imported = list[_Tool](), list[_Tool]()
    for source, _, described in compiled.tools:
        limits, members = (_IMPORTED, imported) if source.is_imported else (_WRITTEN, tools)
        members.append(_Tool(described, source.settings.id, limits))
    found = [finding for document in documents for finding in _check_injection(document)]
    found += _secrets(documents)
    for tool in tools:
        found += [*_check_texts(tool), *_check_wording(tool)]
    found += [*_check_same_texts(tools), *_check_similarity(tools), *_check_shared_phrases(tools)]
    kept = _without_waived(found)
    kept += [_from_compiler(problem, "left-out", _EXCLUDE) for problem in compiled.left_out]
    kept += _check_imported(imported)
    return sorted(kept, key=lambda finding: (finding.file, finding.line, finding.rule))


def find_secrets(folder: Path) -> list[Finding]:
    """Return a warning for each secret that is typed into a ``source.yaml`` below ``folder``."""
    return _without_waived(_secrets(_documents(sorted(folder.glob("*/source.yaml")))))


def _documents(paths: Iterable[Path]) -> Iterator[yaml_loader.Document]:
    for path in paths:
        try:
            yield yaml_loader.load(path)
        except SourceError:  # which the compiler reports
            continue


def _is_written(path: Path) -> bool:
    """Return whether a file was written for this catalog, as the document of an OpenAPI service was not."""
    for source in _documents([path.with_name("source.yaml")]):
        if isinstance(source.data, dict) and source.data.get("kind") == "openapi":
            return path.name not in (source.data.get("document"), "openapi.yaml")
    return True


def _secrets(documents: Iterable[yaml_loader.Document]) -> list[Finding]:
    found = []
    for document in documents:
        path = Path(document.path)
        if path.name == "source.yaml" and isinstance(document.data, dict):
            for at, name, advice in text_safety.find_typed_secrets({"id": path.parent.name, **document.data}):
                where = document.where(*at)
                found.append(_finding(where, "typed-secret", f"{name}: {text_safety.PROBLEM}", advice, is_warning=True))
    return found


def _without_waived(findings: list[Finding]) -> list[Finding]:
    lines = {file: Path(file).read_text(encoding="utf-8").splitlines() for file in {one.file for one in findings}}

    def is_waived(finding: Finding) -> bool:
        waiver = WAIVER.search(lines[finding.file][finding.line - 1])
        return waiver is not None and waiver[1] == finding.rule

    return [finding for finding in findings if not is_waived(finding)]


def _from_compiler(problem: str, rule: str = "source", advice: str = _CORRECT) -> Finding:
    file, line, text = re.fullmatch(r"(.*?):(?:(\d+):)? (.*)", problem, re.DOTALL).groups()  # type: ignore[union-attr]
    return Finding(file, int(line or 1), rule, text, advice)


def _finding(where: str, rule: str, problem: str, advice: str, *, is_warning: bool = False) -> Finding:
    file, _, line = where.rpartition(":")
    return Finding(file, int(line), rule, problem, advice, is_warning)


def _check_imported(tools: Iterable[_Tool]) -> Iterator[Finding]:
    """Yield the first warnings of each rule about each source, and how many more there are."""
    for source, group in itertools.groupby(tools, key=lambda tool: tool.source):
        members = list(group)
        found = [finding for tool in members for finding in _check_texts(tool)] + list(_check_same_texts(members))
        for rule in RULES:
            own = sorted((one for one in found if one.rule == rule), key=lambda finding: finding.line)
            yield from own[:MAX_SHOWN]
            if more := own[MAX_SHOWN:]:
                yield dataclasses.replace(more[-1], problem=f"{len(more)} more tools of {source} have the same problem")


def _check_injection(document: yaml_loader.Document) -> Iterator[Finding]:
    for at, text in text_safety.texts_in(document.data):
        for what, words in text_safety.find_prompt_injection(text):
            advice = "describe what the tool returns, in visible characters"
            path = ".".join(part for part in at if isinstance(part, str)) or "the file"
            yield _finding(document.where(*at), "speaks-to-model", f"{path} {what}: {words}", advice)


def _check_texts(tool: _Tool) -> Iterator[Finding]:
    limits, described = tool.limits, tool.described
    count = len(tool.text - GENERIC)
    if count < limits.words:
        yield tool.finding("too-short", f"summary and description have {count} different specific words", "description")
    if not tool.summary - tool.named - GENERIC and (limits is _WRITTEN or count >= limits.words):
        yield tool.finding("says-the-name", "the summary only repeats the name", "summary")
    if (cost := tokens.count(f"{tool.name}: {described.summary}")) > limits.line_tokens:
        yield tool.finding("line-tokens", f"name and summary have about {cost} tokens", "summary")
    properties = json_schema.properties(described.parameters)
    most = limits.schema_tokens + max(0, len(properties) - USUAL_PARAMETERS) * limits.parameter_tokens
    description = f"{described.summary}. {described.description}"
    schema = {"name": tool.name, "description": description, "parameters": described.parameters}
    if (cost := tokens.count(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))) > most:
        longest = max(properties, key=lambda name: len(json.dumps(properties[name])), default="no parameter")
        advice = tool.advice("schema-tokens").format(most=most)
        problem = f"its schema has about {cost:,} tokens, most of them in {longest}"
        yield tool.finding("schema-tokens", problem, "parameters", advice=advice)


def _check_wording(tool: _Tool) -> Iterator[Finding]:
    for key in ("summary", "description"):
        if found := _EMPTY.search(getattr(tool.described, key)):
            problem, advice = f"the {key} contains {found.group()!r}", "remove it, or state what only this tool does"
            yield tool.finding("empty-words", problem, key, advice=advice)
    if (count := len(tool.described.example_queries)) not in EXAMPLE_QUERIES:
        advice = f"write {EXAMPLE_QUERIES.start} to {EXAMPLE_QUERIES.stop - 1}, each in other words"
        yield tool.finding("example-queries", f"has {count} example queries", "example_queries", advice=advice)


def _check_same_texts(tools: Iterable[_Tool]) -> Iterator[Finding]:
    """Yield the tools whose texts have the words of an earlier one's."""
    summaries: dict[frozenset[str], _Tool] = {}
    texts: dict[frozenset[str], _Tool] = {}
    for tool in tools:
        alike, same = texts.setdefault(tool.text, tool), summaries.setdefault(tool.summary, tool)
        if alike is not tool and tool.limits is _IMPORTED:  # the similarity of others is measured
            problem, advice = f"summary and description have the same words as those of {alike.name}", "same-summary"
            yield tool.finding("too-alike", problem, "summary", advice=tool.advice(advice))
        elif same is not tool:
            problem = f"the summary has the same words as {same.name}'s ({same.described.where('summary')})"
            yield tool.finding("same-summary", problem, "summary")


def _check_similarity(tools: list[_Tool]) -> Iterator[Finding]:
    for tool, other in itertools.combinations(tools, 2):
        # Each summary has a word of its own name that the other tool does not have: copper, aluminum.
        differs = tool.named & tool.summary - other.text and other.named & other.summary - tool.text
        named = {*tool.described.use_instead.values(), *other.described.use_instead.values()}
        if differs or named & {tool.described.function, other.described.function}:
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
            problem = f"is too similar to {other.name} ({other.described.where('name')}): {shown}"
            advice = (
                "merge them, or state the difference in both summaries, or list in use_instead which requests belong "
                "to the other"
            )
            yield tool.finding("too-alike", problem, "name", advice=advice)


def _similarity(parts: Mapping[str, float]) -> float:
    return sum(SIMILARITY_WEIGHTS[part] * share for part, share in parts.items())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _check_shared_phrases(tools: list[_Tool]) -> Iterator[Finding]:
    """Yield aliases and example queries of one tool that are a name, an alias or an example query of another."""

    def normalized(phrase: str) -> str:
        return " ".join(phrase.lower().split())

    named = {normalized(in_words(tool.name)): (tool.name, "names") for tool in tools}
    queried: dict[str, tuple[str, str]] = {}
    for tool in tools:
        for key, owners in (("aliases", named), ("example_queries", queried)):
            for number, phrase in enumerate(getattr(tool.described, key)):
                name, what = owners.setdefault(normalized(phrase), (tool.name, key))
                if name != tool.name:
                    problem = f"{phrase!r} is also in the {what} of {name}"
                    advice = "keep it only in the tool that serves it"
                    yield tool.finding("shared-words", problem, key, number, advice=advice)
