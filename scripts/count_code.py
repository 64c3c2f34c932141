"""Count modules and lines of the package and of the tests, at two revisions side by side.

    python -m scripts.count_code 6f2406d HEAD
    python -m scripts.count_code                # the work tree alone

A line of code is a line with a token that is neither a comment nor a docstring. Empty ``__init__.py`` files count as
modules. Without ``mock_api`` and its tests the sums are those of what runs and of what tests it.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE, TESTS = "layers/core/toolfold", "tests"
MOCK_API = ("mock_api", "sandbox", "unit/mock_api", "unit/sandbox")
"""Folders of the imitation of Alpha Vantage and its tests, under their current and former names."""

_NOT_CODE = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)


class Count(NamedTuple):
    """Modules, their lines, and the lines of them that are code."""

    modules: int = 0
    lines: int = 0
    code: int = 0


def main(argv: list[str] | None = None) -> int:
    """Print the tables as Markdown; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("revisions", nargs="*", help="git revisions; without any, the files of the work tree")
    revisions = parser.parse_args(argv).revisions or [""]
    for folder in (PACKAGE, TESTS):
        try:
            counts = [count_packages(read_sources(revision, folder)) for revision in revisions]
        except subprocess.CalledProcessError as error:
            print(error.stderr.decode().strip(), file=sys.stderr)
            return 1
        print(render_table(folder, [revision or "work tree" for revision in revisions], counts))
    return 0


def read_sources(revision: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield path below ``folder`` and source of each Python file; an empty revision is the work tree.

    Raises:
        subprocess.CalledProcessError: git does not know the revision.
    """
    if not revision:
        tracked = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder)
        for path in sorted(set(tracked.decode().split("\0"))):
            if path.endswith(".py") and (ROOT / path).exists():
                yield path.removeprefix(f"{folder}/"), (ROOT / path).read_text(encoding="utf-8")
        return
    for entry in _git("ls-tree", "-r", "-z", revision, "--", folder).decode().split("\0"):
        facts, _, path = entry.partition("\t")
        if path.endswith(".py"):
            yield path.removeprefix(f"{folder}/"), _git("cat-file", "blob", facts.split()[2]).decode()


def count_packages(sources: Iterable[tuple[str, str]]) -> dict[str, Count]:
    """Return the counts by package: the first folder below the root, or the first two below ``unit``."""
    counts: dict[str, Count] = {}
    for path, source in sources:
        *folders, _ = path.split("/")
        package = "/".join(folders[: 2 if folders[:1] == ["unit"] else 1]) or "."
        modules, lines, code = counts.get(package, Count())
        counts[package] = Count(modules + 1, lines + source.count("\n"), code + count_code_lines(source))
    return counts


def count_code_lines(source: str) -> int:
    r"""Return the number of lines that hold code.

    >>> count_code_lines('"Docstring."\\n\\nx = 1  # comment\\n# comment\\ny = (1,\\n     2)\\n')
    3
    """
    code: set[int] = set()
    starts_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _NOT_CODE:
            starts_statement = starts_statement or token.type == tokenize.NEWLINE
            continue
        if not (starts_statement and token.type == tokenize.STRING):  # a string as a statement documents something
            code.update(range(token.start[0], token.end[0] + 1))
        starts_statement = False
    return len(code)


def render_table(title: str, names: list[str], counts: Sequence[Mapping[str, Count]]) -> str:
    """Return a Markdown table with three columns for each revision, and the sums with and without ``mock_api``."""
    columns = [f"{name} {column}" for name in names for column in ("modules", "lines", "code")]
    rows = [(package, [count.get(package, Count()) for count in counts]) for package in sorted(set().union(*counts))]
    rows.append(("**all**", [add_counts(count.values()) for count in counts]))
    without = [add_counts(value for name, value in count.items() if name not in MOCK_API) for count in counts]
    rows.append(("**without mock_api**", without))
    lines = [f"| {title} | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for package, values in rows:
        cells = [f"{number:,}" if value.modules else "" for value in values for number in value]
        lines.append(f"| {package} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def add_counts(counts: Iterable[Count]) -> Count:
    """Return the sum."""
    return Count(*map(sum, zip(*counts, strict=True)))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
