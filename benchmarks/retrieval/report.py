"""What is counted about one ranking, means of that over many, and the tables: rankers × slices of the requests.

Ranks count from 1. Every metric takes the ranked names, best first, and the right ones.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.retrieval.rankers import Ranker
from benchmarks.retrieval.request_set import HELD_OUT, KINDS, TUNING, Request
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import Fit, search

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


HEAD = ("", "", "n", "R@1", "R@5", "nDCG@10", "needed@5", "silent")

Answers = Sequence[tuple[Request, Sequence[str]]]


def answers(ranker: Ranker, requests: Iterable[Request]) -> Answers:
    """Each request with the names that ``ranker`` gives for its text."""
    return [(request, ranker.rank(request.text, DEPTH)) for request in requests]


def slices(requests: Iterable[Request]) -> dict[str, dict[str, list[Request]]]:
    """Heading → title → requests. Outside requests are left out: no tool is right for them."""
    served = [request for request in requests if request.tools]
    return {
        "In all": {"all": served, HELD_OUT: [one for one in served if one.half == HELD_OUT]},
        "By kind": {kind: [request for request in served if request.kind == kind] for kind in KINDS[:-1]},
        "By language": {
            "English": [request for request in served if request.language == "en"],
            "other": [request for request in served if request.language != "en"],
        },
    }


def tables(answered: Mapping[str, Answers]) -> str:
    """Markdown: a table a heading, rows by slice and then by ranker. ``answered`` is title → answers."""
    parts = []
    requests = [request for request, _ in next(iter(answered.values()))]
    for heading, titled in slices(requests).items():
        rows = []
        for title, chosen in titled.items():
            wanted = set(chosen)
            # The other rankers are compared on the held-out half alone.
            shown = list(answered.items())[: None if title == HELD_OUT else 1]
            for at, (ranker, given) in enumerate(shown):
                scored = score((request, ranked) for request, ranked in given if request in wanted)
                means = (scored.r1, scored.r5, scored.ndcg, scored.needed, scored.silent)
                cells = ("" if mean is None else f"{mean:.3f}" for mean in means)
                rows.append(("" if at else f"**{title}**", ranker, str(scored.count), *cells))
        parts.append(f"### {heading}\n\n{table(HEAD, rows)}")
    return "\n".join(parts)


def fits(catalog: Catalog, requests: Iterable[Request]) -> str:
    """How often toolfold's search says that tools surely fit, fit weakly, or that nothing fits: a table."""
    rows = []
    for half, served in itertools.product((TUNING, HELD_OUT), (True, False)):
        found = [
            search(catalog, request.text).fit
            for request in requests
            if request.half == half and bool(request.tools) == served
        ]
        shares = (f"{100 * found.count(fit) / len(found):.1f} %" for fit in reversed(Fit))
        rows.append((f"{half}, {'served' if served else 'outside'}", str(len(found)), *shares))
    return "### Whether anything fits\n\n" + table(("", "n", "sure", "weak", "nothing"), rows)


def misses(answered: Answers) -> str:
    """Return requests of the tuning half with a wrong first result, and the results. The other half is never shown."""
    lines = []
    for request, ranked in answered:
        right = request.tools and ranked[:1] and ranked[0] in request.tools
        if request.half == TUNING and not right and (request.tools or ranked):
            wanted = ", ".join(request.tools) or "nothing"
            lines.append(
                f"{request.kind}: {request.text}\n    wanted {wanted}; got {', '.join(ranked[:3]) or 'nothing'}"
            )
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown, without the columns that no row fills."""
    kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
    under = ["---:" if name else "---" for name in head]
    return "".join("| " + " | ".join(line[at] for at in kept) + " |\n" for line in (head, under, *rows))
