"""Count files, lines and lines of code of each package beside its budget, and keep them from growing.

    python -m scripts.size                              # the table
    python -m scripts.size --check                      # fail where a package has grown
    python -m scripts.size --write --reason "…"         # record what is there now

``scripts/size.toml`` has for each package its budget and the lines and files that were recorded last. A package over
its record fails the check until the record is changed in the same commit, with a reason where it grew. A line of code
is a line with a token that is neither a comment nor a docstring.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
CORE = "layers/core/toolfold"
RECORD = ROOT / "scripts/size.toml"

BESIDE = ("handlers/", "scripts/", "benchmarks/", "tests/", "web/")
"""Counted as well, so that moving code saves nothing: folders outside the core, with TypeScript in ``web``."""

_NOT_CODE = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)


class Count(NamedTuple):
    """Files, their lines, and the lines of them that are code."""

    files: int = 0
    lines: int = 0
    code: int = 0

    def plus(self, other: Count) -> Count:
        """Return the sum."""
        return Count(*map(sum, zip(self, other, strict=True)))


def count_package(path: str) -> str:
    """Return what a file counts for: a package of the core, ``top level`` of it, or a folder beside it.

    >>> count_package("layers/core/toolfold/results/select/query.py")
    'results'
    """
    if not path.startswith(f"{CORE}/"):
        return "".join(path.partition("/")[:2])
    package, slash, _ = path.removeprefix(f"{CORE}/").partition("/")
    return package if slash else "top level"


def count_files(paths: Iterable[str]) -> dict[str, Count]:
    """Return the counts of the sources among ``paths``, by package."""
    counts: dict[str, Count] = {}
    for path in paths:
        if not path.startswith((f"{CORE}/", *BESIDE)) or not path.endswith((".py", ".ts", ".css")):
            continue
        source = (ROOT / path).read_text(encoding="utf-8")
        lines = source.count("\n")
        count = Count(1, lines, count_code_lines(source) if path.endswith(".py") else lines)
        package = count_package(path)
        counts[package] = counts.get(package, Count()).plus(count)
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


def render(counts: Mapping[str, Count], record: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of the packages, with the core's sum before the folders beside it."""
    core = sorted((name for name in counts if name not in BESIDE), key=lambda name: -counts[name].lines)
    total = Count()
    for name in core:
        total = total.plus(counts[name])
    budget = sum(record.get(name, {}).get("budget", 0) for name in core)
    rows = [(name, counts[name], record.get(name, {}).get("budget", 0)) for name in core]
    rows.append(("core", total, budget))
    rows += [(name, counts[name], record.get(name, {}).get("budget", 0)) for name in BESIDE if name in counts]
    lines = [f"{'':14}{'files':>7}{'lines':>9}{'code':>9}{'budget':>9}"]
    lines += [
        f"{name:14}{one.files:7,}{one.lines:9,}{one.code:9,}{f'{limit:,}' if limit else '':>9}"
        for name, one, limit in rows
    ]
    lines.append(f"code / lines of the core: {total.code / max(total.lines, 1):.2f} (at most 0.68)")
    return "\n".join(lines)


def grown(counts: Mapping[str, Count], record: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each package that has more lines or files than its record, or none."""
    problems = []
    for name, count in sorted(counts.items()):
        recorded = record.get(name, {})
        for kind, now in (("lines", count.lines), ("files", count.files)):
            if now > recorded.get(kind, 0):
                problems.append(
                    f"{name} has {now:,} {kind}, {recorded.get(kind, 0):,} are recorded. Remove some, or record it: "
                    "make size ARGS='--write --reason \"…\"'"
                )
    return problems


def write_record(counts: Mapping[str, Count], record: Mapping[str, Mapping[str, Any]], reason: str) -> str:
    """Return the text of the record with today's counts; a package that has grown gets the reason."""
    lines = ["# Written by `make size ARGS=--write`; budgets are changed by hand.\n"]
    for name in sorted({*counts, *record}):
        if name not in counts:
            continue
        old, now = record.get(name, {}), counts[name]
        has_grown = bool(grown({name: now}, record))
        lines.append(f'["{name}"]\nbudget = {old.get("budget", now.lines)}\nlines = {now.lines}\nfiles = {now.files}')
        kept = reason if has_grown else old.get("reason", "")
        lines.append(f'reason = "{kept}"\n' if kept else "")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Print the table; return 1 where a package has grown and ``--check`` is given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a package has grown")
    parser.add_argument("--write", action="store_true", help="record the counts")
    parser.add_argument("--reason", default="", help="why a package has grown, for --write")
    options = parser.parse_args(argv)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    counts = count_files(name for name in sorted(set(names)) if (ROOT / name).is_file())
    record = tomllib.loads(RECORD.read_text(encoding="utf-8"))
    print(render(counts, record))
    problems = grown(counts, record)
    if options.write:
        if problems and not options.reason:
            print("A package has grown: say why with --reason.", file=sys.stderr)
            return 1
        RECORD.write_text(write_record(counts, record, options.reason), encoding="utf-8")
        return 0
    if options.check:
        print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    sys.exit(main())
