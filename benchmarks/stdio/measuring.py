"""Start a server process and measure the first responses that an agent waits for."""

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

from benchmarks.stdio.environments import FLOOR, MeasuredServer

INITIALIZE, LIST, TOOL_LIST, TOOL_CALL = "initialize", "tools/list", "TOOL_LIST", "TOOL_CALL"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
_TOOLS = ["TOOL_CALL", "TOOL_GET", "TOOL_LIST"]


class WrongResponse(Exception):
    """A server returned a wrong response, so its times have no meaning."""


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds from the start of the process to each response, and peak memory (VmHWM) in bytes.

    ``memory_started`` is the peak when the tools were listed.
    """

    answered_ms: Mapping[str, float]
    memory_started: int
    memory_in_the_end: int


class _Process:
    def __init__(self, server: MeasuredServer, environment: Mapping[str, str]) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            server.command,
            env={**environment, **server.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._title, self._id = server.title, 0

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[float, Any]:
        """Return the milliseconds since the start of the process at the response, and the response."""
        self._id += 1
        self.notify({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout
        line = self._process.stdout.readline()
        took = (time.perf_counter() - self._started) * 1000
        if not line:
            assert self._process.stderr
            raise WrongResponse(f"{self._title} has ended: {self._process.stderr.read().decode()[-2000:]}")
        return took, json.loads(line)

    def notify(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def memory(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def start(server: MeasuredServer, environment: Mapping[str, str]) -> Start:
    """Start it once, with an empty cache folder.

    Raises:
        WrongResponse: the response is wrong.
    """
    with tempfile.TemporaryDirectory() as home, _running(server, {**environment, "HOME": home}) as process:
        answered: dict[str, float] = {}

        def ask(what: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            answered[what], answer = process.ask(method, params)
            if server.name == FLOOR:
                return {}
            if "result" not in answer or answer["result"].get("isError"):
                raise WrongResponse(f"{server.title}, {what}: {str(answer)[:500]}")
            return dict(answer["result"])

        ask(INITIALIZE, "initialize", HELLO)
        if server.name == FLOOR:
            return Start(answered, process.memory(), process.memory())
        process.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if sorted(tool["name"] for tool in ask(LIST, "tools/list", {})["tools"]) != _TOOLS:
            raise WrongResponse(f"{server.title} has other tools")
        memory = process.memory()
        if "GLOBAL_QUOTE" not in str(ask(TOOL_LIST, "tools/call", {"name": "TOOL_LIST", "arguments": {}})):
            raise WrongResponse(f"{server.title} lists other tools")
        if server.calls and "IBM" not in str(ask(TOOL_CALL, "tools/call", {"name": "TOOL_CALL", "arguments": QUOTE})):
            raise WrongResponse(f"{server.title} answered another call")
        return Start(answered, memory, process.memory())


@contextmanager
def _running(server: MeasuredServer, environment: Mapping[str, str]) -> Iterator[_Process]:
    process = _Process(server, environment)
    try:
        yield process
    finally:
        process.end()
