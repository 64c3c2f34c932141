"""Read ``Retry-After``: after how long a service accepts the next request."""

from __future__ import annotations

import math
from datetime import UTC, datetime

__all__ = ["MAX_RETRY_AFTER_S", "parse_retry_after"]

MAX_RETRY_AFTER_S = 86_400
"""The longest wait that a response can ask for. No quota is reset less often than once a day."""


def parse_retry_after(value: str, date: str = "") -> int | None:
    """Return the seconds that ``Retry-After`` names, from 0 to :data:`MAX_RETRY_AFTER_S` (RFC 9110, 10.2.3).

    Args:
        value: a number of seconds, or an HTTP date.
        date: the ``Date`` of the response, against which a date counts: the clocks of two machines may differ.

    Returns:
        None where it is neither: the header is then ignored. A time that is over is 0.
    """
    value = value.strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        whole, _, fraction = value.partition(".")
        digits = whole.lstrip("0") or "0"
        seconds = int(digits) if len(digits) < 10 else MAX_RETRY_AFTER_S
        return min(seconds + any(digit != "0" for digit in fraction), MAX_RETRY_AFTER_S)
    until = _parse_http_date(value)
    if until is None:
        return None
    now = _parse_http_date(date) or datetime.now(UTC)
    return min(max(0, math.ceil((until - now).total_seconds())), MAX_RETRY_AFTER_S)


def _parse_http_date(value: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        parsed = parsedate_to_datetime(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
