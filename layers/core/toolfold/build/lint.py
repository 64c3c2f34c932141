"""Check the texts that a model reads: ``toolfold catalog lint``.

:func:`check` compiles a folder and reports texts without information, instructions to the model, and excessive length.
:data:`RULES` lists the rules. The thresholds were chosen so that the tools of Alpha Vantage pass.

Others wrote the texts of imported tools, so that their findings are warnings, with wider thresholds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from toolfold.build import text_safety, yaml_loader
from toolfold.build.compiler import CompiledFolder, compile_sources
from toolfold.build.importers.base import Tool
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
    "left-out": "what a source describes can be a tool, or is excluded; no text of it instructs the model",
    "too-short": "summary and description have enough words to choose a tool",
    "typed-secret": "no key, token or password is typed into source.yaml",
    "schema-tokens": "name, description and parameters of a tool are within their token limit",
}
"""Rule → condition that it requires."""

MIN_WORDS, MIN_IMPORTED_WORDS = 10, 3
"""Different words in summary and description that the name and the title do not have: below those of an imported tool,
it is found by its name alone."""

MAX_SCHEMA_TOKENS, MAX_IMPORTED_SCHEMA_TOKENS = 600, 1_500
"""Tokens of name, description and parameters as compact JSON. A parameter has 25 (a flag) to 60 (a month with its
pattern)."""

_CORRECT = "correct it first; the other rules need a compiled catalog"
_EXCLUDE = "correct the document, or accept it with exclude in source.yaml"


class Checked(NamedTuple):
    """The findings for a folder, warnings first, by file and line, and its catalog; None: it does not compile."""

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
    found = find_secrets(folder)
    found += (_finding(problem, "left-out", _EXCLUDE) for problem in compiled.left_out)
    for source, _, tool in compiled.tools:
        found += _check_texts(tool, is_imported=source.is_imported)
    return Checked(sorted(found, key=lambda one: (not one.is_warning, one.file, one.line, one.rule)), compiled)


def find_secrets(folder: Path) -> list[Finding]:
    """Return a warning for each secret that is typed into a ``source.yaml`` below ``folder``."""
    found = []
    for path in sorted(folder.glob("*/source.yaml")):
        try:
            document = yaml_loader.load(path)
        except SourceError:  # which the compiler reports
            continue
        if isinstance(document.data, dict):
            for at, name, advice in text_safety.find_typed_secrets({"id": path.parent.name, **document.data}):
                problem = f"{document.where(*at)}: {name}: {text_safety.PROBLEM}"
                found.append(_finding(problem, "typed-secret", advice, is_warning=True))
    return found


def _finding(problem: str, rule: str = "source", advice: str = _CORRECT, *, is_warning: bool = False) -> Finding:
    """Return the finding that ``file:line: problem`` is, or ``file: problem``."""
    found = re.fullmatch(r"(.*?):(\d+): (.*)", problem, re.DOTALL)
    file, line, text = found.groups() if found else (problem.partition(": ")[0], 1, problem.partition(": ")[2])
    return Finding(file, int(line), rule, text, advice, is_warning)


def _check_texts(tool: Tool, *, is_imported: bool) -> Iterator[Finding]:
    def finding(rule: str, problem: str, at: str, advice: str) -> Finding:
        # Of a tool that is named after its source, no text is required.
        is_warning = is_imported or tool.name != tool.function
        where = " in overlay.yaml" if is_imported else ""
        return _finding(f"{tool.where(at)}: {tool.name}: {problem}", rule, advice + where, is_warning=is_warning)

    description = f"{tool.summary}. {tool.description}"
    least = MIN_IMPORTED_WORDS if is_imported else MIN_WORDS
    count = len({*stems(description)} - {*stems(f"{in_words(tool.name)} {tool.title}")})
    if count < least:
        advice = f"write at least {MIN_WORDS}: units, limits, the difference from similar tools"
        problem = f"summary and description have {counted(count, 'word')} that the name has not"
        yield finding("too-short", problem, "description", advice)
    properties = json_schema.properties(tool.parameters)
    most = MAX_IMPORTED_SCHEMA_TOKENS if is_imported else MAX_SCHEMA_TOKENS
    schema = {"name": tool.name, "description": description, "parameters": tool.parameters}
    if (cost := tokens.count(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))) > most:
        longest = max(properties, key=lambda name: len(json.dumps(properties[name])), default="no parameter")
        problem = f"its schema has about {cost:,} tokens, most of them in {longest}"
        yield finding("schema-tokens", problem, "parameters", f"shorten descriptions to {most}, or exclude it")
