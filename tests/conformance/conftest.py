"""What the clients talk to: the sandbox as the upstream, and toolfold as the process that a user starts."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance.toolbox import TOOLFOLD
from tests.conftest import KEY
from toolfold.sandbox.server import Sandbox


@pytest.fixture(scope="session")
def environment(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """All that clients and toolfold see of the environment. Clients write their state into a home of their own."""
    home = tmp_path_factory.mktemp("home")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "NO_COLOR": "1",
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": sandbox.url,
        "ALPHA_VANTAGE_API_KEY": KEY,
    }


@pytest.fixture(scope="session")
def url(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where ``toolfold serve`` listens. Its log must never hold a traceback or the key."""
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("wb") as written:
        command = [str(TOOLFOLD), "serve", "--port", "0"]
        server = subprocess.Popen(command, env=environment, stdout=written, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        announced = server.stderr.readline()
        found = re.search(r"http://\S+", announced)
        assert found, announced + server.stderr.read()
        yield found[0]
    finally:
        server.terminate()
        said = server.communicate(timeout=10)[1]
    for text in (said, log.read_text()):
        assert "Traceback" not in text
        assert KEY not in text


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest) -> list[str]:
    """How a client reaches toolfold: an address, or the command to start it."""
    return [request.getfixturevalue("url")] if request.param == "http" else [str(TOOLFOLD), "stdio"]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder to run clients in, so that they find no configuration and leave none behind."""
    return tmp_path
