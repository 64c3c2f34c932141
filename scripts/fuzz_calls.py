"""Make random whole calls through the Lambda handler and the local server, and report violated invariants.

    python -m scripts.fuzz_calls [--runs N] [--seed N] [--processes N]

Inputs with findings are shortened and written to ``build/fuzz-calls/``; the exit code is 1 if there are any. A run with
the same seed makes the same inputs, as long as the code gives them the same outcomes; to continue a run that was
stopped, choose another seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.whole_call.generate import Generator
from tests.fuzz.whole_call.inputs import CallInput, corpus
from tests.fuzz.whole_call.minimise import minimise
from tests.fuzz.whole_call.oracles import Finding, Judge
from tests.fuzz.whole_call.samples import load_samples
from tests.fuzz.whole_call.world import World

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "build" / "fuzz-calls"
SHARE_NEW, SHARE_SQLITE, SHARE_AT_ONCE = 0.25, 0.04, 0.01
SHARE_ANSWERED = 0.7
"""Share of changed inputs that are made from one whose answer had data: most changes end in an error."""

POOL = 1500
"""Inputs of a process that are changed into others: bounded, so that the growth of the process shows leaks."""

GROWTH_LIMIT_BYTES = 48 << 20
"""Bytes by which a process may grow between the first and the last quarter of a run."""


@dataclass
class Outcome:
    """What one process found."""

    runs: int = 0
    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    signatures: set[str] = field(default_factory=set)
    findings: dict[str, str] = field(default_factory=dict)
    unstable: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    peak_bytes: int = 0
    growth_bytes: int = 0


class Run:
    """The run of one process."""

    def __init__(self, runs: int, seed: int, deadline: float) -> None:
        self.runs, self.deadline = runs, deadline
        self.random = Random(seed)  # noqa: S311 - not for secrets
        calls, samples = load_samples(ROOT / "build" / "fuzz-calls-samples.json")
        self.generator = Generator(self.random, calls, samples)
        self.pool = list(corpus().values())
        self.answered: list[CallInput] = []
        self.outcome = Outcome()

    def execute(self) -> Outcome:
        """Make all inputs of this process."""
        outcome, random = self.outcome, self.random
        with World("memory") as memory, World("sqlite") as sqlite:
            judges = [Judge(memory), Judge(sqlite)]
            started, early = time.monotonic(), 0
            for number in range(self.runs):
                if time.monotonic() > self.deadline:
                    break
                judge = judges[random.random() < SHARE_SQLITE]
                if random.random() < SHARE_NEW or not self.pool:
                    sent = self.generator.new()
                else:
                    pool = self.answered if self.answered and random.random() < SHARE_ANSWERED else self.pool
                    sent = self.generator.changed(random.choice(pool), self.pool)
                self._one(judge, sent, random.random() < SHARE_AT_ONCE)
                outcome.runs += 1
                if number == self.runs // 4:
                    early = _resident()
                if number % 5000 == 4999:
                    rate = outcome.runs / (time.monotonic() - started)
                    print(
                        f"{outcome.runs:,} inputs, {rate:,.0f}/s, {len(outcome.findings)} findings",
                        file=sys.__stdout__,
                        flush=True,
                    )
            outcome.seconds = time.monotonic() - started
            outcome.growth_bytes = _resident() - early if early else 0
            took_s, slow = max((judge.slowest for judge in judges), key=lambda pair: pair[0])
            outcome.slowest = (took_s, slow.to_json() if slow else "")
            outcome.peak_bytes = max(judge.peak_bytes for judge in judges)
        return outcome

    def _one(self, judge: Judge, sent: CallInput, at_once: bool) -> None:
        outcome = self.outcome
        try:
            seen = judge.check(sent)
            if at_once and sent.transport != "http":
                judge.check_at_once(sent)
        except Finding as finding:
            self._found(judge, sent, str(finding))
            return
        except Exception as error:  # noqa: BLE001 - a defect of the fuzzer itself must not end the run unseen
            outcome.findings.setdefault(f"the fuzzer fails: {type(error).__name__}: {error}"[:200], sent.to_json())
            return
        code = seen.split(" | ")[1]
        outcome.codes[code] += 1
        pool = self.answered if code == "OK" else self.pool
        if seen not in outcome.signatures:
            outcome.signatures.add(seen)
            self._add(pool, sent)
        elif self.random.random() < 0.01:
            self._add(pool, sent)

    def _add(self, pool: list[CallInput], sent: CallInput) -> None:
        if len(sent.to_json()) > 20_000:
            return
        if len(pool) < POOL:
            pool.append(sent)
        else:
            pool[self.random.randrange(POOL)] = sent

    def _found(self, judge: Judge, sent: CallInput, name: str) -> None:
        outcome = self.outcome
        if name in outcome.findings:
            return
        # On a busy machine a call can be late once.
        if not all(_finding(judge, sent) == name for _ in range(2)):
            outcome.unstable[name] += 1
            _write(FOUND / "unstable", sent.to_json())
            outcome.findings.update({} if outcome.unstable[name] < 5 else {f"{name} (at times)": sent.to_json()})
            return
        text = minimise(sent, lambda shorter: _finding(judge, shorter) == name).to_json()
        outcome.findings[name] = text
        _write(FOUND, text)
        print(f"found: {name}: {text}", file=sys.__stdout__, flush=True)


def _finding(judge: Judge, sent: CallInput) -> str:
    try:
        judge.check(sent)
    except Finding as finding:
        return str(finding)
    except Exception:  # noqa: BLE001 - see Run._one
        return ""
    return ""


def _write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json").write_text(text)


def _resident() -> int:
    import gc

    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _work(arguments: tuple[int, int, float]) -> Outcome:
    for name in set(os.environ) - {"HOME", "PATH", "TMPDIR"}:  # every request searches them for proxies
        del os.environ[name]
    return Run(*arguments).execute()


def report(outcomes: list[Outcome], given: argparse.Namespace) -> int:
    """Print the summary; return 1 if there are findings."""
    codes: Counter[str] = sum((one.codes for one in outcomes), Counter())
    findings: dict[str, str] = {}
    signatures: set[str] = set()
    for one in outcomes:
        findings |= one.findings
        signatures |= one.signatures
    runs, seconds = sum(one.runs for one in outcomes), max(one.seconds for one in outcomes)
    print(
        f"\n{runs:,} inputs in {seconds:,.0f} s with {len(outcomes)} processes: {runs / seconds:,.0f}/s; "
        f"seed {given.seed}"
    )
    print("  outcomes: " + ", ".join(f"{code} {count:,}" for code, count in codes.most_common()))
    print(f"  different outcomes: {len(signatures):,}")
    took_s, slow = max((one.slowest for one in outcomes), key=lambda pair: pair[0])
    print(f"  slowest call: {took_s:.2f} s ({json.dumps(json.loads(slow or '{}'))[:160]})")
    print(f"  most memory of a call: {max(one.peak_bytes for one in outcomes) / 1e6:,.0f} MB")
    growth = max(one.growth_bytes for one in outcomes)
    print(f"  growth of a process after its first quarter: {growth / 1e6:,.1f} MB")
    for name, count in sum((one.unstable for one in outcomes), Counter[str]()).items():
        print(f"  seen once, not again: {name} ({count})")
    for name, text in findings.items():
        print(f"FINDING {name}\n{text}")
    print(f"  findings: {len(findings)}", flush=True)
    return 1 if findings or growth > GROWTH_LIMIT_BYTES else 0


def main(argv: list[str] | None = None) -> int:
    """Run the fuzzer; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="end after this time, regardless of the number of inputs"
    )
    given = parser.parse_args(argv)
    load_samples(ROOT / "build" / "fuzz-calls-samples.json")
    deadline = time.monotonic() + given.minutes * 60
    work: list[Any] = [
        (given.runs // given.processes, given.seed * 1000 + number, deadline) for number in range(given.processes)
    ]
    if given.processes == 1:
        return report([_work(work[0])], given)
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        return report(pool.map(_work, work), given)


if __name__ == "__main__":
    sys.exit(main())
