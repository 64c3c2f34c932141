"""A catalog of imported tools that is compiled with the real vectors of words.

``make semantic`` installs them in a folder of their own and runs these tests.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolfold.catalog.search import search
from toolfold.catalog.store import parse_catalog

pytestmark = pytest.mark.semantic

TOOLS = {
    "getForecast": "Weather forecast of a place for ten days.",
    "sendInvoice": "Send an invoice to a customer.",
    "bookRoom": "Book a meeting room for some hours.",
    "listEmployees": "List employees of a department.",
    "translateText": "Translate a text into another language.",
    "createTicket": "Create a support ticket.",
}
REQUESTS = {
    "the temperature tomorrow": "getForecast",
    "a receipt for the purchase": "sendInvoice",
    "a hotel for the night": "bookRoom",
    "who are my colleagues": "listEmployees",
    "how do i put it in french": "translateText",
}
"""None has a word of the tool that it needs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one OpenAPI service, compiled by the command."""
    folder = tmp_path_factory.mktemp("catalog")
    paths = {
        f"/{name}": {"get": {"operationId": name, "description": text, "responses": {}}} for name, text in TOOLS.items()
    }
    document = {"openapi": "3.1.0", "servers": [{"url": "https://office.test"}], "paths": paths}
    (folder / "office").mkdir()
    (folder / "office" / "openapi.json").write_text(json.dumps(document))
    (folder / "office" / "source.yaml").write_text("id: office\nkind: openapi\n")
    subprocess.run([sys.executable, "-m", "toolfold", "catalog", "compile", "--folder", str(folder)], check=True)
    return folder


def test_each_tool_has_words_near_it_in_meaning(folder: Path) -> None:
    semantic = json.loads((folder / "catalog.json").read_text())["near"]
    assert {"climat", "storm", "snow"} <= semantic.keys()
    assert 300 < len(semantic) <= 300 * len(TOOLS)


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_without_a_word_of_its_tool_finds_it(request_: str, folder: Path) -> None:
    catalog = parse_catalog((folder / "catalog.json").read_bytes())
    hits = [catalog.summary(hit.position)[0] for hit in search(catalog, request_).hits]
    assert hits[:1] == [f"office__{REQUESTS[request_]}"]


def test_a_server_needs_neither_the_vectors_nor_numpy(folder: Path) -> None:
    code = (
        "import sys\n"
        "from toolfold.cli import main\n"
        "assert main(['catalog', 'search', 'the temperature tomorrow', '--json']) == 0\n"
        "assert 'numpy' not in sys.modules\n"
    )
    variables = {"TOOLFOLD_CATALOG": str(folder / "catalog.json"), "TOOLFOLD_ALLOWED_HOSTS": "office.test"}
    environment = {**os.environ, **variables, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "orecast" in done.stdout
