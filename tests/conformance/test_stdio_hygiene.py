"""``toolfold stdio`` as a process: stdout has protocol messages only, and the process ends in time."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conformance.helpers import TOOLFOLD

pytestmark = pytest.mark.clients

ENDS_WITHIN_S = 5.0
"""Seconds after which agents kill a server that they have disconnected from."""

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

WRONG_LINES = {
    "no JSON": b'{"jsonrpc": broken',
    "nothing": b"",
    "white space": b" \t ",
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "a string": b'"ping"',
    "no UTF-8": b"\xff\xfe\xfd",
    "a lone surrogate": b'{"jsonrpc":"2.0","method":"\\ud800"}',
    "deep nesting": b"[" * 200_000,
    "a giant number": b'{"jsonrpc":"2.0","id":' + b"9" * 100_000 + b',"method":"ping"}',
    "a wrong version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "an answer to nothing": b'{"jsonrpc":"2.0","id":12345,"result":{}}',
    "8 MB without a meaning": b"x" * 8_000_000,
}


def line(id_: Any, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}).encode() + b"\n"


@contextmanager
def started(environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process and complete ``initialize``; kill it if it is still running at the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen([TOOLFOLD, "stdio"], env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(line("first", "initialize", HELLO))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == "first"
            yield process
        finally:
            process.kill()


def messages(stdout: bytes) -> list[dict[str, Any]]:
    """Return the lines of stdout, each of which must be a JSON-RPC message."""
    read = [json.loads(one) for one in stdout.splitlines()]
    assert all(isinstance(message, dict) and message["jsonrpc"] == "2.0" for message in read)
    return read


def test_wrong_lines_get_no_noise_and_do_not_stop_it(environment: Mapping[str, str]) -> None:
    with started(environment) as process:
        sent = b"".join(wrong + b"\n" + line(f"after {what}", "ping") for what, wrong in WRONG_LINES.items())
        stdout, stderr = process.communicate(sent, timeout=30)
    answered = {message["id"] for message in messages(stdout) if "result" in message}
    assert answered >= {f"after {what}" for what in WRONG_LINES}
    assert process.returncode == 0
    assert b"Traceback" not in stderr


def test_a_giant_message_is_answered(environment: Mapping[str, str]) -> None:
    arguments = {"tool_name": "x" * 8_000_000}
    with started(environment) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line("giant", "tools/call", {"name": "TOOL_GET", "arguments": arguments}))
        process.stdin.flush()
        (answer,) = messages(process.stdout.readline())
        stdout, stderr = process.communicate(line("next", "ping"), timeout=30)
    assert answer["id"] == "giant"
    assert len(json.dumps(answer)) < 10_000, "the answer repeats what was sent"
    assert [message["id"] for message in messages(stdout)] == ["next"]
    assert stderr == b""


@pytest.mark.parametrize(
    "last", [b"", b"\n", b'{"jsonrpc":"2.0","id":7,"meth'], ids=["nothing", "a line", "half a line"]
)
def test_the_end_of_stdin_ends_it(last: bytes, environment: Mapping[str, str]) -> None:
    with started(environment) as process:
        before = time.monotonic()
        stdout, stderr = process.communicate(last, timeout=30)
        took = time.monotonic() - before
    assert process.returncode == 0
    assert took < ENDS_WITHIN_S
    assert messages(stdout) == []
    assert stderr == b""


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """What a shell runs in the background ignores SIGINT, and so does all that this starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it(sent: signal.Signals, environment: Mapping[str, str], heeds_interrupts: None) -> None:
    with started(environment) as process:
        process.send_signal(sent)
        # stdin stays open: an agent that ends a server by signal may still hold it.
        code = process.wait(timeout=ENDS_WITHIN_S)
        assert process.stdout
        assert process.stderr
        stdout, stderr = process.stdout.read(), process.stderr.read()
    assert code in (0, -sent, 128 + sent)
    assert stdout == b""
    assert stderr == b""
