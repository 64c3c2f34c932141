"""``GET ui/api/watch?after=N``: calls and requests of this process, or of a log, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.explorer.answers import json_answer
from toolfold.explorer.page_request import read_integer

if TYPE_CHECKING:
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]

_MAX_NUMBER = 10**15


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return what is new after the number ``after``, and the state of all else."""
    after = read_integer(request, "after", 0, _MAX_NUMBER)
    if explorer.feed is None:
        from toolfold.explorer.feed import CallFeed

        return json_answer(CallFeed().snapshot(after))
    return json_answer(explorer.feed.snapshot(after))
