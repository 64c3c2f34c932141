"""Send random input to the protocol and to the parser of Lambda events, and report violated invariants.

    python -m scripts.fuzz_protocol [--runs N] [--seed N]

A loop mutates the corpus and a pool of its results. Inputs with findings are written to ``build/fuzz/``; the exit code
is 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from random import Random

from tests.fuzz import inputs
from tests.fuzz.mutations import mutate
from tests.fuzz.target import GROWTH_LIMIT, SIZE_LIMIT, Finding, Target

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "build" / "fuzz"
WARM_UP = 100
"""Inputs whose time is not measured: the first ones import modules."""

PROGRESS_INTERVAL = 100_000
"""Runs between two lines of progress."""

POOL = 2000
"""Inputs that the loop keeps beside the corpus: bounded, so that the growth of the process shows leaks."""


class Run:
    """Progress and findings of a run, with one input for each kind of finding."""

    def __init__(self, runs: int) -> None:
        self.runs, self.done = runs, 0
        self.findings: dict[str, Path] = {}
        self.target = Target()
        self.seeds = inputs.corpus()
        for turn in range(WARM_UP):
            self._judge(self.seeds[turn % len(self.seeds)])
        self.target.slowest_s = 0.0
        self.started = time.perf_counter()

    def one(self, data: bytes) -> None:
        """Check one input, cut to the size limit."""
        self._judge(data[:SIZE_LIMIT])
        self.done += 1
        if self.done % PROGRESS_INTERVAL == 0:
            print(f"{self.done:,} runs …", flush=True)

    def _judge(self, data: bytes) -> None:
        try:
            self.target.check(data)
        except Finding as finding:
            self._keep(str(finding), data)

    def _keep(self, finding: str, data: bytes) -> None:
        if finding in self.findings:
            return
        FOUND.mkdir(parents=True, exist_ok=True)
        path = FOUND / hashlib.sha256(data).hexdigest()[:16]
        path.write_bytes(data)
        self.findings[finding] = path
        print(f"found: {finding}: {path.relative_to(ROOT)}", flush=True)

    def close(self) -> int:
        """Print the summary; return 1 if there were findings."""
        seconds = time.perf_counter() - self.started
        memory_growth = self.target.memory_growth(self.seeds)
        if memory_growth > GROWTH_LIMIT:
            self._keep("the process grows", self.seeds[0])
        print(
            f"{self.done:,} runs, {self.done / seconds:,.0f}/s, {len(self.findings)} findings, "
            f"slowest {self.target.slowest_s * 1000:.1f} ms, grew by {memory_growth / 1024:,.0f} KiB",
            flush=True,
        )
        return 1 if self.findings else 0


def loop(run: Run, seed: int) -> int:
    """Mutate the corpus, and a bounded pool of the results."""
    random = Random(seed)  # noqa: S311 - not for secrets
    pool = list(run.seeds)
    while run.done < run.runs:
        data = mutate(random.choice(pool), run.seeds, random)
        run.one(data)
        if len(data) > SIZE_LIMIT or random.random() > 0.05:
            continue
        if len(pool) < POOL:
            pool.append(data)
        else:
            pool[random.randrange(len(run.seeds), POOL)] = data
    return run.close()


def main(argv: list[str] | None = None) -> int:
    """Run the fuzzer; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    return loop(Run(given.runs), given.seed)


if __name__ == "__main__":
    sys.exit(main())
