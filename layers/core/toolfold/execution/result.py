"""The result of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolfold.models import ResultKind
from toolfold.redaction import NO_REDACTION, Redactor

if TYPE_CHECKING:
    from toolfold.cache.response_cache import Entry


@dataclass(frozen=True)
class UpstreamUse:
    """What answers cost at the upstream.

    Attributes:
        requests: requests sent.
        seconds: the time that they took together.
    """

    requests: int = 0
    seconds: float = 0.0

    def __add__(self, other: UpstreamUse) -> UpstreamUse:
        """Return the sum of both."""
        return UpstreamUse(self.requests + other.requests, self.seconds + other.seconds)


NO_USE = UpstreamUse()


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
        use: what the call cost at the upstream.
        entry: the cache entry that ``body`` is from; None where it repeats a key, or where no entry exists.
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
    use: UpstreamUse = NO_USE
    entry: Entry | None = field(default=None, compare=False, repr=False)

    def with_notes(self, notes: tuple[str, ...]) -> CallResult:
        """Return the result with ``notes`` in place of its own, if there are any."""
        return replace(self, notes=notes) if notes else self
