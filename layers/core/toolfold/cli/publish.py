"""``toolfold catalog publish``: check a catalog, upload it to S3 and make it the current one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from toolfold.cli import output, versions
from toolfold.cli.versions import print_comparison, tell
from toolfold.errors import ToolfoldError
from toolfold.settings import Settings

_EXAMPLES = """examples:
  toolfold catalog publish s3://BUCKET/catalog               BUCKET is the output CatalogBucketName of the stack
  toolfold catalog publish s3://BUCKET/catalog --dry-run     check everything and show what would change
  toolfold catalog publish s3://BUCKET/catalog --file mine.json
  toolfold catalog publish s3://BUCKET/catalog --folder catalog    compile and lint the YAML, and publish that
  AWS_PROFILE=prod toolfold catalog publish s3://BUCKET/catalog

Nothing is written unless the catalog is complete, up to date with its YAML, and names only variables and hosts that the
settings allow. If someone else publishes at the same time, one of the two succeeds and the other ends with an error.

What is published here stays: neither a deployment nor the schedule of the stack replaces it. --automatic lets them.
To go back: toolfold catalog rollback s3://BUCKET/catalog   what there is: toolfold catalog versions s3://BUCKET/catalog

permissions: s3:GetObject and s3:PutObject on the prefix, s3:ListBucket on the bucket
"""


def add_parser(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subcommands.add_parser(
        "publish",
        help="upload a compiled catalog to S3 and make it the current one",
        description="Check a compiled catalog, upload it to S3, and make it the current one. Readers find a complete "
        "catalog at any moment. Uses the AWS credentials of this machine.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    versions.add_location(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--file", type=Path, metavar="FILE", help="compiled catalog (default: the one in the package)")
    what.add_argument("--folder", type=Path, metavar="FOLDER", help="compile the sources in this folder instead")
    parser.add_argument(
        "--refresh", action="store_true", help="with --folder: read the tools of its sources again first, in a copy"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing; show what would change")
    parser.add_argument(
        "--automatic",
        action="store_true",
        help="let deployments and the schedule replace this catalog, as they replace their own",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check and publish the catalog; print its hash."""
    from toolfold.build.catalog_bucket import explained
    from toolfold.build.publisher import Outcome, check_catalog, publish_catalog

    location = versions.parse_location(options.location)
    content = _read_content(options)
    catalog = check_catalog(content)
    versions.check_allowed_here(catalog)
    tell(f"Checked {len(catalog)} tools.")
    what = f"Nothing was published to {location}"
    bucket, author = versions.open_bucket(options, what)
    with explained(what, options.bucket_owner):
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
    print(f"{location} {word} catalog {current.sha256} ({len(catalog)} tools, {len(content):,} bytes){note}.")
    return 0


def _read_content(options: argparse.Namespace) -> bytes:
    from toolfold.catalog.store import bundled_path

    if options.folder is not None:
        return _compile(options.folder, is_refreshed=options.refresh)
    if options.refresh:
        raise ToolfoldError("--refresh reads the sources of a folder: name it with --folder.")
    path = Path(os.path.relpath(options.file or bundled_path()))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    _check_fresh(path, content)
    return content


def _compile(folder: Path, *, is_refreshed: bool) -> bytes:
    """Return the catalog of the sources in ``folder``, if it has no findings."""
    from toolfold.build.preparation import prepare_catalog
    from toolfold.catalog.allow_list import AllowList

    settings = Settings.from_environment()
    refreshes: list[Callable[[Path], None]] = []
    if is_refreshed:
        from toolfold.build.refreshes import refreshes_of

        refreshes = refreshes_of(folder, settings, tell)
    content = prepare_catalog(folder, AllowList.from_settings(settings), refreshes)
    tell(f"Compiled {folder}: no findings.")
    return content


def _check_fresh(path: Path, content: bytes) -> None:
    """Check that a catalog beside the YAML of its sources was compiled from it.

    Raises:
        ToolfoldError: it was not.
    """
    if not any(path.parent.glob("*/source.yaml")):
        return
    try:
        from toolfold.build.compiler import compile_folder
    except ModuleNotFoundError:
        tell("Not checked against its YAML, which needs the packages of the extra build.")
        return
    if compile_folder(path.parent).encode() != content:
        raise ToolfoldError(
            f"{path} is out of date. Run `toolfold catalog compile --folder {path.parent}` first, or publish a copy of "
            "it with --file."
        )
