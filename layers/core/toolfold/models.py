"""Types that several packages exchange. Imports nothing of toolfold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ResultKind = Literal["json", "csv", "text"]
"""Form of an upstream's data."""


class ParsedResponse(NamedTuple):
    """The data of a response.

    Attributes:
        kind: the form of ``body``.
        body: the upstream's own text, without a byte order mark and white space before the data.
        is_recognized: whether it has the form of the tool's data. What may be a message in an unknown
            form is given to the caller, and cached for its API key alone: the key may be the reason.
        blocks: further content blocks of MCP (images, audio, resources), as the JSON text of a list; empty for none.
        is_final: whether the same call would return the same a moment later. What is not is never cached.
    """

    kind: ResultKind
    body: str
    is_recognized: bool = True
    blocks: str = ""
    is_final: bool = True


@dataclass(frozen=True)
class SourceCredentials:
    """What a source is given to prove who calls. ``repr`` hides it.

    Attributes:
        api_key: the API key; empty for a source that needs none.
        secrets: what was used to get it, is never sent with a call, and must not appear in an answer either.
    """

    api_key: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


SIGN_IN_S = 600
"""Seconds in which a user opens a link to sign in, and signs in."""


class Tokens(NamedTuple):
    """The tokens of a user at a source. ``repr`` hides them.

    Attributes:
        access_token: what calls are made with.
        expires_at: when it is used no more, in seconds since 1970.
        refresh_token: gets the next one; empty where the source gave none.
        code: the authorization code that they were issued for. It works no more, and must not appear in an answer.
    """

    access_token: str
    expires_at: float
    refresh_token: str = ""
    code: str = ""

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at!r})"


@dataclass(frozen=True)
class UpstreamResponse:
    """A response as the upstream sent it, not yet interpreted.

    Attributes:
        status: the HTTP status, or what corresponds to it for a source that is not HTTP.
        body: the body as text.
        retry_after_s: the seconds that ``Retry-After`` names, where the upstream sent one that can be read.
        media_type: of the content, in lower case; empty where it is not known.
        content: the bytes of a body that is not text.
        location: scheme and host of a redirect that was not followed, or where that is which was made (201, 202).
        next_url: the next page, where the upstream names one.
        total_rows: the rows on all pages, where the upstream states them beside the body.
    """

    status: int
    body: str
    retry_after_s: int | None = None
    media_type: str = ""
    content: bytes = field(default=b"", repr=False)
    location: str = ""
    next_url: str = field(default="", repr=False)
    total_rows: int = 0


@dataclass(frozen=True)
class Requested:
    """What a ``select`` requests, as far as that depends on the length of a series.

    Attributes:
        low: the first date, perhaps only a part of one; empty: without a lower bound.
        high: the last date, in the same way.
        row_count: how many rows; 0: not a number of them.
        rows_before: how many rows before each one its values are computed from: windows and earlier values.
        is_oldest_first: whether the oldest rows are requested, so that nothing may be missing before them.
        is_summary: whether the answer is computed from all rows there are: functions or the largest rows.
        is_filtered: whether rows are chosen by conditions on other columns than that of dates.
        functions: the functions that are applied to rows.
        columns: the columns that are named, in lower case; none: all.
        table: the table that is named; empty: none.
    """

    low: str = ""
    high: str = ""
    row_count: int = 0
    rows_before: int = 0
    is_oldest_first: bool = False
    is_summary: bool = False
    is_filtered: bool = False
    functions: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    table: str = ""

    @property
    def depends_on_length(self) -> bool:
        """Whether it matters how far the rows of an answer reach."""
        return self.has_period or bool(self.needed_rows) or self.is_summary or self.is_filtered

    @property
    def needed_rows(self) -> int:
        """How many rows are read; 0: not a number of them. None are before the oldest."""
        if self.is_oldest_first or not self.rows_before:
            return self.row_count
        return max(self.row_count, 1) + self.rows_before

    @property
    def has_period(self) -> bool:
        """Whether there is a bound on dates."""
        return bool(self.low or self.high)
