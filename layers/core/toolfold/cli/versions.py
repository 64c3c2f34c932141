"""``toolfold catalog versions | diff | rollback``: what was published, what differs, and going back.

What the commands share that publish to a bucket: the location, the credentials, and how versions are printed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolfold.build import catalog_bucket
from toolfold.build.catalog_bucket import CatalogBucket, explained
from toolfold.build.catalog_diff import compare
from toolfold.build.pointer import Author, Version, Writer
from toolfold.build.publisher import Outcome, check_catalog, choose_earlier, find_version, read_current, roll_back
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.model import Catalog
from toolfold.cli import output, terminal
from toolfold.cli.application import Options, fail
from toolfold.errors import ToolfoldError
from toolfold.settings import Settings

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@contextlib.contextmanager
def open_bucket(options: Options, problem: str) -> Iterator[tuple[CatalogBucket, Author]]:
    """Yield the bucket of the command's location, and who runs the command; explain what AWS refuses.

    Args:
        options: those of the command.
        problem: what has failed then, with ``{location}``.
    """
    location = parse_location(options.location)
    if options.bucket_owner not in (None, "any") and not re.fullmatch(r"[0-9]{12}", options.bucket_owner):
        raise fail(f"{options.bucket_owner!r} is not the number of an account (12 digits), nor any.")
    what = problem.format(location=location)
    with explained(what):
        account, arn = _identity()
        client = catalog_bucket.open_client("s3")
    owner = {"any": "", None: account}.get(options.bucket_owner, options.bucket_owner or "")
    if not arn:
        with contextlib.suppress(KeyError, OSError):  # no name for the user id, as in some containers
            arn = getpass.getuser()
    with explained(what, owner):
        yield CatalogBucket(location, client, owner), Author(Writer.TERMINAL, arn)


def _identity() -> tuple[str, str]:
    """Return account and ARN of the credentials; nothing where the credentials are not for AWS, or STS is not reached.

    Requests that name the account as the owner of the bucket cannot write to a bucket of another account that took the
    name of a deleted one.
    """
    from botocore.exceptions import ConnectionError as NotReached
    from botocore.exceptions import HTTPClientError

    if os.environ.get("AWS_ENDPOINT_URL_S3") and not os.environ.get("AWS_ENDPOINT_URL_STS"):
        return "", ""  # another service that speaks the protocol of S3
    try:
        found = catalog_bucket.open_client("sts").get_caller_identity()
    except (NotReached, HTTPClientError) as error:
        if os.environ.get("AWS_ENDPOINT_URL"):
            raise
        output.print_message(f"STS was not reached ({type(error).__name__}): the owner of the bucket is not checked.")
        return "", ""
    return str(found["Account"]), str(found["Arn"])


def check_allowed_here(catalog: Catalog) -> None:
    """Check that a gateway with the settings of this environment would serve ``catalog``."""
    from toolfold.build.preparation import check_allowed  # needs the extra build, and reading a bucket does not

    check_allowed(catalog, AllowList(Settings.from_environment()))


def short(sha256: str) -> str:
    """Return the beginning of a hash, as a person reads it."""
    return sha256[:12]


def parse_location(text: str) -> str:
    """Return ``s3://bucket/prefix``."""
    if not text:
        raise ToolfoldError(
            "Name the place of the catalog: toolfold catalog publish s3://BUCKET/catalog. "
            "Its bucket is the output CatalogBucketName of the stack; `make publish` reads it."
        )
    bucket, _, prefix = text.removeprefix("s3://").partition("/")
    if text.startswith("s3://") and _BUCKET.fullmatch(bucket) and not re.search(r"[?#\s]", prefix):
        if prefix.endswith(".json"):
            above = f"s3://{bucket}/{prefix.rpartition('/')[0]}".rstrip("/")
            raise ToolfoldError(f"Name the prefix, not an object: {above}")
        return text.rstrip("/")
    raise ToolfoldError(
        f"The location of a catalog must be s3://bucket/prefix, not {text!r}. The stack has the name of its bucket in "
        "the output CatalogBucketName."
    )


def as_json(version: Version, **more: Any) -> dict[str, Any]:
    """Return a version as the JSON of these commands."""
    return {**version.as_dict(), "withdrawn": version.withdrawn, **more}


def list_versions(options: Options) -> int:
    """Print the versions in the bucket; return the exit code."""
    with open_bucket(options, "{location} cannot be read") as (bucket, _):
        pointer, _ = read_current(bucket)
    if options.json:
        output.print_json(
            {
                "location": bucket.location,
                "versions": [as_json(one, current=number == 0) for number, one in enumerate(pointer.versions)],
                "automatic": pointer.automatic,
                "checked_at": pointer.checked_at or None,
            }
        )
        return 0
    rows = []
    for number, version in enumerate(pointer.versions):
        note = "current" if number == 0 else "withdrawn" if version.withdrawn else ""
        who = (str(version.writer), version.published_by)
        rows.append([short(version.sha256), version.published_at, version.tools, note, *who])
    terminal.print_table(("version", "published_at", "tools", "note", "writer", "published_by"), rows)
    if pointer.checked_at:
        output.print_message(f"The schedule found it up to date at {pointer.checked_at}.")
    return 0


def print_diff(options: Options) -> int:
    """Print what differs between two versions; return the exit code."""
    with open_bucket(options, "{location} cannot be read") as (bucket, _):
        before, after = (_read_version(bucket, text) for text in (options.before, options.after))
    return _print_comparison(before, after, as_json=options.json)


def _read_version(bucket: CatalogBucket, text: str) -> bytes:
    """Return the catalog that ``text`` names: a file, or a version in the bucket."""
    if Path(text).is_file():
        return Path(text).read_bytes()
    if text.endswith(".json"):
        raise ToolfoldError(f"{text} cannot be read: No such file.")
    return bucket.read_catalog(find_version(text, read_current(bucket)[0], bucket.location))


def print_comparison(bucket: CatalogBucket, content: bytes, *, as_json: bool) -> int:
    """Print what would change if ``content`` became current."""
    stored = bucket.read_pointer()
    if stored.pointer is None:
        sha256, tools = hashlib.sha256(content).hexdigest(), len(check_catalog(content))
        size = output.counted(tools, "tool")
        if as_json:
            output.print_json({"before": None, "after": sha256, "tools": tools})
        else:
            print(f"{bucket.location} has no catalog yet; {short(sha256)} with {size} would be the first.")
        return 0
    return _print_comparison(bucket.read_catalog(stored.pointer.current.sha256), content, as_json=as_json)


def _print_comparison(before: bytes, after: bytes, *, as_json: bool) -> int:
    diff = compare(check_catalog(before), check_catalog(after), same_content=before == after)
    hashes = [hashlib.sha256(content).hexdigest() for content in (before, after)]
    if as_json:
        output.print_json({"before": hashes[0], "after": hashes[1], **dataclasses.asdict(diff)})
        return 0
    if diff.is_empty:
        print(f"{short(hashes[0])} and {short(hashes[1])} are equal.")
        return 0
    print(f"{short(hashes[0])} → {short(hashes[1])}")
    for line in (
        *(f"~ source {source}" for source in diff.sources),
        *(f"- {name}" for name in diff.removed),
        *(f"+ {name}" for name in diff.added),
        *(f"~ {name}: {', '.join(fields)}" for name, fields in diff.changed.items()),
        *(["~ the search: synonyms, spellings or the index"] if diff.is_search_changed else ()),
    ):
        print(line)
    output.print_message(f"{len(diff.added)} added, {len(diff.removed)} removed, {len(diff.changed)} changed.")
    return 0


def roll_back_catalog(options: Options) -> int:
    """Make an earlier version the current one; return the exit code."""
    with open_bucket(options, "{location} was not changed") as (bucket, author):
        location = bucket.location
        if options.dry_run:
            pointer, _ = read_current(bucket)
            earlier = bucket.read_catalog(choose_earlier(pointer, options.version, location))
            return print_comparison(bucket, earlier, as_json=options.json)
        done = roll_back(bucket, author, options.version, check=check_allowed_here, on_step=output.print_message)
    assert done.pointer is not None  # noqa: S101 - a rollback starts from a pointer
    current = done.pointer.current
    if options.json:
        output.print_json(as_json(current, outcome=str(done.outcome), location=location))
    elif done.outcome is Outcome.UNCHANGED:
        print(f"{location} has catalog {current.sha256} already.")
    else:
        left = done.pointer.history[0]
        tools = output.counted(current.tools, "tool")
        print(f"{location} has catalog {current.sha256} ({tools}) again, instead of {short(left.sha256)}.")
    return 0
