"""Find from which measure on the tools of a source fit a query: the thresholds of ``catalog.fit``.

The example queries of the source are what its users may ask. A fifth of them at a time is searched in an index without
these; so they are new to it, as those of users are. No query that the source does not serve is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from toolfold.build import search_index
from toolfold.catalog.fit import measure
from toolfold.catalog.search import MEASURED_TOOLS, score

if TYPE_CHECKING:
    from toolfold.build.schema.field_types import Vocabulary
    from toolfold.catalog.model import Catalog

_FOLDS = 5

_MIN_QUERIES = 100
"""Queries below which a share of two hundredths says nothing."""

_NOTHING, _SURE = 0.02, 0.2
"""Share of the example queries below each threshold. A query that is new in fewer words than a user's fits better, so
that fewer of the users' are below them than these shares (docs/reference/retrieval.md)."""

Fields = Mapping[str, Sequence[str]]


def thresholds(tools: Sequence[Fields], vocabulary: Vocabulary) -> dict[str, float]:
    """Return ``{"nothing", "sure"}`` for a source; empty where it has too few example queries."""
    if sum(len(fields["example_queries"]) for fields in tools) < _MIN_QUERIES:
        return {}
    measures = sorted(value for fold in range(_FOLDS) for value in _measures(tools, vocabulary, fold))
    return {
        name: round(measures[int(share * len(measures))], 2) for name, share in (("nothing", _NOTHING), ("sure", _SURE))
    }


def _measures(tools: Sequence[Fields], vocabulary: Vocabulary, fold: int) -> Iterable[float]:
    """Yield the measure of each query of a fold, in an index without these."""
    left_out = [fields["example_queries"][(fold - at) % _FOLDS :: _FOLDS] for at, fields in enumerate(tools)]
    kept = [
        {**fields, "example_queries": [query for query in fields["example_queries"] if query not in queries]}
        for fields, queries in zip(tools, left_out, strict=True)
    ]
    index = cast("Catalog", search_index.MemoryIndex(kept, [vocabulary]))
    for query in (query for queries in left_out for query in queries):
        scored = score(index, query, len(tools))
        best = sorted(scored.scores, key=lambda position: (-scored.scores[position], position))[:MEASURED_TOOLS]
        yield measure(index, scored.parsed, scored.weights, best, range(len(tools))).value
