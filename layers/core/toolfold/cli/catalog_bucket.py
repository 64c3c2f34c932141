"""What the commands share that publish to a bucket: the location, the credentials, and how versions are printed."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfold.errors import ToolfoldError

if TYPE_CHECKING:
    from toolfold.build.catalog_bucket import CatalogBucket
    from toolfold.build.pointer import Version
    from toolfold.build.publisher import Author
    from toolfold.catalog.model import Catalog

HASH_DIGITS = 12
"""Digits of a hash that are printed where a person reads them."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_WEB_ADDRESS = re.compile(r"https://([a-z0-9.-]+?)\.s3[a-z0-9.-]*\.amazonaws\.com(?:\.cn)?(/[^?#]*)?")


def add_location(parser: argparse.ArgumentParser) -> None:
    """Add the options that all these commands have."""
    parser.add_argument(
        "location",
        metavar="s3://BUCKET/PREFIX",
        nargs="?",
        default="",
        help="where the catalog is, as in TOOLFOLD_CATALOG; the stack prints it in PublishCommand",
    )
    parser.add_argument(
        "--bucket-owner",
        metavar="ACCOUNT",
        type=_account,
        help="the account that must own the bucket, 12 digits, or any (default: that of the credentials)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for a program")


def _account(text: str) -> str:
    if text != "any" and not re.fullmatch(r"[0-9]{12}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of an account (12 digits), nor any")
    return text


def open_bucket(options: argparse.Namespace, what: str) -> tuple[CatalogBucket, Author]:
    """Return the bucket of the command's location, and who runs the command.

    Raises:
        ToolfoldError: The location cannot be used; ``what`` did not happen.
    """
    from toolfold.build import catalog_bucket
    from toolfold.build.aws_errors import explained
    from toolfold.build.pointer import Writer
    from toolfold.build.publisher import Author

    location = parse_location(options.location)
    with explained(what):
        account, arn = _identity(what)
        client = catalog_bucket.open_client("s3")
    owner = {"any": "", None: account}.get(options.bucket_owner, options.bucket_owner or "")
    options.bucket_owner = owner
    return catalog_bucket.CatalogBucket(location, client, owner), Author(Writer.TERMINAL, arn or _user())


def _identity(what: str) -> tuple[str, str]:
    """Return account and ARN of the credentials; nothing where the credentials are not for AWS, or STS is not reached.

    Requests that name the account as the owner of the bucket cannot write to a bucket of another account that took the
    name of a deleted one.
    """
    from botocore.exceptions import ConnectionError as NotReached
    from botocore.exceptions import HTTPClientError

    from toolfold.build.catalog_bucket import open_client

    if os.environ.get("AWS_ENDPOINT_URL_S3") and not os.environ.get("AWS_ENDPOINT_URL_STS"):
        return "", ""  # another service that speaks the protocol of S3
    try:
        found = open_client("sts").get_caller_identity()
    except (NotReached, HTTPClientError) as error:
        if os.environ.get("AWS_ENDPOINT_URL"):
            raise
        print(f"STS was not reached ({type(error).__name__}): the owner of the bucket is not checked.", file=sys.stderr)
        return "", ""
    return str(found["Account"]), str(found["Arn"])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for the user id, as in some containers
        return ""


def check_allowed_here(catalog: Catalog) -> None:
    """Check that a gateway with the settings of this environment would serve ``catalog``.

    Raises:
        CatalogRejected: It would not.
    """
    from toolfold.build.preparation import check_allowed
    from toolfold.catalog.allow_list import AllowList
    from toolfold.settings import Settings

    check_allowed(catalog, AllowList.from_settings(Settings.from_environment()))


def short(sha256: str) -> str:
    """Return the beginning of a hash."""
    return sha256[:HASH_DIGITS]


def describe_version(version: Version) -> str:
    """Return when and by whom a version was published, as far as that is known."""
    parts = [version.published_at and f"published {version.published_at}", version.published_by]
    return " by ".join(part for part in parts if part)


def tell(step: str) -> None:
    """Print a step to stderr."""
    print(step, file=sys.stderr, flush=True)


def parse_location(text: str) -> str:
    """Return ``s3://bucket/prefix``.

    Raises:
        ToolfoldError: ``text`` is something else; names the nearest form.
    """
    if not text:
        raise ToolfoldError(
            "Name the place of the catalog: toolfold catalog publish s3://BUCKET/catalog. "
            "The stack prints the command, filled in, as PublishCommand."
        )
    bucket, _, prefix = text.removeprefix("s3://").partition("/")
    if text.startswith("s3://") and bucket.isupper():
        raise ToolfoldError(
            f"{bucket} stands for the name of your bucket, which the stack prints as CatalogBucketName."
        )
    if text.startswith("s3://") and _BUCKET.fullmatch(bucket) and not re.search(r"[?#\s]", prefix):
        if prefix.endswith(".json"):
            above = f"s3://{bucket}/{prefix.rpartition('/')[0]}".rstrip("/")
            raise ToolfoldError(f"Name the prefix, not an object: {above}")
        return text.rstrip("/")
    raise ToolfoldError(f"The location of a catalog must be s3://bucket/prefix, not {text!r}.{_similar(text)}")


def _similar(text: str) -> str:
    """Return the address that ``text`` may mean, as a question."""
    web = _WEB_ADDRESS.fullmatch(text)
    rest = web[1] + (web[2] or "") if web else re.sub(r"^(?i:arn:aws[a-z-]*:s3:::|s3:/*)", "", text)
    bucket, slash, prefix = rest.strip("/").partition("/")
    bucket = bucket.lower() if text[:3].lower() == "s3:" else bucket
    fits = "://" not in rest and _BUCKET.fullmatch(bucket) and not re.search(r"[?#\s]", prefix)
    return f" Did you mean s3://{bucket}{slash}{prefix}?" if fits and not Path(text).exists() else ""


def as_json(version: Version, **more: Any) -> dict[str, Any]:
    """Return a version as the JSON of these commands."""
    return {**version.as_dict(), "withdrawn": version.withdrawn, **more}
