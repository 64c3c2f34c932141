"""The result of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.models import ResultKind
from toolfold.redaction import NO_REDACTION, Redactor


@dataclass(frozen=True)
class CallResult:
    """A response of the upstream that is data.

    Attributes:
        body: the upstream's text, without a byte order mark and outer white space, the API key replaced.
        kind: the form of ``body``.
        cached: whether it comes from the cache.
        age_s: seconds since it was fetched.
        arguments: the validated arguments.
        stale_reason: for a result past its time, the code of the error for which it is given; else empty.
        notes: what was read in the arguments in a way that the caller may not expect.
        redactor: replaces the keys of this call in what is made of ``body``.
        blocks: see :class:`toolfold.models.ParsedResponse`.
    """

    body: str
    kind: ResultKind
    cached: bool
    age_s: int
    arguments: Mapping[str, Any]
    stale_reason: str = ""
    redactor: Redactor = NO_REDACTION
    notes: tuple[str, ...] = ()
    blocks: str = ""
