"""One start: a process, and when it has answered what an agent asks first."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.stdio.environments import FLOOR, Contender

INITIALIZE, LIST, TOOL_LIST, TOOL_CALL = "initialize", "tools/list", "TOOL_LIST", "TOOL_CALL"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
_TOOLS = ["TOOL_CALL", "TOOL_GET", "TOOL_LIST"]


class WrongAnswer(Exception):
    """A contender did not answer what it was asked: nothing that it took is worth telling."""


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds since the process was started, by what had then been answered. Memory in bytes, the most that had
    been in use (VmHWM): when the tools had been listed, and at the end."""

    answered_ms: Mapping[str, float]
    memory_started: int
    memory_in_the_end: int


class _Process:
    def __init__(self, contender: Contender, environment: Mapping[str, str]) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            contender.command,
            env={**environment, **contender.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._title, self._id = contender.title, 0

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[float, Any]:
        """Milliseconds since the start when the answer was there, and the answer."""
        self._id += 1
        self.tell({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout
        line = self._process.stdout.readline()
        took = (time.perf_counter() - self._started) * 1000
        if not line:
            assert self._process.stderr
            raise WrongAnswer(f"{self._title} has ended: {self._process.stderr.read().decode()[-2000:]}")
        return took, json.loads(line)

    def tell(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def memory(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def start(contender: Contender, environment: Mapping[str, str]) -> Start:
    """Start it once, with a cache folder that nobody has used.

    Raises:
        WrongAnswer: it says something else than it was asked.
    """
    with tempfile.TemporaryDirectory() as home, _running(contender, {**environment, "HOME": home}) as process:
        answered: dict[str, float] = {}

        def ask(what: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            answered[what], answer = process.ask(method, params)
            if contender.name == FLOOR:
                return {}
            if "result" not in answer or answer["result"].get("isError"):
                raise WrongAnswer(f"{contender.title}, {what}: {str(answer)[:500]}")
            return dict(answer["result"])

        ask(INITIALIZE, "initialize", HELLO)
        if contender.name == FLOOR:
            return Start(answered, process.memory(), process.memory())
        process.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if sorted(tool["name"] for tool in ask(LIST, "tools/list", {})["tools"]) != _TOOLS:
            raise WrongAnswer(f"{contender.title} has other tools")
        memory = process.memory()
        if "GLOBAL_QUOTE" not in str(ask(TOOL_LIST, "tools/call", {"name": "TOOL_LIST", "arguments": {}})):
            raise WrongAnswer(f"{contender.title} lists other tools")
        if contender.calls and "IBM" not in str(
            ask(TOOL_CALL, "tools/call", {"name": "TOOL_CALL", "arguments": QUOTE})
        ):
            raise WrongAnswer(f"{contender.title} answered another call")
        return Start(answered, memory, process.memory())


@contextmanager
def _running(contender: Contender, environment: Mapping[str, str]) -> Iterator[_Process]:
    process = _Process(contender, environment)
    try:
        yield process
    finally:
        process.end()
