"""The adapters for tool search of ``toolfold.client``, driven by the SDKs of Anthropic and OpenAI."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.helpers import FASTMCP_PYTHON, FOLDER
from tests.support.model_api import model_api
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

pytestmark = pytest.mark.clients

CORE = FOLDER.parents[1] / "layers" / "core"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with MockApi() as mock_api:
        settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})
        with LocalServer(settings) as server:
            yield server.url


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_a_model_finds_and_calls_a_tool(sdk: str, url: str, tmp_path: Path) -> None:
    assert FASTMCP_PYTHON.exists(), "the SDKs are not installed: make clients"
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(CORE), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path),
    }  # fmt: skip
    with model_api("latest price of a stock", {"symbol": "AAPL"}) as (address, api):
        command = [str(FASTMCP_PYTHON), str(FOLDER / "tool_search_steps.py"), sdk, url, address]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert '"symbol":"AAPL"' in found["text"]
    assert found["requests"] == len(api.requests) == 3
