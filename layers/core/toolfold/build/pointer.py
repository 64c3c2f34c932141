"""The pointer to the current catalog: what gateways read, who wrote it, and the versions before it.

``current.json`` is one JSON object. Gateways of every release read the first three members alone::

    sha256, bytes          hash and size of the catalog; the object is catalogs/<sha256>.json
    head                   {"bytes", "sha256"} of its first line
    tools                  number of tools
    published_at           time, UTC
    published_by           who: the ARN of a person's credentials, the name of a stack
    writer                 deployment, schedule or terminal
    automatic              true: a deployment or the schedule may replace it, although a person wrote it
    checked_at             when the scheduled publisher last found that the catalog is up to date; absent without one
    previous               hash of the catalog before
    history                earlier versions, newest first: the members above, and "withdrawn" after a rollback
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

MAX_HISTORY = 20
"""Earlier versions that a pointer lists. Gateways read the pointer every minute, so it stays below 8 kB."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_NAME = 200
"""Characters kept of the name of a publisher. The ARN of an assumed role has at most 180."""


class Writer(enum.StrEnum):
    """What published a catalog."""

    DEPLOYMENT = "deployment"
    SCHEDULE = "schedule"
    TERMINAL = "terminal"


class Author(NamedTuple):
    """What publishes, and who. ``name`` is the ARN of a person's credentials, or the name of a stack."""

    writer: Writer
    name: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A catalog that is or was current.

    ``published_at`` is UTC in ISO 8601. ``withdrawn``: a rollback has left it.
    """

    sha256: str
    bytes: int
    tools: int
    published_at: str
    published_by: str
    writer: Writer
    withdrawn: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the version as JSON values, without ``withdrawn`` where it is false."""
        values = dataclasses.asdict(self) | {"writer": str(self.writer)}
        return values if self.withdrawn else {name: value for name, value in values.items() if name != "withdrawn"}


@dataclass(frozen=True, slots=True)
class Pointer:
    """What ``current.json`` holds."""

    current: Version
    head_bytes: int
    head_sha256: str
    history: tuple[Version, ...] = ()
    automatic: bool = False
    checked_at: str = ""

    @property
    def versions(self) -> tuple[Version, ...]:
        """The current version and the earlier ones, newest first."""
        return (self.current, *self.history)

    def may_be_replaced_by(self, writer: Writer) -> bool:
        """Return whether ``writer`` may make another catalog current.

        A person may always. A deployment replaces what a deployment published, the schedule also what it published
        itself: neither takes back what a person chose, such as a rollback.
        """
        replaceable = {
            Writer.DEPLOYMENT: (Writer.DEPLOYMENT,),
            Writer.SCHEDULE: (Writer.DEPLOYMENT, Writer.SCHEDULE),
            Writer.TERMINAL: tuple(Writer),
        }
        return self.automatic or self.current.writer in replaceable.get(writer, ())

    def as_bytes(self) -> bytes:
        """Return the content of ``current.json``."""
        current = self.current.as_dict()
        values: dict[str, Any] = {
            "sha256": current.pop("sha256"),
            "bytes": current.pop("bytes"),
            "head": {"bytes": self.head_bytes, "sha256": self.head_sha256},
            **current,
        }
        if self.automatic:
            values["automatic"] = True
        if self.checked_at:
            values["checked_at"] = self.checked_at
        if self.history:
            values["previous"] = self.history[0].sha256
            values["history"] = [version.as_dict() for version in self.history]
        return (json.dumps(values) + "\n").encode()


def point_to(
    content: bytes,
    tools: int,
    author: Author,
    *,
    now: datetime,
    former: Pointer | None = None,
    withdraw: bool = False,
    automatic: bool = False,
) -> Pointer:
    """Return the pointer that makes ``content`` current after ``former``."""
    head_line = content[: content.find(b"\n") + 1]
    time = format_time(now)
    sha256 = hashlib.sha256(content).hexdigest()
    version = Version(sha256, len(content), tools, time, _one_line(author.name), author.writer)
    history: tuple[Version, ...] = ()
    checked_at = time if author.writer is Writer.SCHEDULE else ""
    if former is not None:
        left = dataclasses.replace(former.current, withdrawn=withdraw or former.current.withdrawn)
        history = tuple(entry for entry in (left, *former.history) if entry.sha256 != sha256)[:MAX_HISTORY]
        checked_at = checked_at or (time if former.checked_at else "")
    return Pointer(version, len(head_line), hashlib.sha256(head_line).hexdigest(), history, automatic, checked_at)


def format_time(now: datetime) -> str:
    """Return ``now`` in UTC, to the second.

    >>> format_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_pointer(content: bytes) -> Pointer | None:
    """Return the pointer in ``content``; None where it is not one."""
    try:
        values = json.loads(content)
        head, history = values["head"], values.get("history", ())
        if not _SHA256.fullmatch(head["sha256"]) or head["bytes"] <= 0:
            return None
        return Pointer(
            _version(values),
            int(head["bytes"]),
            head["sha256"],
            tuple(map(_version, history[:MAX_HISTORY])),
            values.get("automatic") is True,
            _one_line(str(values.get("checked_at", ""))),
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _version(values: dict[str, Any]) -> Version:
    if not _SHA256.fullmatch(values["sha256"]):
        raise ValueError("not a hash")
    published_at, published_by = (_one_line(str(values[name])) for name in ("published_at", "published_by"))
    sizes, is_withdrawn = (int(values["bytes"]), int(values["tools"])), values.get("withdrawn") is True
    return Version(values["sha256"], *sizes, published_at, published_by, Writer(values["writer"]), is_withdrawn)


def _one_line(text: str) -> str:
    return "".join(character for character in text[:_MAX_NAME] if character.isprintable())
