"""``toolfold catalog compile``, ``lint`` and ``publish``: sources become a catalog, which is checked and uploaded."""

from __future__ import annotations

import dataclasses
import functools
import os
import shlex
from pathlib import Path

from toolfold.build import lint
from toolfold.build.compiler import compile_sources
from toolfold.build.preparation import prepare_catalog, refresh_sources
from toolfold.build.publisher import Outcome, check_catalog, publish_catalog
from toolfold.build.writer import read_output_file, replace_catalog_file
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import bundled_path
from toolfold.cli import output, versions
from toolfold.cli.application import Options, os_errors
from toolfold.errors import ToolfoldError
from toolfold.settings import Settings

_MAX_SHOWN = 10
"""Problems of single tools that are printed: a large document may have hundreds."""


def compile_catalog(options: Options) -> int:
    """Compile the sources and write the catalog; return the exit code."""
    path = options.output or options.folder / "catalog.json"
    with output.waiting("Reading the sources …") as describe:
        compiled, left_out, notes, tools = compile_sources(options.folder, progress=describe)
    current = read_output_file(path)
    if left_out:
        output.print_message(*left_out[:_MAX_SHOWN])
        more = f", of which {_MAX_SHOWN} are shown" if len(left_out) > _MAX_SHOWN else ""
        rest = f"{more}: the others compile. `toolfold catalog lint` lists all."
        output.print_message(f"{len(left_out)} left out{rest}")
    if notes and options.notes:
        output.print_message(*notes)
    elif notes:
        output.print_message(f"{len(notes)} notes about parts that are left out of tools; --notes prints them.")
    for finding in lint.find_secrets(options.folder):
        output.print_message(finding)
    if options.check:
        if current != compiled:
            output.print_message(f"{path} is out of date. Run: toolfold catalog compile --folder {options.folder}")
            return 1
        print(f"{path} is up to date with {options.folder}.")
        return 0
    replace_catalog_file(path, compiled)
    unchanged = ", unchanged" if current == compiled else ""
    print(f"{path}: {output.counted(len(tools), 'tool')}, {len(compiled):,} bytes{unchanged}")
    served = os.environ.get("TOOLFOLD_CATALOG") or str(bundled_path())
    if "://" not in served and Path(served).expanduser().resolve() != path.resolve():
        output.print_message(f"To use it: export TOOLFOLD_CATALOG={shlex.quote(str(path.resolve()))}")
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
        output.print_message(f"{counted}; `toolfold catalog lint --help` explains the rules.")
    else:
        print(f"Nothing found in {options.folder} by {len(lint.RULES)} rules.")
    return 1 if errors else 0


def publish(options: Options) -> int:
    """Check and publish the catalog; print its hash."""
    location = versions.parse_location(options.location)
    content, name = _read_content(options)
    catalog = check_catalog(content)
    versions.check_allowed_here(catalog)
    tools = output.counted(len(catalog), "tool")
    output.print_message(f"Checked {tools} of {name}.")
    with versions.open_bucket(options, "Nothing was published to {location}") as (bucket, author):
        if options.dry_run:
            return versions.print_comparison(bucket, content, as_json=options.json)
        done = publish_catalog(content, bucket, author, automatic=options.automatic, on_step=output.print_message)
    assert done.pointer is not None  # noqa: S101 - what a person publishes is never kept out
    current = done.pointer.current
    if options.json:
        output.print_json(versions.as_json(current, outcome=str(done.outcome), location=location))
        return 0
    word = "has" if done.outcome is Outcome.UNCHANGED else "now has"
    note = ", as before" if done.outcome is Outcome.UNCHANGED else ""
    print(f"{location} {word} catalog {current.sha256} ({tools}, {len(content):,} bytes){note}.")
    return 0


def _read_content(options: Options) -> tuple[bytes, str]:
    """Return the catalog in a file, or that of the sources in a folder if it has no findings, and its name."""
    if options.folder is not None:
        settings = Settings.from_environment()
        refresh = functools.partial(refresh_sources, process_settings=settings, progress=output.print_message)
        content = prepare_catalog(options.folder, AllowList(settings), refresh if options.refresh else None)
        output.print_message(f"Compiled {options.folder}: no findings.")
        return content, str(options.folder)
    if options.refresh:
        raise ToolfoldError("--refresh reads the sources of a folder: name it with --folder.")
    own = Path("catalog", "catalog.json")  # what `toolfold catalog compile` makes of the sources here
    is_own = any(own.parent.glob("*/source.yaml"))
    path = Path(os.path.relpath(options.file or (own if is_own else bundled_path())))
    step = f"Run `toolfold catalog compile --folder {path.parent}` first." if path == own else ""
    with os_errors(f"{path} cannot be read", step):
        content = path.read_bytes()
    # A catalog beside the YAML of its sources must be compiled from it.
    if any(path.parent.glob("*/source.yaml")) and compile_sources(path.parent).content != content:
        raise ToolfoldError(
            f"{path} is out of date. Run `toolfold catalog compile --folder {path.parent}` first, or publish a copy of "
            "it with --file."
        )
    return content, str(path)
