"""``toolfold serve``, and the mock API, as processes of their own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TOOLFOLD = [sys.executable, "-m", "toolfold"]


@contextmanager
def serving(command: str, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start ``toolfold COMMAND`` at a free port; yield its process and the URL that it prints."""
    process = subprocess.Popen(
        [*TOOLFOLD, command, "--port", "0", *options],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
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
