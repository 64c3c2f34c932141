"""``toolfold catalog publish``: check a catalog, upload it to S3 and make it the current one."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from toolfold.build.compiler import compile_folder
from toolfold.build.preparation import prepare_catalog
from toolfold.build.publisher import Outcome, check_catalog, publish_catalog
from toolfold.build.refreshes import refresh_sources
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import bundled_path
from toolfold.cli import output, versions
from toolfold.cli.application import Options
from toolfold.cli.versions import print_comparison, tell
from toolfold.errors import ToolfoldError
from toolfold.settings import Settings


def run(options: Options) -> int:
    """Check and publish the catalog; print its hash."""
    location = versions.parse_location(options.location)
    content, name = _read_content(options)
    catalog = check_catalog(content)
    versions.check_allowed_here(catalog)
    tools = output.counted(len(catalog), "tool")
    tell(f"Checked {tools} of {name}.")
    with versions.open_bucket(options, "Nothing was published to {location}") as (bucket, author):
        if options.dry_run:
            return print_comparison(bucket, content, as_json=options.json)
        done = publish_catalog(content, bucket, author, automatic=options.automatic, on_step=tell)
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
        refresh = functools.partial(refresh_sources, process_settings=settings, progress=tell)
        content = prepare_catalog(options.folder, AllowList(settings), refresh if options.refresh else None)
        tell(f"Compiled {options.folder}: no findings.")
        return content, str(options.folder)
    if options.refresh:
        raise ToolfoldError("--refresh reads the sources of a folder: name it with --folder.")
    own = Path("catalog", "catalog.json")  # what `toolfold catalog compile` makes of the sources here
    is_own = any(own.parent.glob("*/source.yaml"))
    path = Path(os.path.relpath(options.file or (own if is_own else bundled_path())))
    try:
        content = path.read_bytes()
    except OSError as error:
        step = f" Run `toolfold catalog compile --folder {path.parent}` first." if path == own else ""
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.{step}") from None
    # A catalog beside the YAML of its sources must be compiled from it.
    if any(path.parent.glob("*/source.yaml")) and compile_folder(path.parent).encode() != content:
        raise ToolfoldError(
            f"{path} is out of date. Run `toolfold catalog compile --folder {path.parent}` first, or publish a copy of "
            "it with --file."
        )
    return content, str(path)
