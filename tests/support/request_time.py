"""Requests whose time ends when a test ends it, not when a clock does: a busy machine ends them at the same point."""

import time
from collections import Counter
from typing import Any

import pytest

from toolfold.meta_tools.plan import Plan


def end_requests_after(monkeypatch: pytest.MonkeyPatch, answers: int) -> None:
    """End the time for further calls of each request when so many answers that are not cached have been read."""

    read, complete = Counter[Plan](), Plan.complete

    def complete_and_end(session: Plan, call: Any, arguments: Any, response: Any) -> Any:
        answer = complete(session, call, arguments, response)
        read[session] += not response.cached
        if read[session] >= answers:
            session.end = time.monotonic()
        return answer

    monkeypatch.setattr(Plan, "complete", complete_and_end)
