"""``toolfold serve`` over the mock API, as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_TOOLFOLD = (sys.executable, "-m", "toolfold")


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """Start the mock API and the server; yield the server's URL and process id."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers/core"), "HOME": folder}
        _, mock_url = processes.enter_context(_started("mock-api", environment))
        settings = {**environment, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_url}
        process, url = processes.enter_context(_started("serve", settings))
        yield url, process.pid


@contextmanager
def _started(command: str, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    process = subprocess.Popen(
        [*_TOOLFOLD, command, "--port", "0"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process:
        assert process.stderr
        url = re.search(rb"http://\S+", process.stderr.readline())
        assert url
        try:
            yield process, url[0].decode()
        finally:
            process.terminate()
            assert b"Traceback" not in process.stderr.read()


def memory_mb(process: int, name: str) -> float:
    """Return a figure of /proc/PID/status in MB."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(text.split(f"{name}:")[1].split()[0]) / 1024


def startup_s() -> float:
    """Return the seconds from the start of the process until it accepts connections."""
    started = time.perf_counter()
    with _started("serve", dict(os.environ)):
        return time.perf_counter() - started
