"""The Python client and ``--endpoint`` with tools that change data."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import CommandLine
from tests.support.local_server import HttpService
from toolfold.build.compiler import compile_folder
from toolfold.cli import main
from toolfold.client import Client
from toolfold.errors import ApprovalRequired, WriteNotAllowed
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

SOURCE = """
kind: http_api
base_url: {url}
tools:
  - name: report
    summary: Report the rain of a town
    method: POST
    path: /reports/{{town}}
    parameters: {{town: {{type: string, description: Name of a town., example: Oslo}}}}
  - name: remove
    summary: Delete a town and its rain
    method: DELETE
    path: /towns/{{town}}
    parameters: {{town: {{type: string, description: Name of a town., example: Oslo}}}}
"""
REPORT, REMOVE = "towns__report", "towns__remove"


@pytest.fixture(scope="module")
def service() -> Iterator[HttpService]:
    with HttpService() as running:
        yield running


@pytest.fixture(scope="module")
def url(service: HttpService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("towns")
    (folder / "towns").mkdir()
    (folder / "towns" / "source.yaml").write_text(SOURCE.format(url=service.url))
    (folder / "catalog.json").write_text(compile_folder(folder, adapters=["http_api"]))
    hosts = {"TOOLFOLD_ALLOWED_HOSTS": service.url.removeprefix("http://"), "TOOLFOLD_PRIVATE_HOSTS": "127.0.0.1"}
    environment = {"TOOLFOLD_CATALOG": str(folder / "catalog.json"), "TOOLFOLD_CACHE": "memory", **hosts}
    with LocalServer(Settings.from_environment(environment)) as running:
        yield running.url


@pytest.fixture
def client(url: str, service: HttpService) -> Iterator[Client]:
    service.received.clear()
    with Client(url) as opened:
        yield opened


def test_a_program_runs_a_tool_that_writes(client: Client, service: HttpService) -> None:
    assert client.call(REPORT, town="Oslo").result == {"ok": True}
    assert client.batch([{"tool_name": REPORT, "arguments": {"town": "Bergen"}}]).results[0]["ok"]
    assert not client.pipe([{"tool_name": REPORT, "arguments": {"town": "Moss"}}]).notes
    assert [request.path for request in service.received] == ["/reports/Oslo", "/reports/Bergen", "/reports/Moss"]


def test_a_call_that_deletes_is_approved_first(client: Client, service: HttpService) -> None:
    with pytest.raises(ApprovalRequired) as raised:
        client.call(REMOVE, town="Oslo")
    assert not service.received
    client.call(REMOVE, town="Oslo", approval_token=raised.value.details["approval_token"])
    assert [request.method for request in service.received] == ["DELETE"]


def test_the_executor_that_reads_refuses(client: Client, service: HttpService) -> None:
    with pytest.raises(WriteNotAllowed):
        client.call_meta_tool("TOOL_CALL", {"tool_name": REPORT, "arguments": {"town": "Oslo"}})
    assert not service.received


def test_a_command_runs_a_tool_of_an_endpoint_as_one_of_this_machine(
    url: str, service: HttpService, command_line: CommandLine
) -> None:
    service.received.clear()
    assert main(["--endpoint", url, "call", REPORT, "town=Oslo"]) == 0
    assert [request.path for request in service.received] == ["/reports/Oslo"]
    assert "--approval-token" in command_line("--endpoint", url, "call", REMOVE, "town=Oslo", code=1).err
