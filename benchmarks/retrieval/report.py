"""The tables: rankers × slices of the requests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.retrieval.metrics import DEPTH, Score, score
from benchmarks.retrieval.rankers import Ranker
from benchmarks.retrieval.request_set import HELD_OUT, KINDS, TUNING, Request
from toolfold.catalog.fit import Fit
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search

HEAD = ("", "", "n", "R@1", "R@5", "nDCG@10", "needed@5", "silent")

Answers = Sequence[tuple[Request, Sequence[str]]]


def answers(ranker: Ranker, requests: Iterable[Request]) -> Answers:
    """Each request with the names that ``ranker`` gives for its text."""
    return [(request, ranker.rank(request.text, DEPTH)) for request in requests]


def slices(requests: Iterable[Request]) -> dict[str, dict[str, list[Request]]]:
    """Heading → title → requests. Outside requests are left out: no tool is right for them."""
    served = [request for request in requests if request.tools]
    return {
        "In all": {"all": served, HELD_OUT: _held_out(served)},
        "By kind": {kind: [request for request in served if request.kind == kind] for kind in KINDS[:-1]},
        "By language": {
            "English": [request for request in served if request.language == "en"],
            "other": [request for request in served if request.language != "en"],
        },
    }


def _held_out(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if request.half == HELD_OUT]


def tables(answered: Mapping[str, Answers]) -> str:
    """Markdown: a table a heading, rows by slice and then by ranker. ``answered`` is title → answers."""
    parts = []
    requests = [request for request, _ in next(iter(answered.values()))]
    for heading, titled in slices(requests).items():
        rows = []
        for title, chosen in titled.items():
            wanted = set(chosen)
            # Kinds and languages are shown for the first ranker alone.
            shown = list(answered.items())[: 1 if heading.startswith("By") else None]
            for at, (ranker, given) in enumerate(shown):
                scored = score((request, ranked) for request, ranked in given if request in wanted)
                rows.append(("" if at else f"**{title}**", ranker, *_cells(scored)))
        parts.append(f"### {heading}\n\n{table(HEAD, rows)}")
    return "\n".join(parts)


def _cells(scored: Score) -> tuple[str, ...]:
    means = (scored.r1, scored.r5, scored.ndcg, scored.needed, scored.silent)
    return (str(scored.count), *("" if mean is None else f"{mean:.3f}" for mean in means))


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
