"""Types that several packages exchange. Imports nothing of toolfold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ResultKind = Literal["json", "csv"]
"""Form of an upstream's data."""


@dataclass(frozen=True)
class SourceCredentials:
    """What a source is given to prove who calls. ``repr`` hides it.

    Attributes:
        api_key: the API key; empty for a source that needs none.
    """

    api_key: str = field(default="", repr=False)


@dataclass(frozen=True)
class UpstreamResponse:
    """A response as the upstream sent it, not yet interpreted.

    Attributes:
        status: the HTTP status, or what corresponds to it for a source that is not HTTP.
        body: the body as text.
        retry_after_s: the value of ``Retry-After`` where the upstream sent one in seconds.
    """

    status: int
    body: str
    retry_after_s: int | None = None
