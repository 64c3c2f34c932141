"""Skills over stdio, over local HTTP and on Lambda: the same answers, whose digests are those of the files."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.test_serve_process import serving
from tests.support.lambda_handler import make_handler
from tests.support.mcp_requests import message, stateless
from tests.unit.build.importers.test_skills import written
from tests.unit.protocol.test_skills import FILES, ROOT
from toolfold.build.compiler import compile_folder

pytestmark = pytest.mark.slow

REMAINING_S = 20.0

Send = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Sends a request of 2026-07-28, and returns the answer."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("skills")
    path = folder / "catalog.json"
    path.write_text(compile_folder(written(folder / "sources", FILES, binary_files=True)), encoding="utf-8")
    return str(path)


def _headers_and_body(method: str, params: dict[str, Any]) -> tuple[dict[str, str], bytes]:
    named = {"mcp_name": params["uri"]} if method == "resources/read" else {}
    sent = stateless(method, params, **named)
    return dict(sent.headers), sent.body


@pytest.fixture
def stdio(catalog: str) -> Iterator[Send]:
    command = [sys.executable, "-m", "toolfold", "stdio"]
    environment = {"TOOLFOLD_CATALOG": catalog, "TOOLFOLD_CACHE": "off"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout

        def send(method: str, params: dict[str, Any]) -> dict[str, Any]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(_headers_and_body(method, params)[1] + b"\n")
            process.stdin.flush()
            return dict(json.loads(process.stdout.readline()))

        yield send
        process.stdin.close()


@pytest.fixture
def http(catalog: str) -> Iterator[Send]:
    with serving(TOOLFOLD_CATALOG=catalog, TOOLFOLD_CACHE="off") as (_, url):

        def send(method: str, params: dict[str, Any]) -> dict[str, Any]:
            headers, body = _headers_and_body(method, params)
            with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
                return dict(json.loads(response.read()))

        yield send


@pytest.fixture
def lambda_function(catalog: str) -> Send:
    handler = make_handler({"TOOLFOLD_CATALOG": catalog, "TOOLFOLD_CACHE": "off"})

    def send(method: str, params: dict[str, Any]) -> dict[str, Any]:
        headers, body = _headers_and_body(method, params)
        context = {"http": {"method": "POST", "path": "/mcp"}}
        event = {"version": "2.0", "rawPath": "/mcp", "headers": headers, "requestContext": context}
        return dict(json.loads(handler({**event, "body": body.decode()}, REMAINING_S)["body"]))

    return send


@pytest.mark.parametrize("transport", ["stdio", "http", "lambda_function"])
def test_a_client_finds_skills_and_reads_verified_files(request: pytest.FixtureRequest, transport: str) -> None:
    send: Send = request.getfixturevalue(transport)
    capabilities = send("server/discover", {})["result"]["capabilities"]
    assert capabilities["extensions"]["io.modelcontextprotocol/skills"] == {"directoryRead": True}
    listed = send("skills/list", {})["result"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "public")
    assert [entry["frontmatter"]["name"] for entry in listed["skills"]] == ["refunds", "forms"]
    for entry in listed["skills"]:
        assert send("skills/get", {"uri": entry["uri"]})["result"]["skill"] == entry
        for file in entry["resources"]:
            (content,) = send("resources/read", {"uri": file["uri"]})["result"]["contents"]
            data = content["text"].encode() if "text" in content else base64.b64decode(content["blob"])
            assert f"sha256:{hashlib.sha256(data).hexdigest()}" == file["digest"]
    names = [found["name"] for found in send("resources/directory/read", {"uri": ROOT})["result"]["resources"]]
    assert names == ["refunds", "logo.png", "templates"]


def test_the_sdk_reads_a_skill_as_a_resource(catalog: str) -> None:
    import anyio
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def steps() -> Any:
        environment = {"TOOLFOLD_CATALOG": catalog, "TOOLFOLD_CACHE": "off"}
        server = StdioServerParameters(command=sys.executable, args=["-m", "toolfold", "stdio"], env=environment)
        # Not its default, which is the stderr that there was when the module was imported: maybe that of a test.
        async with Client(stdio_client(server, errlog=sys.__stderr__)) as client:
            resources = (await client.list_resources()).resources
            return resources, (await client.read_resource(f"{ROOT}/SKILL.md")).contents

    resources, (content,) = anyio.run(steps)
    assert len(resources) == len(FILES)
    assert str(content.uri) == f"{ROOT}/SKILL.md"
    assert content.text == FILES["billing/refunds/SKILL.md"]


def test_a_function_declares_the_extension_in_the_handshake_versions(catalog: str) -> None:
    body = message("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    handler = make_handler({"TOOLFOLD_CATALOG": catalog})
    context = {"http": {"method": "POST", "path": "/mcp"}}
    headers = {"content-type": "application/json", "accept": "application/json"}
    event = {"version": "2.0", "rawPath": "/mcp", "headers": headers, "requestContext": context}
    answer = json.loads(handler({**event, "body": json.dumps(body)}, REMAINING_S)["body"])

    assert "io.modelcontextprotocol/skills" in answer["result"]["capabilities"]["extensions"]
