"""Compare the search with other ranking methods: ``make bench-rankers``.

All use the same texts of the catalog, with its phrases. The free parameters of a fusion (weights, the constant of the
ranks) are chosen in each run, on the tuning half alone.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.retrieval import metrics
from benchmarks.retrieval.report import Answers, table
from benchmarks.retrieval.request_set import HELD_OUT, TUNING, Request, load
from benchmarks.retrieval.scorers import (
    Grams,
    Scorer,
    Scores,
    Without,
    by_words,
    documents,
    ranked,
    reciprocal_ranks,
    weighted_sum,
)
from benchmarks.retrieval.vectors import DIMENSIONS, ByVectors, InPlainPython, model_bytes, static, transformer
from benchmarks.timing import each_ms
from toolfold.build.writer import blocks
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.cli import progress

CATALOG = Path("catalog")

SHARES = (0.1, 0.2, 0.4, 0.8, 1.6)
CONSTANTS = (5, 20, 60)

WORDS, PAIRS, UNCORRECTED, OURS = "BM25", "BM25, pairs, names", "toolfold, no correction", "toolfold"
LEFT_OUT = {
    WORDS: ("pairs", "names", "vocabulary", "spellings"),
    PAIRS: ("vocabulary", "spellings"),
    UNCORRECTED: ("spellings",),
    OURS: (),
}
GRAMS = {"3-grams": 3, "4-grams": 4}
STATIC = {f"static {dimensions}": dimensions for dimensions in DIMENSIONS}
MINILM = "MiniLM"

FUSED = (
    *((words, letters) for words in (WORDS, UNCORRECTED, OURS) for letters in GRAMS),
    *((words, vectors) for words in (WORDS, OURS) for vectors in (*STATIC, MINILM)),
    *((words, "3-grams", "static 256") for words in (WORDS, OURS)),
)
"""What is fused, in both ways."""


@dataclass(frozen=True, slots=True)
class Way:
    """A ranker: its title, the scorers that it takes, how it fuses their scores, and what of that was chosen."""

    title: str
    parts: tuple[str, ...]
    fuse: Callable[[Sequence[Scores]], Scores]
    chosen: str


def ways() -> Iterator[list[Way]]:
    """Each ranker, as the choices there are for it."""
    for words in LEFT_OUT:
        yield [Way(words, (words,), _only, "")]
    for one in (*GRAMS, *STATIC, MINILM):
        yield [Way(one, (one,), _only, "")]
    for parts in FUSED:
        title = " + ".join(parts)
        yield [
            Way(f"{title}, sum", parts, partial(weighted_sum, (1, *shares)), f"share {' and '.join(map(str, shares))}")
            for shares in itertools.product(SHARES, repeat=len(parts) - 1)
        ]
        yield [
            Way(f"{title}, ranks", parts, partial(reciprocal_ranks, constant), f"constant {constant}")
            for constant in CONSTANTS
        ]


def _only(parts: Sequence[Scores]) -> Scores:
    return parts[0]


class Bench:
    """The scores of every scorer for every request, made once, and what is made of them."""

    def __init__(self, catalog: Catalog, requests: Sequence[Request]) -> None:
        self._catalog, self._requests, self._names = catalog, requests, list(catalog)
        fields = documents(CATALOG)
        self._scorers: dict[str, Any] = {
            **{title: by_words(Without(catalog, *parts), len(fields)) for title, parts in LEFT_OUT.items()},
            **{title: Grams(fields, len(catalog), letters) for title, letters in GRAMS.items()},
            **{title: ByVectors(fields, static(dimensions).encode) for title, dimensions in STATIC.items()},
            MINILM: ByVectors(fields, transformer().encode),
        }
        texts = [request.text for request in requests]
        self._scores: dict[str, dict[Request, Scores]] = {}
        for title, scorer in self._scorers.items():
            found = scorer.many(texts) if isinstance(scorer, ByVectors) else map(scorer, texts)
            self._scores[title] = dict(zip(requests, found, strict=True))

    def quality(self) -> str:
        """How well each ranker finds: a table for each half."""
        shown = progress.track(ways(), lambda choices: f"Choosing: {choices[0].title}")
        best = [max(choices, key=self._worth) for choices in shown]
        out = []
        for half in (TUNING, HELD_OUT):
            chosen = [request for request in self._requests if request.half == half]
            rows = [(way.title, way.chosen if half == TUNING else "", *self._cells(way, chosen)) for way in best]
            counts = [len(part) for part in _parts([(request, ()) for request in chosen])]
            about = "{} requests in English, {} in other languages, {} that nothing serves".format(*counts)
            out.append(f"### The {half} half: {about}\n\n{table(_HEAD, rows)}")
        return "\n".join(out)

    def costs(self) -> str:
        """What each part adds, and how long a request takes."""
        words = [
            (WORDS, self._count_entries(lambda term: Without(self._catalog, "pairs", "vocabulary").has(term)), 0),
            (PAIRS, self._count_entries(lambda term: " " in term), 0),
            (
                UNCORRECTED,
                self._count_entries(lambda term: term.startswith("@")) + self._count_entries(section="synonyms"),
                0,
            ),
            (OURS, self._count_entries(section="spellings"), 0),
        ]
        letters = [(title, _written(sorted(self._scorers[title].index.items())), 0) for title in GRAMS]
        vectors = [
            (title, self._scorers[title].texts.nbytes, model_bytes(STATIC.get(title))) for title in (*STATIC, MINILM)
        ]
        rows = [
            (title, f"{catalog / 1000:.0f}", f"{package / 1e6:.1f}" if package else "", *self._times(title))
            for title, catalog, package in (*words, *letters, *vectors)
        ]
        head = ("", "kB in the catalog", "MB beside it", "ms, plain Python", "ms, with numpy or torch")
        return f"### What each adds, and what a request costs\n\n{table(head, rows)}"

    def _times(self, title: str) -> tuple[str, str]:
        """Milliseconds in plain Python, and with libraries."""
        scorer, texts = self._scorers[title], [request.text for request in self._requests[::8]]
        took = f"{_median_ms(scorer, texts):.2f}"
        if title in STATIC:
            return f"{_median_ms(InPlainPython(static(STATIC[title]), scorer), texts):.2f}", took
        return ("", took) if title == MINILM else (took, "")

    def _worth(self, way: Way) -> float:
        """How good ``way`` is on the tuning half: 1 ÷ the rank of the right tool; 1 for silence where it is right."""
        tuning = [request for request in self._requests if request.half == TUNING]
        return sum(
            metrics.reciprocal_rank(found, request.tools) if request.tools else float(not found)
            for request, found in self._answers(way, tuning)
        )

    def _answers(self, way: Way, requests: Iterable[Request]) -> Answers:
        return [(request, ranked(self._fused(way, request), self._names, metrics.DEPTH)) for request in requests]

    def _fused(self, way: Way, request: Request) -> Scores:
        return way.fuse([self._scores[part][request] for part in way.parts])

    def _cells(self, way: Way, requests: Iterable[Request]) -> Iterator[str]:
        english, other, outside = map(metrics.score, _parts(self._answers(way, requests)))
        for mean in (english.r1, english.r5, english.mrr, other.r1, other.r5, other.mrr, outside.silent):
            yield f"{mean:.3f}"

    def _count_entries(self, which: Callable[[str], bool] = lambda _: True, section: str = "index") -> int:
        return _written((key, value) for key, value in self._catalog._sections[section].items() if which(key))


_HEAD = ("", "chosen", *(f"{who}{what}" for who in ("", "other ") for what in ("R@1", "R@5", "MRR")), "silent outside")


def _parts(answers: Answers) -> tuple[Answers, Answers, Answers]:
    """In English, in other languages, and outside."""
    return (
        [(request, found) for request, found in answers if request.tools and request.language == "en"],
        [(request, found) for request, found in answers if request.tools and request.language != "en"],
        [(request, found) for request, found in answers if not request.tools],
    )


def _written(lines: Iterable[tuple[str, Any]]) -> int:
    """Bytes of ``lines`` in a compiled catalog."""
    return sum(len(block) for _, block in blocks(lines))


def _median_ms(scorer: Scorer, texts: Iterable[str]) -> float:
    return statistics.median(each_ms(scorer, texts))


def imports() -> str:
    """What libraries weigh: bytes on the disk, and the time until they are imported."""
    rows = []
    for module, packages in {
        "numpy": ("numpy",),
        "tokenizers": ("tokenizers",),
        "torch and transformers": ("transformers", "torch", "tokenizers", "numpy"),
    }.items():
        megabytes = sum(map(_installed, packages)) / 1e6
        took = harness.import_ms(module.replace(" and", ","))
        rows.append((module, f"{megabytes:.0f}", f"{took:.0f}"))
    return f"### What would be imported\n\n{table(('', 'MB', 'ms'), rows)}"


def _installed(package: str) -> int:
    """Bytes of ``package``, without what Python compiles and without what it depends on."""
    files = [file for file in importlib.metadata.files(package) or () if file.suffix != ".pyc"]
    return sum(Path(file.locate()).stat().st_size for file in files if Path(file.locate()).exists())


def measure(_: argparse.Namespace) -> str:
    """Return the tables."""
    bench = Bench(FileStore(bundled_path())(), load())
    return "\n".join((bench.quality(), bench.costs(), imports()))


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-rankers", measure))
