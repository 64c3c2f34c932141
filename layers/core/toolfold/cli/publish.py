"""``toolfold catalog publish``: check a compiled catalog, upload it to S3 and make it the current one."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolfold.errors import ToolfoldError

_EXAMPLES = """examples:
  toolfold catalog publish s3://BUCKET/catalog               the stack prints this command, filled in, as PublishCommand
  toolfold catalog publish s3://BUCKET/catalog --file mine.json
  AWS_PROFILE=prod toolfold catalog publish s3://BUCKET/catalog

Nothing is written unless the catalog is complete, up to date with its YAML, and names only variables and hosts that the
settings allow. To undo a publication, publish the earlier catalog.
"""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_WEB_ADDRESS = re.compile(r"https://([a-z0-9.-]+?)\.s3[a-z0-9.-]*\.amazonaws\.com(?:\.cn)?(/[^?#]*)?")

_SIGN_IN = "Sign in again, for example with `aws sso login`, or renew the credentials."
_CREDENTIALS = (
    "Set AWS_PROFILE, or run `aws configure` or `aws sso login`; `aws sts get-caller-identity` shows who you are."
)
_CAUSES: Mapping[str, tuple[str, str]] = {
    "NoSuchBucket": ("there is no bucket of that name", "The stack prints it as CatalogBucketName."),
    "AccessDenied": ("access was denied", "The credentials need s3:PutObject on the prefix."),
    "403": ("access was denied", "The credentials need s3:PutObject on the prefix."),
    "AllAccessDisabled": ("access was denied", "The credentials need s3:PutObject on the prefix."),
    "ExpiredToken": ("the AWS credentials are expired", _SIGN_IN),
    "ExpiredTokenException": ("the AWS credentials are expired", _SIGN_IN),
    "RequestExpired": ("the AWS credentials are expired", _SIGN_IN),
    "TokenRefreshRequired": ("the AWS credentials are expired", _SIGN_IN),
    "UnauthorizedSSOTokenError": ("the AWS sign-in is expired", _SIGN_IN),
    "SSOTokenLoadError": ("nobody is signed in to AWS", _SIGN_IN),
    "TokenRetrievalError": ("the AWS sign-in is expired", _SIGN_IN),
    "InvalidToken": ("AWS does not know the session token", _SIGN_IN),
    "InvalidAccessKeyId": ("AWS does not know the access key", _CREDENTIALS),
    "SignatureDoesNotMatch": ("the secret access key is wrong", _CREDENTIALS),
    "NoCredentialsError": ("there are no AWS credentials", _CREDENTIALS),
    "PartialCredentialsError": ("the AWS credentials are incomplete", _CREDENTIALS),
    "CredentialRetrievalError": ("the AWS credentials cannot be read", _CREDENTIALS),
    "ProfileNotFound": (
        "the profile in AWS_PROFILE does not exist",
        "`aws configure list-profiles` lists those that do.",
    ),
    "ConfigParseError": ("the AWS configuration file cannot be read", "Correct ~/.aws/config or AWS_CONFIG_FILE."),
    "NoRegionError": ("no AWS region is set", "Set AWS_REGION to the region of the bucket."),
    "RequestTimeTooSkewed": ("the clock of this machine is wrong", "Set the clock."),
    "EndpointConnectionError": ("AWS cannot be reached", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ConnectTimeoutError": ("AWS cannot be reached in time", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ReadTimeoutError": ("AWS did not answer in time", "Try again."),
    "ConnectionClosedError": (
        "the connection to AWS was closed",
        "Check the network, and AWS_ENDPOINT_URL if it is set.",
    ),
    "HTTPClientError": ("the request to AWS failed", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ProxyConnectionError": ("the proxy cannot be reached", "Check HTTPS_PROXY."),
    "SSLError": ("the certificate of AWS was not accepted", "Behind a proxy that inspects TLS, set AWS_CA_BUNDLE."),
    **dict.fromkeys(
        ("PermanentRedirect", "301", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"),
        ("the bucket is in another region", "Set AWS_REGION to the region of the bucket{region}."),
    ),
    **dict.fromkeys(("SlowDown", "ServiceUnavailable", "503", "InternalError", "500"), ("S3 is busy", "Try again.")),
}
"""Error code of AWS, or class of an exception of botocore → what is wrong, and the next step."""


def add_parser(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subcommands.add_parser(
        "publish",
        help="upload a compiled catalog to S3 and make it the current one",
        description="Check a compiled catalog, upload it to S3, and make it the current one. Readers find a complete "
        "catalog at any moment. Uses the AWS credentials of this machine.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "location",
        metavar="s3://BUCKET/PREFIX",
        nargs="?",
        default="",
        help="where the catalog is, as in TOOLFOLD_CATALOG",
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="compiled catalog (default: the one in the package)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check and publish the catalog; print its hash."""
    from toolfold.aws.clients import error_code
    from toolfold.build.publisher import check_catalog, publish
    from toolfold.catalog.allow_list import AllowList
    from toolfold.catalog.store import bundled_path
    from toolfold.settings import Settings

    location = parse_location(options.location)
    path = Path(os.path.relpath(options.file or bundled_path()))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    catalog = check_catalog(content)
    refusal = AllowList.from_settings(Settings.from_environment()).first_refusal(catalog.sources)
    if refusal is not None:
        raise ToolfoldError(
            f"A gateway would refuse this catalog: source {refusal.source_id} names {refusal.what}, {refusal.name}. If "
            f"the gateway allows it, set {refusal.setting}={refusal.entry} here as well."
        )
    _check_fresh(path, content)
    _tell(f"Checked {len(catalog)} tools in {path}.")

    from botocore.exceptions import BotoCoreError, ClientError

    try:
        sha256 = publish(content, location, on_step=_tell)
    except (BotoCoreError, ClientError) as error:
        # Its own text may contain a URL or an ARN.
        raise ToolfoldError(_describe(error, error_code(error), location)) from None
    print(f"{location} now has catalog {sha256} ({len(catalog)} tools, {len(content):,} bytes).")
    return 0


def parse_location(text: str) -> str:
    """Return ``s3://bucket/prefix``.

    Raises:
        ToolfoldError: ``text`` is something else; names the nearest form.
    """
    if not text:
        raise ToolfoldError(
            "Name the place to publish to: toolfold catalog publish s3://BUCKET/catalog. The stack prints the command, "
            "filled in, as PublishCommand."
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
    raise ToolfoldError(f"The location to publish to must be s3://bucket/prefix, not {text!r}.{_similar(text)}")


def _similar(text: str) -> str:
    """Return the address that ``text`` may mean, as a question."""
    web = _WEB_ADDRESS.fullmatch(text)
    rest = web[1] + (web[2] or "") if web else re.sub(r"^(?i:arn:aws[a-z-]*:s3:::|s3:/*)", "", text)
    bucket, slash, prefix = rest.strip("/").partition("/")
    bucket = bucket.lower() if text[:3].lower() == "s3:" else bucket
    fits = "://" not in rest and _BUCKET.fullmatch(bucket) and not re.search(r"[?#\s]", prefix)
    return f" Did you mean s3://{bucket}{slash}{prefix}?" if fits and not Path(text).exists() else ""


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
        _tell("Not checked against its YAML, which needs the packages of the extra build.")
        return
    if compile_folder(path.parent).encode() != content:
        raise ToolfoldError(
            f"{path} is out of date. Run `toolfold catalog compile --folder {path.parent}` first, or publish a copy of "
            "it with --file."
        )


def _describe(error: Exception, code: str, location: str) -> str:
    names = (code, *(base.__name__ for base in type(error).__mro__))
    cause, step = next(
        (_CAUSES[name] for name in names if name in _CAUSES),
        (f"AWS answered {code}", "Check the bucket, the region and the credentials."),
    )
    response: Any = getattr(error, "response", None) or {}
    region = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("x-amz-bucket-region", "")
    known = region if re.fullmatch(r"[a-z0-9-]{4,30}", str(region)) else ""
    step = step.replace("{region}", f", {known}" if known else "")
    return f"Nothing was published to {location}: {cause} ({code}). {step}"


def _tell(step: str) -> None:
    print(step, file=sys.stderr, flush=True)
