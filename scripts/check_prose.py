"""Check docstrings, comments, help texts and documentation against a list of words: ``make prose``.

The list is ``scripts/prose_words.txt``, the accepted exceptions are in ``scripts/prose_allowed.txt``. Only prose is
read: in Python the docstrings, the comments, the texts of ``help=``, ``description=`` and ``epilog=``, and the
messages of raised exceptions and log calls; in Markdown everything except code; in YAML, TOML, Makefiles and shell
scripts the comments. Identifiers and text in backticks are not prose. The docstring of a function begins with a verb
of ``scripts/imperative_verbs.txt``; add the verb there when it is missing.

    python -m scripts.check_prose [PATH ...]
"""

import argparse
import ast
import fnmatch
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "scripts/prose_words.txt"
ALLOWED = ROOT / "scripts/prose_allowed.txt"
VERBS = ROOT / "scripts/imperative_verbs.txt"

# Suffixes, or names of files without one, in which "#" begins a comment.
COMMENTED = (".yaml", ".yml", ".toml", ".mk", ".sh", ".in", "Makefile", "run")
KEYWORDS_OF_HELP = frozenset({"help", "description", "epilog"})
LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
# A subprocess of git that takes longer than this hangs.
GIT_TIMEOUT_S = 30


class Rule(NamedTuple):
    """One refused pattern, what to write instead, and the pattern that accepts a line nevertheless."""

    pattern: re.Pattern[str]
    suggestion: str
    unless: re.Pattern[str] | None


class Exemption(NamedTuple):
    """An accepted exception: a glob of paths, a part of the line, and the reason."""

    path: str
    text: str
    reason: str


class Finding(NamedTuple):
    """A refused phrase at a line of a file."""

    path: str
    line: int
    phrase: str
    suggestion: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.phrase}”: write {self.suggestion}"


class Prose(NamedTuple):
    """One line of prose; ``opens_function`` marks the first line of the docstring of a function."""

    line: int
    text: str
    opens_function: bool = False


def parse_rules(text: str) -> list[Rule]:
    """Return the rules that ``text`` lists, in its order.

    Raises:
        ValueError: a line has no suggestion, or its pattern is not a regular expression.
    """
    rules = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, arrow, rest = line.partition(" -> ")
        if not arrow:
            raise ValueError(f"line {number}: expected PATTERN -> SUGGESTION")
        suggestion, _, unless = rest.partition("; unless: ")
        try:
            compiled = re.compile(rf"(?<![\w-])(?:{pattern.strip()})(?![\w-])", re.IGNORECASE)
            exception = re.compile(unless, re.IGNORECASE) if unless else None
        except re.error as error:
            raise ValueError(f"line {number}: {error}") from None
        rules.append(Rule(compiled, suggestion.strip(), exception))
    return rules


def parse_verbs(text: str) -> frozenset[str]:
    """Return the verbs that ``text`` lists, in lower case."""
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def parse_exemptions(text: str) -> list[Exemption]:
    """Return the exemptions that ``text`` lists.

    Raises:
        ValueError: a line has no path, text or reason.
    """
    exemptions = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" | ")]
        if len(fields) != 3 or not fields[0] or not fields[2]:
            raise ValueError(f"line {number}: expected PATH | TEXT | REASON")
        exemptions.append(Exemption(*fields))
    return exemptions


def prose_of_python(source: str) -> Iterator[Prose]:
    """Yield the docstrings, comments, help texts and messages of a Python module, line by line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(token.start[0], re.sub(r"^#+!?|\bnoqa:?[ A-Z0-9,]*(?= -|$)|type: ignore\S*", "", token.string))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from _lines(node.value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _needs_verb(node):
                first = next(iter(_lines(node.body[0].value)), None)  # type: ignore[attr-defined]
                if first is not None:
                    yield first._replace(opens_function=True)
            case ast.keyword(arg=str() as name, value=value) if name in KEYWORDS_OF_HELP:
                yield from _texts(value)
            case ast.Raise(exc=ast.Call(args=[*values])):
                for value in values:
                    yield from _texts(value)
            case ast.Call(func=ast.Attribute(attr=attribute), args=[ast.Constant() as value, *_]) if (
                attribute in LOG_METHODS
            ):
                yield from _texts(value)


def _needs_verb(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the docstring of ``node`` has to begin with a verb: not that of a property or of a test."""
    if ast.get_docstring(node) is None or node.name.startswith("test_"):
        return False
    decorators = {ast.unparse(decorator).split("(")[0].rsplit(".", 1)[-1] for decorator in node.decorator_list}
    return not decorators & {"property", "cached_property", "made_once", "fixture", "overload"}


def _texts(value: ast.expr) -> Iterator[Prose]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from _lines(node)


def _lines(node: ast.expr) -> Iterator[Prose]:
    assert isinstance(node, ast.Constant)
    for offset, text in enumerate(str(node.value).splitlines()):
        yield Prose(node.lineno + offset, text.strip())


def prose_of_markdown(source: str) -> Iterator[Prose]:
    """Yield the lines of a Markdown file without its code blocks and without the targets of links."""
    fence = ""
    for number, line in enumerate(source.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield Prose(number, re.sub(r"\]\([^)]*\)|<[^>]*>|^\[[^\]]*\]: .*", "]", line))


def prose_of_comments(source: str) -> Iterator[Prose]:
    """Yield the comments of a file in which ``#`` begins one: YAML, TOML, Makefile, shell."""
    for number, line in enumerate(source.splitlines(), 1):
        comment = re.search(r"(?:^|\s)#+\s(.*)", line)
        if comment:
            yield Prose(number, comment[1])


def prose_of(path: Path) -> Iterator[Prose]:
    """Yield the prose of the file at ``path``; nothing for a file of an unknown kind."""
    readers = {".py": prose_of_python, ".md": prose_of_markdown} | dict.fromkeys(COMMENTED, prose_of_comments)
    reader = readers.get(path.suffix or path.name)
    if reader is not None:
        yield from reader(path.read_text(encoding="utf-8"))


def check_prose(
    path: str, lines: Iterable[Prose], rules: list[Rule], verbs: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield a finding for each refused phrase in ``lines`` of the file called ``path``.

    The docstring of a function outside ``tests/`` and ``benchmarks/`` has to begin with one of ``verbs``.
    """
    seen = set()
    for number, text, opens_function in lines:
        plain = re.sub(r"``.*?``|`[^`]*`|:\w+:`[^`]*`|https?://\S+", " ` ", text)
        if opens_function:
            # Test helpers are described freely.
            first = text.split(" ")[0]
            if not path.startswith(("tests/", "benchmarks/")) and first.rstrip(".,:").lower() not in verbs:
                yield Finding(path, number, first, "an imperative verb first: Return, Yield, Check …", text)
            continue
        for rule in rules:
            match = rule.pattern.search(plain)
            if match and (rule.unless is None or not rule.unless.search(plain)) and (number, rule) not in seen:
                seen.add((number, rule))
                yield Finding(path, number, match[0].strip(), rule.suggestion, text)


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files at and below ``paths`` that git tracks or could track, in their order."""
    listed = run_git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *map(str, paths))
    for name in sorted(set(filter(None, listed.split("\0")))):
        path = ROOT / name
        if path.is_file():
            yield path


def run_git(*arguments: str, check: bool = True) -> str:
    """Return what git prints about this repository."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=check, capture_output=True, text=True, timeout=GIT_TIMEOUT_S).stdout


def main(argv: list[str] | None = None) -> int:
    """Print every finding; return 1 when there is one, or when an exemption is no longer used."""
    parser = argparse.ArgumentParser(description="Check prose against scripts/prose_words.txt.")
    parser.add_argument("paths", nargs="*", type=Path, help="files and folders (default: everything)")
    options = parser.parse_args(argv)

    rules = parse_rules(WORDS.read_text(encoding="utf-8"))
    exemptions = parse_exemptions(ALLOWED.read_text(encoding="utf-8"))
    verbs = parse_verbs(VERBS.read_text(encoding="utf-8"))

    findings, used = [], set()
    for path in find_files([path.resolve() for path in options.paths]):
        name = path.relative_to(ROOT).as_posix()
        for finding in check_prose(name, prose_of(path), rules, verbs):
            accepted = [e for e in exemptions if fnmatch.fnmatch(name, e.path) and e.text in finding.text]
            used.update(accepted)
            if not accepted:
                findings.append(finding)

    for finding in findings:
        print(finding)
    unused = [] if options.paths else [e for e in exemptions if e not in used]
    for exemption in unused:
        print(f"scripts/prose_allowed.txt: this entry accepts nothing: {' | '.join(exemption)}")
    return 1 if findings or unused else 0


if __name__ == "__main__":
    sys.exit(main())
