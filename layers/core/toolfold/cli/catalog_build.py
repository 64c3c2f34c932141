"""``toolfold catalog compile``, ``lint`` and ``publish``: sources become a catalog, which is checked and uploaded."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import hashlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from toolfold.build import lint, publisher
from toolfold.build.compiler import compile_sources
from toolfold.build.preparation import check_allowed, check_catalog, prepare_catalog
from toolfold.build.publisher import Author, CatalogBucket, Outcome, Writer, explained, publish_catalog
from toolfold.build.writer import read_output_file, replace_catalog_file
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import bundled_path
from toolfold.cli import output
from toolfold.cli.application import Options, fail, os_errors
from toolfold.errors import ToolfoldError
from toolfold.settings import Settings
from toolfold.text_safety import counted

_MAX_SHOWN = 10
"""Problems of single tools that are printed: a large document may have hundreds."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


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
        output.print_message(f"{counted(len(notes), 'note')} on parts left out of tools; --notes prints them.")
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
    print(f"{path}: {counted(len(tools), 'tool')}, {len(compiled):,} bytes{unchanged}")
    served = os.environ.get("TOOLFOLD_CATALOG") or str(bundled_path())
    if "://" not in served and Path(served).expanduser().resolve() != path.resolve():
        output.print_message(f"To use it: export TOOLFOLD_CATALOG={shlex.quote(str(path.resolve()))}")
    return 0


def lint_catalog(options: Options) -> int:
    """Print what a model cannot choose by; return the exit code."""
    findings = lint.check(options.folder).findings
    errors = sum(not finding.is_warning for finding in findings)
    if options.json:
        output.print_json([dataclasses.asdict(finding) for finding in findings])
    elif findings:
        print(*findings, sep="\n")
        warnings = len(findings) - errors
        found = f"{errors} found" + (f", {counted(warnings, 'warning')}" if warnings else "")
        output.print_message(f"{found}; `toolfold catalog lint --help` explains the rules.")
    else:
        print(f"Nothing found in {options.folder} by {len(lint.RULES)} rules.")
    return 1 if errors else 0


def publish(options: Options) -> int:
    """Check and publish the catalog; print its hash."""
    location = _parse_location(options.location)
    content, name = _read_content(options)
    catalog = check_catalog(content)
    check_allowed(catalog, AllowList(Settings.from_environment()))
    tools = counted(len(catalog), "tool")
    output.print_message(f"Checked {tools} of {name}.")
    with _open_bucket(options, location) as (bucket, author):
        if options.dry_run:
            return _print_plan(bucket, content, tools, as_json=options.json)
        output.print_message(f"Uploading {len(content):,} bytes to {location} …")
        done = publish_catalog(content, bucket, author, automatic=options.automatic)
    if options.json:
        output.print_json({**done.pointer.as_dict(), "outcome": str(done.outcome), "location": location})
        return 0
    word = "has" if done.outcome is Outcome.UNCHANGED else "now has"
    note = ", as before" if done.outcome is Outcome.UNCHANGED else ""
    print(f"{location} {word} catalog {done.pointer.sha256} ({tools}, {len(content):,} bytes){note}.")
    return 0


def _print_plan(bucket: CatalogBucket, content: bytes, tools: str, *, as_json: bool) -> int:
    """Print which catalog ``content`` would replace."""
    current, after = bucket.read_pointer().pointer, hashlib.sha256(content).hexdigest()
    before = None if current is None else current.sha256
    if as_json:
        output.print_json({"before": before, "after": after})
    elif before == after:
        print(f"{bucket.location} has catalog {after} ({tools}) already.")
    else:
        instead = "as its first" if before is None else f"instead of {before}"
        print(f"{bucket.location} would get catalog {after} ({tools}) {instead}.")
    return 0


def _read_content(options: Options) -> tuple[bytes, str]:
    """Return the catalog in a file, or that of the sources in a folder if it has no findings, and its name."""
    if options.folder is not None:
        content = prepare_catalog(options.folder, AllowList(Settings.from_environment()))
        output.print_message(f"Compiled {options.folder}: no findings.")
        return content, str(options.folder)
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


def _parse_location(text: str) -> str:
    """Return ``s3://bucket/prefix``."""
    bucket, _, prefix = text.removeprefix("s3://").partition("/")
    if not (text.startswith("s3://") and _BUCKET.fullmatch(bucket)) or re.search(r"[?#\s]", prefix):
        raise ToolfoldError(
            f"The location of a catalog must be s3://bucket/prefix{f', not {text!r}' if text else ''}. "
            "Its bucket is the output CatalogBucketName of the stack; `make publish` reads it."
        )
    if prefix.endswith(".json"):
        above = f"s3://{bucket}/{prefix.rpartition('/')[0]}".rstrip("/")
        raise ToolfoldError(f"Name the prefix, not an object: {above}")
    return text.rstrip("/")


@contextlib.contextmanager
def _open_bucket(options: Options, location: str) -> Iterator[tuple[CatalogBucket, Author]]:
    """Yield the bucket of ``location``, and who runs the command; explain what AWS refuses.

    Requests name the account that owns the bucket, by default that of the credentials: they cannot write to a bucket of
    another account that took the name of a deleted one.
    """
    owner, arn = options.bucket_owner or "", ""
    if owner and not re.fullmatch(r"[0-9]{12}", owner):
        raise fail(f"{owner!r} is not the number of an account (12 digits).")
    is_aws = "AWS_ENDPOINT_URL_STS" in os.environ or "AWS_ENDPOINT_URL_S3" not in os.environ
    what = f"Nothing was published to {location}"
    with explained(what):
        if is_aws and not owner:
            found = publisher.open_client("sts").get_caller_identity()
            owner, arn = str(found["Account"]), str(found["Arn"])
        client = publisher.open_client("s3")
    if not arn:
        with contextlib.suppress(KeyError, OSError):  # no name for the user id, as in some containers
            arn = getpass.getuser()
    with explained(what, owner):
        yield CatalogBucket(location, client, owner), Author(Writer.TERMINAL, arn)
