"""What a call comes back with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.models import ResultKind


@dataclass(frozen=True)
class CallResult:
    """An upstream's answer that was found to be data.

    ``body`` is its own text, without a byte order mark and outer white space, the key blanked out; ``kind`` says what
    it is. ``cached`` tells whether it was held from an earlier call, ``age_s`` how many seconds ago it was fetched.
    ``stale_reason`` is the code of the error for which it is given although its time is over. ``arguments`` are the checked
    ones.
    """

    body: str
    kind: ResultKind
    cached: bool
    age_s: int
    arguments: Mapping[str, Any]
    stale_reason: str = ""
