"""What is counted about one ranking, and means of that over many. Pure; ranks count from 1.

Every function takes the ranked names, best first, and the right ones.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.retrieval.request_set import Request

DEPTH = 10
"""How far down a ranking is read."""


def hit(ranked: Sequence[str], right: Collection[str], depth: int) -> float:
    """1 if any right tool is among the first ``depth``, else 0."""
    return float(any(name in right for name in ranked[:depth]))


def ndcg(ranked: Sequence[str], right: Collection[str]) -> float:
    """Normalised discounted cumulative gain of the first :data:`DEPTH`, each right tool gaining 1.

    1 when all right tools come first, in any order. A name that comes twice gains once.
    """
    gained = sum(_discount(rank) for rank, name in enumerate(dict.fromkeys(ranked[:DEPTH]), 1) if name in right)
    return gained / sum(_discount(rank) for rank in range(1, min(len(right), DEPTH) + 1))


def found(ranked: Sequence[str], right: Collection[str], depth: int) -> float:
    """The share of the right tools that is among the first ``depth``."""
    return len(set(ranked[:depth]) & set(right)) / len(right)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


@dataclass(frozen=True, slots=True)
class Score:
    """Means over ``count`` requests, each from 0 to 1; None where there is nothing to take the mean of.

    ``needed``: of requests that need several tools, the share of those among the first five. ``silent``: how often
    nothing was answered, which is right for an outside request and wrong for any other.
    """

    count: int
    r1: float | None
    r5: float | None
    ndcg: float | None
    needed: float | None
    silent: float | None


def score(answers: Iterable[tuple[Request, Sequence[str]]]) -> Score:
    """The score of ``(request, ranked names)``. Outside requests count for ``count`` and ``silent`` alone."""
    answers = list(answers)
    served = [(ranked, request.tools) for request, ranked in answers if request.tools]
    several = [(ranked, request.tools) for request, ranked in answers if request.kind == "several"]
    return Score(
        count=len(answers),
        r1=_mean(hit(ranked, right, 1) for ranked, right in served),
        r5=_mean(hit(ranked, right, 5) for ranked, right in served),
        ndcg=_mean(ndcg(ranked, right) for ranked, right in served),
        needed=_mean(found(ranked, right, 5) for ranked, right in several),
        silent=_mean(float(not ranked) for _, ranked in answers),
    )


def with_error(values: Sequence[float]) -> str:
    """Return the mean of ``values`` and its standard error, in hundredths."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{100 * statistics.fmean(values):.1f} ± {100 * error:.1f}"


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return math.fsum(values) / len(values) if values else None
