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

import dataclasses
import enum
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_NAME = 200
"""Characters kept of the name of a publisher. The ARN of an assumed role has at most 180."""


class Writer(enum.StrEnum):
    """What published a catalog."""

    SCHEDULE = "schedule"
    TERMINAL = "terminal"


class Author(NamedTuple):
    """What publishes, and who. ``name`` is the ARN of a person's credentials."""

    writer: Writer
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pointer:
    """What ``current.json`` holds."""

    sha256: str
    bytes: int
    head: dict[str, Any]
    tools: int
    published_at: str
    published_by: str
    writer: Writer
    automatic: bool = False
    checked_at: str = ""
    previous: str = ""

    def may_be_replaced_by(self, writer: Writer) -> bool:
        """Return whether ``writer`` may make another catalog current: the schedule not that of a person."""
        return self.automatic or writer is Writer.TERMINAL or self.writer is not Writer.TERMINAL

    def as_dict(self) -> dict[str, Any]:
        """Return the members of ``current.json``."""
        optional = ("automatic", "checked_at", "previous")
        return {key: value for key, value in dataclasses.asdict(self).items() if value or key not in optional}

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
        hashlib.sha256(content).hexdigest(),
        len(content),
        {"bytes": len(head_line), "sha256": hashlib.sha256(head_line).hexdigest()},
        tools,
        time,
        _one_line(author.name),
        author.writer,
        automatic,
        time if is_checked else "",
        "" if former is None else former.sha256,
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
        values = json.loads(content)
        head, hashes = values["head"], (values["sha256"], values["head"]["sha256"])
        if not all(map(_SHA256.fullmatch, hashes)) or head["bytes"] <= 0:
            return None
        texts = {name: _one_line(str(values[name])) for name in ("published_at", "published_by")}
        texts |= {name: _one_line(str(values.get(name, ""))) for name in ("checked_at", "previous")}
        return Pointer(
            values["sha256"],
            int(values["bytes"]),
            {"bytes": int(head["bytes"]), "sha256": head["sha256"]},
            int(values["tools"]),
            writer=Writer(values["writer"]),
            automatic=values.get("automatic") is True,
            **texts,
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _one_line(text: str) -> str:
    return "".join(character for character in text[:_MAX_NAME] if character.isprintable())
