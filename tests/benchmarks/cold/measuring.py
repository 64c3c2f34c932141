"""The figures: cold starts, warm rounds, memory, the handler alone. Times in milliseconds, memory in MB."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.benchmarks.cold.contenders import Contender
from tests.benchmarks.cold.events import HELD, LISTING, METHODS, SEARCH, ListRequest
from tests.benchmarks.cold.packages import COMPILED, Package
from tests.benchmarks.cold.services import Services
from tests.support.built_function import LAMBDA_PYTHON
from tests.support.lambda_runtime import LambdaRuntime

BLOCK = 50
"""Invocations of one contender before the next one's turn: what else the machine does falls on all of them."""


class Bench:
    """Everybody, ready to be started, and what they are asked."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        packages: Mapping[str, Package],
        services: Services,
        asked: Mapping[str, ListRequest],
    ) -> None:
        self.contenders, self._packages, self._services, self._asked = contenders, packages, services, asked

    def runtime(self, contender: Contender, variant: str = COMPILED) -> LambdaRuntime:
        environment = {**self._services.variables, **contender.environment}
        return self._packages[contender.package].runtime(variant, environment)

    def cold(self, starts: Mapping[str, int]) -> dict[str, dict[str, list[dict[str, float]]]]:
        """Variant → contender → what each of its ``starts`` took: :meth:`_start` for ``tools/list`` and then a first
        call; for toolfold also that for a search, in a start of its own."""
        found: dict[str, dict[str, list[dict[str, float]]]] = {
            variant: {contender.name: [] for contender in self.contenders} for variant in starts
        }
        for number in range(max(starts.values())):
            first = number % len(self.contenders)
            for contender in (*self.contenders[first:], *self.contenders[:first]):
                for variant in (variant for variant, count in starts.items() if number < count):
                    figures = self._start(contender, variant, (LISTING, HELD))
                    if contender.kind == "toolfold":
                        figures[SEARCH] = self._start(contender, variant, (SEARCH,))[SEARCH]
                    found[variant][contender.name].append(figures)
            tell(f"cold starts: {number + 1} of {max(starts.values())}")
        return found

    def _start(self, contender: Contender, variant: str, methods: Sequence[str]) -> dict[str, float]:
        """From the start of the process: until it asked for its first event (``init``), until each of ``methods`` was
        answered, one after the other; and its peak memory then."""
        self._services.forget()
        with self.runtime(contender, variant) as runtime:
            answers = []
            started = time.perf_counter()
            runtime.start()
            figures = {"init": since(started)}
            for method in methods:
                answers.append(runtime.invoke(self._asked[method].at(0)))
                figures[method] = since(started)
            figures["memory"] = peak_memory(runtime.pid)
        if contender.kind != "floor":
            for method, answer in zip(methods, answers, strict=True):
                self._asked[method].check(0, answer)
        return figures

    def warm(self, invocations: int) -> dict[str, dict[str, Any]]:
        """Contender → ``times`` (method → milliseconds of each invocation) and ``memory`` at the end."""
        times: dict[str, dict[str, list[float]]] = {
            one.name: {method: [] for method in METHODS} for one in self.contenders
        }
        with ExitStack() as stack:
            runtimes = {one.name: stack.enter_context(self.runtime(one)) for one in self.contenders}
            for method in METHODS:
                for contender in self.contenders:  # imports of a first invocation are no part of this
                    self._round(contender, runtimes[contender.name], method, range(3))
                for first in range(0, invocations, BLOCK):
                    for contender in self.contenders:
                        block = range(first, min(first + BLOCK, invocations))
                        times[contender.name][method] += self._round(contender, runtimes[contender.name], method, block)
                tell(f"warm: {method}")
            memory = {name: peak_memory(runtime.pid) for name, runtime in runtimes.items()}
        return {name: {"times": times[name], "memory": memory[name]} for name in times}

    def _round(self, contender: Contender, runtime: LambdaRuntime, method: str, block: range) -> list[float]:
        taken = []
        for number in block:
            answer = runtime.invoke(self._asked[method].at(number))
            taken.append(runtime.duration_s * 1000)
            if contender.kind != "floor":
                self._asked[method].check(number, answer)
        return taken

    def handler(self, contender: Contender, invocations: int) -> dict[str, list[float]]:
        """Method → what each call of the handler took, without the runtime client around it."""
        package = self._packages[contender.package]
        runtime = self.runtime(contender)
        with tempfile.TemporaryDirectory() as folder:
            given, told = Path(folder) / "given.json", Path(folder) / "told.json"
            events = {method: [event for event, _ in self._asked[method].events] for method in METHODS}
            given.write_text(json.dumps({"handler": package.handler, "invocations": invocations, "events": events}))
            script = Path(__file__).with_name("handler_alone.py")
            with (Path(folder) / "log").open("wb") as log:
                subprocess.run(
                    [LAMBDA_PYTHON, "-P", script, given, told], env=dict(runtime.variables), stdout=log, check=True
                )
            return dict(json.loads(told.read_text()))


def peak_memory(pid: int) -> float:
    """The most that the process has had in memory, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def since(started: float) -> float:
    """Milliseconds since ``started``, by ``time.perf_counter``."""
    return (time.perf_counter() - started) * 1000


def tell(what: str) -> None:
    """Say how far the run is."""
    print(what, file=sys.stderr, flush=True)
