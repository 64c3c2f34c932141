"""Check the texts that a model reads: ``toolfold catalog lint``.

:func:`check` compiles a folder and reports texts without information, instructions to the model, and excessive length.
:data:`RULES` lists the rules. The thresholds were chosen so that the tools of Alpha Vantage pass.

Others wrote the texts of imported tools, so that their findings are warnings, with wider thresholds.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from toolfold.build import text_safety, yaml_loader
from toolfold.build.compiler import CompiledFolder, ToolDefinition, compile_sources
from toolfold.build.importers import base as importers
from toolfold.build.schema import VOCABULARY
from toolfold.catalog import json_schema
from toolfold.catalog.tokenizer import in_words, stems
from toolfold.errors import SourceError
from toolfold.results import tokens
from toolfold.text_safety import counted


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
    "says-the-name": "a summary states more than the name and the title",
    "too-short": "summary and description have enough words to choose a tool",
    "typed-secret": "no key, token or password is typed into source.yaml",
    "speaks-to-model": "texts describe; they give no instructions and hide nothing",
    "line-tokens": "the line of a tool in TOOL_LIST is within its token limit",
    "schema-tokens": "name, description and parameters of a tool are within their token limit",
}
"""Rule → condition that it requires."""

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


class Checked(NamedTuple):
    """The findings for a folder, sorted by file and line, and its catalog; None: it does not compile."""

    findings: list[Finding]
    compiled: CompiledFolder | None


def check(folder: Path) -> Checked:
    """Compile the sources below ``folder``, and check their texts.

    If the catalog does not compile, the findings are the errors of the compiler.
    """
    try:
        compiled = compile_sources(folder)
    except SourceError as error:
        return Checked([_finding(problem) for problem in error.problems], None)
    documents = list(_documents(path for path in sorted(folder.glob("*/*.yaml")) if _is_written(path)))
    found = [finding for document in documents for finding in _check_injection(document)]
    found += _secrets(documents)
    written = [tool for source, _, tool in compiled.tools if not source.is_imported]
    found += [finding for tool in written for finding in _check_texts(tool, _WRITTEN)]
    kept = _without_waived(found)
    kept += [_finding(problem, "left-out", _EXCLUDE) for problem in compiled.left_out]
    kept += _check_imported(compiled.tools)
    return Checked(sorted(kept, key=lambda finding: (finding.file, finding.line, finding.rule)), compiled)


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
    of_service = (one.data for one in _documents([path.with_name("source.yaml")]) if isinstance(one.data, dict))
    is_openapi = any(data.get("kind") == "openapi" for data in of_service)
    return not is_openapi or path.name in ("source.yaml", importers.OVERLAY, VOCABULARY)


def _secrets(documents: Iterable[yaml_loader.Document]) -> list[Finding]:
    found = []
    for document in documents:
        path = Path(document.path)
        if path.name == "source.yaml" and isinstance(document.data, dict):
            for at, name, advice in text_safety.find_typed_secrets({"id": path.parent.name, **document.data}):
                problem = f"{document.where(*at)}: {name}: {text_safety.PROBLEM}"
                found.append(_finding(problem, "typed-secret", advice, is_warning=True))
    return found


def _without_waived(findings: list[Finding]) -> list[Finding]:
    lines = {file: Path(file).read_text(encoding="utf-8").splitlines() for file in {one.file for one in findings}}

    def is_waived(finding: Finding) -> bool:
        waiver = WAIVER.search(lines[finding.file][finding.line - 1])
        return waiver is not None and waiver[1] == finding.rule

    return [finding for finding in findings if not is_waived(finding)]


def _finding(problem: str, rule: str = "source", advice: str = _CORRECT, *, is_warning: bool = False) -> Finding:
    """Return the finding that ``file:line: problem`` is, or ``file: problem``."""
    found = re.fullmatch(r"(.*?):(\d+): (.*)", problem, re.DOTALL)
    file, line, text = found.groups() if found else (problem.partition(": ")[0], 1, problem.partition(": ")[2])
    return Finding(file, int(line), rule, text, advice, is_warning)


def _check_imported(tools: Iterable[ToolDefinition]) -> Iterator[Finding]:
    """Yield the first warnings of each rule about each imported source, and how many more there are."""
    for source, group in itertools.groupby(tools, key=lambda entry: entry.source):
        texts = (_check_texts(entry.tool, _IMPORTED) for entry in group if source.is_imported)
        found = sorted(itertools.chain.from_iterable(texts), key=lambda finding: finding.line)
        for rule in RULES:
            own = [one for one in found if one.rule == rule]
            yield from own[:MAX_SHOWN]
            if more := own[MAX_SHOWN:]:
                problem = f"{counted(len(more), 'more tool')} of {source.settings.id}: the same problem"
                yield dataclasses.replace(more[-1], problem=problem)


def _check_injection(document: yaml_loader.Document) -> Iterator[Finding]:
    for at, text in text_safety.texts_in(document.data):
        for what, words in text_safety.find_prompt_injection(text):
            advice = "describe what the tool returns, in visible characters"
            path = ".".join(part for part in at if isinstance(part, str)) or "the file"
            yield _finding(f"{document.where(*at)}: {path} {what}: {words}", "speaks-to-model", advice)


def _check_texts(tool: importers.Tool, limits: _Limits) -> Iterator[Finding]:
    def finding(rule: str, problem: str, at: str, most: int = 0) -> Finding:
        # Of a tool that is named after its source, no text is required.
        is_warning = limits is _IMPORTED or tool.name != tool.function
        advice = _ADVICE[rule][limits is _IMPORTED].format(most=most)
        return _finding(f"{tool.where(at)}: {tool.name}: {problem}", rule, advice, is_warning=is_warning)

    description = f"{tool.summary}. {tool.description}"
    count = len({*stems(description)} - GENERIC)
    if count < limits.words:
        yield finding("too-short", f"summary and description have {count} different specific words", "description")
    says_more = {*stems(tool.summary)} - {*stems(f"{in_words(tool.name)} {tool.title}")} - GENERIC
    if not says_more and (limits is _WRITTEN or count >= limits.words):
        yield finding("says-the-name", "the summary only repeats the name", "summary")
    if (cost := tokens.count(f"{tool.name}: {tool.summary}")) > limits.line_tokens:
        yield finding("line-tokens", f"name and summary have about {cost} tokens", "summary")
    properties = json_schema.properties(tool.parameters)
    most = limits.schema_tokens + max(0, len(properties) - USUAL_PARAMETERS) * limits.parameter_tokens
    schema = {"name": tool.name, "description": description, "parameters": tool.parameters}
    if (cost := tokens.count(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))) > most:
        longest = max(properties, key=lambda name: len(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost:,} tokens, most of them in {longest}"
        yield finding("schema-tokens", problem, "parameters", most)
