"""``toolfold serve``, and the mock API, as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.support.waiting import wait_until
from toolfold.mock_api.server import MockApi

TOOLFOLD = [sys.executable, "-m", "toolfold"]


@contextmanager
def serving(
    command: str, *options: str, launcher: Sequence[str] = (), stdout: int = subprocess.DEVNULL, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start ``toolfold COMMAND`` at a free port; yield its process and the URL that it prints.

    ``launcher`` is a command that runs the one behind it.
    """
    process = subprocess.Popen(
        [*launcher, *TOOLFOLD, command, "--port", "0", *options],
        env={**os.environ, **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield process, announced_url(process)
        finally:
            process.kill()


def announced_url(process: subprocess.Popen[bytes]) -> str:
    """Return the URL in the first line that ``process`` writes to its standard error."""
    assert process.stderr
    line = process.stderr.readline()
    found = re.search(rb"http://\S+", line)
    assert found, line
    return found[0].decode()


def check_second_signal(process: subprocess.Popen[bytes]) -> None:
    """Check that a process waits for its call after one SIGTERM, and ends at the next."""
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None

    def ended_by_another() -> bool:
        process.send_signal(signal.SIGTERM)  # one is lost where the process has not received the one before
        return process.poll() is not None

    wait_until(ended_by_another)
    assert process.returncode == -signal.SIGTERM


def check_end(process: subprocess.Popen[bytes], sent: signal.Signals = signal.SIGTERM) -> None:
    """Check that a process ends when it gets a signal, without an error and a further line on its standard error."""
    process.send_signal(sent)
    assert process.wait(timeout=60) == 0
    assert process.stderr
    assert process.stderr.read() == b""


@contextmanager
def one_more_request(mock_api: MockApi) -> Iterator[None]:
    """Wait at the end of the block until the mock API has received one more request."""
    before = len(mock_api.requests)
    yield
    wait_until(lambda: len(mock_api.requests) > before)


def sdk_client(environment: Mapping[str, str], **how: Any) -> Any:
    """Return a client of the SDK that starts ``toolfold stdio`` with these variables alone."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=TOOLFOLD[0], args=[*TOOLFOLD[1:], "stdio"], env=dict(environment))
    # Not its default, which is the stderr that there was when the module was imported: maybe that of a test.
    return Client(stdio_client(server, sys.__stderr__ or sys.stderr), **how)
