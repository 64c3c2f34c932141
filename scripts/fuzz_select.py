"""Compare ``select`` with an independent evaluation of random pipelines over random tables.

    python -m scripts.fuzz_select [--cases N] [--seed N] [--processes N] [--show N]

The reference in ``tests/fuzz/select`` evaluates a pipeline in plain Python; the product gets its text.
They agree, the product refuses, or they disagree: then the shortest case of each reason is printed and written to
``build/fuzz-select/``, and the exit code is 1. Where the specification leaves a result open (equal dates at a boundary,
a period that splits a quarter), a difference is counted as doubtful. Refusals are counted by their reason: a language
that refuses everything would agree with everything. The same seed makes the same cases.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.select.judge import describe, judge
from tests.fuzz.select.language import Case
from tests.fuzz.select.pipeline_maker import PipelineMaker

FOUND = Path(__file__).resolve().parent.parent / "build" / "fuzz-select"
BATCH = 500
"""Cases of one seed: a process takes one batch after the other, so that the cases do not depend on their number."""


@dataclass
class Outcome:
    """What some cases gave."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, case: Case) -> None:
        """Judge one case."""
        started = time.perf_counter()
        verdict = judge(case)
        took_s = time.perf_counter() - started
        self.slowest = max(self.slowest, (took_s, str(case.select)))
        self.cases += 1
        self.kinds[verdict.kind] += 1
        key = (verdict.kind, verdict.reason)
        self.reasons[key] += 1
        if verdict.kind in ("refused", "doubtful"):
            self.examples.setdefault(key, f"{case.select} ({verdict.detail})"[:300])
        if verdict.kind == "disagreed":
            self._find(verdict.reason, describe(case, verdict))

    def _find(self, reason: str, text: str) -> None:
        if len(text) < len(self.findings.get(reason, text + " ")):
            self.findings[reason] = text

    def merge(self, other: Outcome) -> None:
        """Add what other cases gave."""
        self.cases += other.cases
        self.kinds += other.kinds
        self.reasons += other.reasons
        for key, text in other.examples.items():
            self.examples.setdefault(key, text)
        for reason, text in other.findings.items():
            self._find(reason, text)
        self.slowest = max(self.slowest, other.slowest)


def execute(work: tuple[int, int]) -> Outcome:
    """Judge one batch: its seed, and its number of cases."""
    seed, count = work
    maker, outcome = PipelineMaker(Random(seed)), Outcome()  # noqa: S311 - not for secrets
    for _ in range(count):
        outcome.add(maker.case())
    return outcome


def report(outcome: Outcome, seconds: float, seed: int, show: int) -> int:
    """Print the figures; return 1 if there are disagreements."""
    print(f"\n{outcome.cases:,} cases in {seconds:,.0f} s; seed {seed}")
    for kind, count in outcome.kinds.most_common():
        print(f"  {kind}: {count:,} ({100 * count / outcome.cases:.1f} %)")
    for title in ("refused", "refused in doubt", "refused as specified", "doubtful"):
        print(f"{title}, by reason:")
        counted = [(count, reason) for (kind, reason), count in outcome.reasons.most_common() if kind == title]
        for count, reason in counted[:show]:
            print(f"  {count:,}  {reason}")
            if example := outcome.examples.get((title, reason)):
                print(f"         {example}")
        if len(counted) > show:
            print(f"  {sum(count for count, _ in counted[show:]):,}  {len(counted) - show} other reasons")
    print(f"slowest: {outcome.slowest[0]:.2f} s {outcome.slowest[1][:160]}")
    FOUND.mkdir(parents=True, exist_ok=True)
    for name, text in outcome.findings.items():
        print(f"DISAGREED {name}\n{text}")
        (FOUND / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}.txt").write_text(f"{name}\n{text}\n")
    print(f"disagreements: {outcome.kinds['disagreed']:,}, for {len(outcome.findings)} reasons", flush=True)
    return 1 if outcome.kinds["disagreed"] else 0


def main(argv: list[str] | None = None) -> int:
    """Run the fuzzer; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", type=int, default=25, help="reasons to print of each kind")
    given = parser.parse_args(argv)
    batches = [
        (given.seed * 1_000_000 + start, min(BATCH, given.cases - start)) for start in range(0, given.cases, BATCH)
    ]
    started, outcome = time.monotonic(), Outcome()
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for one in pool.imap_unordered(execute, batches):
            outcome.merge(one)
            if outcome.cases % 10_000 < BATCH:
                print(f"{outcome.cases:,} cases, {outcome.kinds['disagreed']:,} disagree", flush=True)
    return report(outcome, time.monotonic() - started, given.seed, given.show)


if __name__ == "__main__":
    sys.exit(main())
