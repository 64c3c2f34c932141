"""Publish a compiled catalog to S3: what a person compiled, or the sources of a folder on a schedule.

The immutable object is written first and the pointer to it last, so a reader finds a complete catalog at any moment,
and a process that ends in between changes nothing that a reader sees.

``current.json`` is one JSON object. Gateways of every release read the first three members alone::

    sha256, bytes          hash and size of the catalog; the object is catalogs/<sha256>.json
    head                   {"bytes", "sha256"} of its first line
    tools                  number of tools
    published_at           time, UTC
    published_by           who: the ARN of a person's credentials
    writer                 schedule or terminal
    automatic              true: the schedule may replace it, although a person wrote it
    previous               hash of the catalog before

A catalog is written with ``If-None-Match: *``, so nothing overwrites it. The pointer is written with ``If-Match`` of
the pointer that was read, so that of several publishers one succeeds and the others learn of it. Every write carries
its SHA-256, which S3 checks, and every request the account that must own the bucket.
https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
"""

from __future__ import annotations

import base64
import enum
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from toolfold.aws.clients import error_code
from toolfold.build.preparation import Refresh, check_catalog, prepare_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import BucketUnavailable, CatalogDamaged, PublishConflict, PublishError, SettingsError

logger = logging.getLogger("toolfold")

_REFUSED = "ExpiredToken ExpiredTokenException RequestExpired InvalidAccessKeyId SignatureDoesNotMatch"
_MISSING = "NoCredentialsError PartialCredentialsError CredentialRetrievalError ProfileNotFound SSOError"

_CAUSES = {
    code: (cause, step)
    for codes, cause, step in (
        ("NoSuchBucket", "there is no bucket of that name", "The stack prints it as CatalogBucketName."),
        (
            "AccessDenied 403",
            "access was denied",
            "The credentials need s3:GetObject and s3:PutObject on the prefix, and s3:ListBucket on the bucket{owner}.",
        ),
        (
            f"{_REFUSED} {_MISSING}",
            "there are no AWS credentials that are valid",
            "Set AWS_PROFILE, or sign in, for example with `aws sso login`.",
        ),
        ("PermanentRedirect 301 NoRegionError", "it is in another region", "Set AWS_REGION to that of the stack."),
        (
            "ConnectionError HTTPClientError",
            "AWS cannot be reached",
            "Check the network, and AWS_ENDPOINT_URL, HTTPS_PROXY and AWS_CA_BUNDLE where they are set.",
        ),
    )
    for code in codes.split()
}
"""Error code of AWS, or class of an exception of botocore → what is wrong, and the next step."""

_UNKNOWN = "AWS refused", "Check the name, the region and the credentials, or try again in a minute."


@contextmanager
def explained(what: str, owner: str = "") -> Iterator[None]:
    """Replace the errors of AWS that are raised inside by one sentence: their own text may contain a URL or an ARN.

    Args:
        what: What did not happen, such as "Nothing was published to s3://bucket/prefix".
        owner: The account that requests say the bucket belongs to.

    Raises:
        BucketUnavailable: AWS refused, or was not reached.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # the extra aws, which compiling does not need

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        code = error_code(error)
        names = (code, *(base.__name__ for base in type(error).__mro__))
        cause, step = next((_CAUSES[name] for name in names if name in _CAUSES), _UNKNOWN)
        step = step.replace("{owner}", f", which must belong to account {owner} (else --bucket-owner)" if owner else "")
        raise BucketUnavailable(f"{what}: {cause} ({code}).", step, code) from None


_MAX_NAME = 200
"""Characters kept of the name of a publisher. The ARN of an assumed role has at most 180."""

_Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Line = Annotated[str, AfterValidator(lambda text: "".join(filter(str.isprintable, text[:_MAX_NAME])))]


class Writer(enum.StrEnum):
    """What published a catalog."""

    SCHEDULE = "schedule"
    TERMINAL = "terminal"


class Author(NamedTuple):
    """What publishes, and who. ``name`` is the ARN of a person's credentials."""

    writer: Writer
    name: str = ""


class Head(BaseModel):
    """Size and hash of the first line of a catalog."""

    bytes: PositiveInt
    sha256: _Sha256


class Pointer(BaseModel):
    """What ``current.json`` holds."""

    model_config = ConfigDict(frozen=True)

    sha256: _Sha256
    bytes: PositiveInt
    head: Head
    tools: int
    published_at: AwareDatetime
    published_by: _Line
    writer: Writer
    automatic: bool = False
    previous: _Line = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the members of ``current.json``."""
        return self.model_dump(mode="json", exclude_defaults=True)


def pointer_to(content: bytes, **members: Any) -> Pointer:
    """Return the pointer that makes ``content`` current, with the other ``members``."""
    line = content[: content.find(b"\n") + 1]
    head = Head(bytes=len(line), sha256=hashlib.sha256(line).hexdigest())
    return Pointer(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content), head=head, **members)


_ATTEMPTS = 3
"""Requests for one object, where S3 is busy or the connection fails."""

_CONNECT_S, _READ_S = 5, 60
"""Seconds to connect to S3, and to wait for a part of its answer."""

_PRECONDITION_FAILED, _CONFLICT, _NOT_FOUND = 412, 409, 404


class StoredPointer(NamedTuple):
    """The pointer in the bucket.

    ``pointer`` is None where no pointer exists, or one that is damaged. ``etag`` is None where none exists.
    """

    pointer: Pointer | None
    etag: str | None


class CatalogBucket:
    """Reads and writes the catalogs at one location.

    Args:
        location: ``s3://bucket/prefix``.
        client: A boto3 client of S3.
        owner: The account that must own the bucket; empty: any.

    Raises:
        SettingsError: ``location`` has no bucket.
    """

    def __init__(self, location: str, client: Any, owner: str = "") -> None:
        parts = urlsplit(location)
        if parts.scheme != "s3" or not parts.netloc:
            raise SettingsError(f"The location to publish to must be s3://bucket/prefix, not {location!r}.")
        self.location, self.owner = location, owner
        self._client = client
        self._prefix = f"{parts.path.strip('/')}/".lstrip("/")
        self._common = {"Bucket": parts.netloc} | ({"ExpectedBucketOwner": owner} if owner else {})

    def url(self, name: str) -> str:
        """Return the address of the object ``name`` below the prefix."""
        return f"s3://{self._common['Bucket']}/{self._prefix}{name}"

    def read_pointer(self) -> StoredPointer:
        """Return the pointer, or nothing where nothing has been published."""
        found = self._get(POINTER)
        if found is None:
            return StoredPointer(None, None)
        try:
            return StoredPointer(Pointer.model_validate_json(found["Body"].read()), found["ETag"])
        except ValidationError:
            return StoredPointer(None, found["ETag"])

    def store_catalog(self, content: bytes) -> None:
        """Write ``content`` under its hash, unless it is there.

        Raises:
            CatalogDamaged: The object exists with another content.
            PublishConflict: Another upload of it is in progress.
        """
        name = object_name(hashlib.sha256(content).hexdigest())
        status = self._put(name, content, IfNoneMatch="*")
        if status is None:
            return
        if status != _PRECONDITION_FAILED:
            raise PublishConflict(
                f"Another upload of {self.url(name)} is in progress.", "Nothing was changed. Try again."
            )
        found = self._get(name)
        if found is None or found["Body"].read() != content:
            raise CatalogDamaged(
                f"{self.url(name)} does not have the content that its name says.",
                "Nothing was changed. Restore the earlier version of that object, or publish another catalog.",
            )

    def replace_pointer(self, pointer: Pointer, former: StoredPointer) -> None:
        """Write ``pointer`` in place of ``former``.

        Raises:
            PublishConflict: The pointer is another one by now.
        """
        condition = {"IfNoneMatch": "*"} if former.etag is None else {"IfMatch": former.etag}
        content = json.dumps(pointer.as_dict()).encode() + b"\n"
        status = self._put(POINTER, content, CacheControl="no-cache", **condition)
        if status is None:
            return
        current = self.read_pointer().pointer
        if current == pointer:
            return  # the answer to an attempt before was lost, and this is what it wrote
        faster = f"catalog {current.sha256[:12]} by {current.published_by}" if current else "its pointer was removed"
        problem = f"{self.location} was changed at the same time: {faster}."
        raise PublishConflict(problem, "Nothing was lost. Publish again if yours is to replace it.")

    def _get(self, name: str) -> dict[str, Any] | None:
        from botocore.exceptions import ClientError

        try:
            found: dict[str, Any] = self._client.get_object(**self._common, Key=self._prefix + name)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
                return None
            raise
        return found

    def _put(self, name: str, body: bytes, **options: Any) -> int | None:
        """Write an object; return None, or the status that says that its condition does not hold."""
        from botocore.exceptions import ClientError

        checksum = base64.b64encode(hashlib.sha256(body).digest()).decode()
        try:
            self._client.put_object(
                **self._common,
                Key=self._prefix + name,
                Body=body,
                ContentType="application/json",
                ChecksumSHA256=checksum,
                **options,
            )
        except ClientError as error:
            response = error.response
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            is_missing = status == _NOT_FOUND and response.get("Error", {}).get("Code") == "NoSuchKey"
            if status in (_PRECONDITION_FAILED, _CONFLICT) or is_missing:
                return int(status)
            raise
        return None


def open_client(service: str) -> Any:
    """Return a boto3 client of ``s3`` or ``sts`` with the credentials of this machine."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=_CONNECT_S, read_timeout=_READ_S, retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"}
    )
    session = boto3.session.Session()
    # botocore itself does not read AWS_REGION, which other SDKs do. S3 finds a bucket without a region; STS has to have
    # one, and answers the same in each.
    region = os.environ.get("AWS_REGION") or session.region_name or ("us-east-1" if service == "sts" else None)
    return session.client(service, region_name=region, config=config)


class Outcome(enum.StrEnum):
    """What a publication did."""

    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    """The catalog was the current one already."""
    KEPT = "kept"
    """Another catalog stays current, because a person published it."""


class Publication(NamedTuple):
    """The result of a publication: what it did, and the pointer after it."""

    outcome: Outcome
    pointer: Pointer


def publish_catalog(
    content: bytes,
    bucket: CatalogBucket,
    author: Author,
    *,
    automatic: bool = False,
    now: datetime | None = None,
) -> Publication:
    """Make ``content`` the current catalog of ``bucket``, unless ``author`` may not replace the one that is.

    Can be repeated. Every line and every hash is checked first: a reader checks only what it reads, when it reads it.

    Args:
        content: A compiled catalog.
        bucket: Where to.
        author: Who publishes. The schedule does not replace the catalog of a person.
        automatic: Whether the schedule may replace this one all the same.
        now: The time to write into the pointer; None: the present.

    Raises:
        SettingsError: ``content`` is not a compiled catalog.
        PublishConflict: Another publisher was faster; its catalog stays current.
        CatalogDamaged: The bucket has another object under the name of this catalog, or a damaged pointer, which a
            person replaces.
        botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError: See :func:`explained`.
    """
    tools, stored = len(check_catalog(content)), bucket.read_pointer()
    current = stored.pointer
    if author.writer is Writer.SCHEDULE and stored.etag is not None:
        if current is None:
            step = f"Publish with: toolfold catalog publish {bucket.location}"
            raise CatalogDamaged(f"The pointer of {bucket.location} is damaged.", step)
        if current.writer is not Writer.SCHEDULE and not current.automatic:
            return Publication(Outcome.KEPT, current)
    pointer = pointer_to(
        content,
        tools=tools,
        published_at=(now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0),
        published_by=author.name,
        writer=author.writer,
        automatic=automatic,
        previous="" if current is None else current.sha256,
    )
    bucket.store_catalog(content)
    if current is not None and current.sha256 == pointer.sha256:
        confirmed = current.model_copy(update={"automatic": current.automatic or automatic})
        # Gateways take the time of the pointer's last write in S3 for the time of the last confirmation (CatalogAge).
        if confirmed != current or author.writer is Writer.SCHEDULE:
            bucket.replace_pointer(confirmed, stored)
        return Publication(Outcome.UNCHANGED, confirmed)
    bucket.replace_pointer(pointer, stored)
    return Publication(Outcome.PUBLISHED, pointer)


class Run(NamedTuple):
    """What one run did.

    ``outcome`` is ``published``, ``unchanged``, ``kept`` or ``failed``; ``age_s`` the seconds since the current catalog
    was published or found up to date, None: unknown.
    """

    outcome: str
    code: str = ""
    sha256: str = ""
    tools: int = 0
    age_s: float | None = None


def publish_unattended(
    folder: Path,
    bucket: CatalogBucket,
    allow_list: AllowList,
    *,
    refresh: Refresh | None = None,
    on_run: Callable[[Run], None] = lambda _: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Run:
    """Publish the catalog of the sources in a folder, unless a person published the current one.

    Args:
        folder: The YAML of the sources.
        bucket: Where to publish.
        allow_list: What the gateway allows sources to name.
        refresh: Updates the sources first.
        on_run: Called with the result, also of a run that fails.
        now: Returns the present.

    Raises:
        PublishError: Nothing was published, so that Lambda tries again and then reports the failure.
    """
    started, run = time.perf_counter(), Run("failed")
    try:
        content = prepare_catalog(folder, allow_list, refresh)
        with explained(f"Nothing was published to {bucket.location}"):
            outcome, pointer = publish_catalog(content, bucket, Author(Writer.SCHEDULE), now=now())
        age_s = max(0.0, (now() - pointer.published_at).total_seconds()) if outcome is Outcome.KEPT else 0.0
        run = Run(str(outcome), "", pointer.sha256, pointer.tools, age_s)
    except BaseException as error:
        run = run._replace(code=error.code if isinstance(error, PublishError) else type(error).__name__)
        raise
    finally:
        fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        logger.log(logging.ERROR if run.outcome == "failed" else logging.INFO, "publish", extra=shown)
        on_run(run)
    return run
