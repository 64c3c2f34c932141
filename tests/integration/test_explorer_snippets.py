"""Calls that the web explorer offers to copy, run as they are; its own tests compare with the same file."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from toolfold.client import Client
from toolfold.errors import CallError
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

pytestmark = pytest.mark.slow

SNIPPETS: list[dict[str, Any]] = json.loads(Path("tests/fixtures/explorer/snippets.json").read_text(encoding="utf-8"))
VARIABLES = {"ALPHA_VANTAGE_API_KEY": KEY}


@pytest.fixture(scope="module")
def url(mock_api: MockApi) -> Iterator[str]:
    with LocalServer(Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})) as running:
        yield running.url


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **VARIABLES}
    return subprocess.run(command, capture_output=True, env=environment, timeout=60, encoding="utf-8", check=False)


@pytest.mark.parametrize("case", SNIPPETS, ids=range(len(SNIPPETS)))
def test_copied_calls_return_what_the_page_shows(case: dict[str, Any], url: str, mock_api: MockApi) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    request, address = case["request"], case["endpoint"]["url"]
    curl, python = ("\n".join(case[form]).replace(address, url) for form in ("curl", "python"))
    before = len(mock_api.requests)
    by_curl, by_python = run(["sh", "-c", curl]), run([sys.executable, "-c", python])
    sent = [dict(one) for one in mock_api.requests[before:]]
    answered = json.loads(by_curl.stdout)["result"]["content"][0]["text"]

    assert KEY not in curl + python
    if request["fresh"]:
        assert [one["keywords"] for one in sent] == [request["arguments"]["keywords"]] * 2
        assert all(one["apikey"] == KEY for one in sent)
    with Client(url, api_key=KEY) as client:
        if "error" in answered[:9]:
            with pytest.raises(CallError) as caught:
                client.call(request["tool"], request["arguments"])
            assert caught.value.message in by_python.stderr
        else:
            shown = client.call(request["tool"], request["arguments"], select=request["select"] or None).text
            assert by_python.stdout.rstrip("\n") == answered == shown, by_python.stderr
