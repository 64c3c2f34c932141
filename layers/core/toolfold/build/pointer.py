"""The pointer to the current catalog: what gateways read, and who wrote it.

``current.json`` is one JSON object. Gateways of every release read the first three members alone::

    sha256, bytes          hash and size of the catalog; the object is catalogs/<sha256>.json
    head                   {"bytes", "sha256"} of its first line
    tools                  number of tools
    published_at           time, UTC
    published_by           who: the ARN of a person's credentials
    writer                 schedule or terminal
    automatic              true: the schedule may replace it, although a person wrote it
    checked_at             when the scheduled publisher last found that the catalog is up to date; absent without one
    previous               hash of the catalog before
"""

from __future__ import annotations

import enum
import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveInt, StrictBool, ValidationError

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
    published_at: _Line
    published_by: _Line
    writer: Writer
    automatic: StrictBool = False
    checked_at: _Line = ""
    previous: _Line = ""

    def may_be_replaced_by(self, writer: Writer) -> bool:
        """Return whether ``writer`` may make another catalog current: the schedule not that of a person."""
        return self.automatic or writer is Writer.TERMINAL or self.writer is not Writer.TERMINAL

    def as_dict(self) -> dict[str, Any]:
        """Return the members of ``current.json``."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def to_json(self) -> str:
        """Return the text of ``current.json``."""
        return json.dumps(self.as_dict()) + "\n"


def point_to(
    content: bytes,
    tools: int,
    author: Author,
    *,
    now: datetime,
    former: Pointer | None = None,
    automatic: bool = False,
) -> Pointer:
    """Return the pointer that makes ``content`` current after ``former``."""
    head_line = content[: content.find(b"\n") + 1]
    time = format_time(now)
    is_checked = author.writer is Writer.SCHEDULE or (former is not None and former.checked_at)
    return Pointer(
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        head=Head(bytes=len(head_line), sha256=hashlib.sha256(head_line).hexdigest()),
        tools=tools,
        published_at=time,
        published_by=author.name,
        writer=author.writer,
        automatic=automatic,
        checked_at=time if is_checked else "",
        previous="" if former is None else former.sha256,
    )


def format_time(now: datetime) -> str:
    """Return ``now`` in UTC, to the second.

    >>> format_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_pointer(content: bytes) -> Pointer | None:
    """Return the pointer in ``content``; None where it is not one."""
    try:
        return Pointer.model_validate_json(content)
    except ValidationError:
        return None
