"""``toolfold catalog compile`` and ``lint``: the sources become a catalog, and their texts are checked."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from pathlib import Path

from toolfold.build import lint, semantic_index
from toolfold.build.compiler import compile_sources
from toolfold.build.importers import IMPORTERS
from toolfold.build.writer import read_output_file, replace_catalog_file
from toolfold.catalog.store import bundled_path
from toolfold.cli import output, progress
from toolfold.cli.application import Options

_MANY_TOOLS = 50
"""Number of tools from which a catalog is searched more often than it is listed as a whole."""

_MAX_SHOWN = 10
"""Problems of single tools that are printed: a large document may have hundreds."""


def compile_catalog(options: Options) -> int:
    """Compile the sources and write the catalog; return the exit code."""
    path = options.output or options.folder / "catalog.json"
    with progress.Steps() as steps:
        compiled, left_out, notes, _ = compile_sources(options.folder, progress=steps.start)
    current = read_output_file(path)
    if left_out:
        print(*left_out[:_MAX_SHOWN], sep="\n", file=sys.stderr)
        more = f", of which {_MAX_SHOWN} are shown" if len(left_out) > _MAX_SHOWN else ""
        rest = f"{more}: the others compile. `toolfold catalog lint` lists all."
        print(f"{len(left_out)} left out{rest}", file=sys.stderr)
    if notes and options.notes:
        print(*notes, sep="\n", file=sys.stderr)
    elif notes:
        print(f"{len(notes)} notes about parts that are left out of tools; --notes prints them.", file=sys.stderr)
    for finding in lint.find_secrets(options.folder):
        print(finding, file=sys.stderr)
    if options.check:
        if current != compiled:
            print(f"{path} is out of date. Run: toolfold catalog compile --folder {options.folder}", file=sys.stderr)
            return 1
        print(f"{path} is up to date with {options.folder}.")
        return 0
    replace_catalog_file(path, compiled)
    catalog = json.loads(compiled)
    tools = len(catalog["tools"])
    unchanged = ", unchanged" if current == compiled else ""
    print(f"{path}: {output.counted(tools, 'tool')}, {len(compiled.encode()):,} bytes{unchanged}")
    served = os.environ.get("TOOLFOLD_CATALOG") or str(bundled_path())
    if "://" not in served and Path(served).expanduser().resolve() != path.resolve():
        print(f"To use it: export TOOLFOLD_CATALOG={shlex.quote(str(path.resolve()))}", file=sys.stderr)
    is_imported = any(source["kind"] in IMPORTERS for source in catalog["sources"].values())
    if tools >= _MANY_TOOLS and is_imported and not semantic_index.is_available():
        print(
            "Imported tools are found by the words of their texts. To find them by words near in meaning as well: "
            f"{semantic_index.INSTALL}",
            file=sys.stderr,
        )
    return 0


def lint_catalog(options: Options) -> int:
    """Print what a model cannot choose by; return the exit code."""
    findings = lint.check(options.folder)
    errors = sum(not finding.is_warning for finding in findings)
    if options.json:
        output.print_json([dataclasses.asdict(finding) for finding in findings])
    elif findings:
        print(*findings, sep="\n")
        counted = f"{errors} found" + (f", {len(findings) - errors} warnings" if errors < len(findings) else "")
        print(f"{counted}; `toolfold catalog lint --help` explains the rules.", file=sys.stderr)
    else:
        print(f"Nothing found in {options.folder} by {len(lint.RULES)} rules.")
    return 1 if errors else 0
