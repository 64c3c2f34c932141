"""The Python client over HTTP and stdio, and the paths of profiles."""

import copy
import datetime
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

import toolfold
from tests.conftest import KEY
from tests.support.authorization_server import RESOURCE
from tests.support.commands import CommandLine
from tests.support.local_server import HttpService
from tests.support.mcp_requests import message
from tests.support.upstream import Upstream
from toolfold.auth.resource_server import ResourceServer
from toolfold.build.compiler import compile_folder
from toolfold.cli import main
from toolfold.client import Client, ClientError
from toolfold.client.client import to_error
from toolfold.errors import ApprovalRequired, CallError, InvalidArguments, ToolNotFound
from toolfold.mock_api.server import MockApi
from toolfold.network.session import HttpClient
from toolfold.protocol.http import Request
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

SYMBOLS = ("AAPL", "MSFT", "IBM")


@pytest.fixture(scope="module")
def url(mock_api: MockApi) -> Iterator[str]:
    with LocalServer(Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})) as running:
        yield running.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, api_key=KEY) as opened:
        yield opened


def test_a_tool_is_found_described_and_called(client: Client) -> None:
    assert client.list("latest price of a stock").tools[0]["name"] == "GLOBAL_QUOTE"
    assert client.get("GLOBAL_QUOTE").tools[0]["parameters"]["required"] == ["symbol"]
    answer = client.call("GLOBAL_QUOTE", symbol="AAPL")
    assert answer.result["symbol"] == "AAPL"
    assert str(answer.result["price"]) in answer.text


def test_a_batch_and_a_pipe_are_one_request_each(client: Client) -> None:
    calls = [{"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": name}, "select": "price"} for name in SYMBOLS]
    assert [part["ok"] for part in client.batch(calls).results] == [True] * 3
    first = {"as": "found", "tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": "apple"}}
    then = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": {"$ref": "found.rows[0].symbol"}}}
    piped = client.pipe([first, then])
    assert piped.result["symbol"] == "AAPL"
    assert [step["tool_name"] for step in piped.results] == ["SYMBOL_SEARCH", "GLOBAL_QUOTE"]


def test_a_script_is_one_request(client: Client) -> None:
    answer = client.script("len(names)", {"names": [*SYMBOLS]})
    assert answer.result == 3


def test_failures_are_exceptions_with_the_code_of_the_server(client: Client) -> None:
    with pytest.raises(InvalidArguments) as invalid:
        client.call("GLOBAL_QUOTE")
    assert invalid.value.code == "INVALID_ARGUMENTS"
    assert [one["parameter"] for one in invalid.value.details["problems"]] == ["symbol"]
    with pytest.raises(ToolNotFound, match="There is no tool"):
        client.call("NOTHING_LIKE_IT")


@pytest.mark.parametrize("code", ["INVALID_ARGUMENTS", "NEW_CODE"])
@pytest.mark.parametrize("sent", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_is_the_same_in_another_process(code: str, sent: Callable[[CallError], CallError]) -> None:
    error = to_error({"code": code, "message": "A.", "suggestion": "B.", "problems": [{"parameter": "x"}]})
    found = sent(error)
    assert (type(found), found.as_dict(), found.args, str(found)) == (type(error), error.as_dict(), error.args, "A.")
    assert (error.code, type(found.details)) == (code, type(error.details))


def test_the_key_for_one_source_is_sent(url: str) -> None:
    with Client(url, source_keys={"alpha_vantage": KEY}) as client:
        assert client.call("GLOBAL_QUOTE", symbol="IBM", fresh=True).result["symbol"] == "IBM"


def test_a_description_of_a_tool_is_served_beside_the_endpoint(url: str) -> None:
    found = requests.get(f"{url.removesuffix('/mcp')}/tools/GLOBAL_QUOTE", timeout=10)
    assert (found.status_code, found.text.partition(":")[0]) == (200, "GLOBAL_QUOTE")


@pytest.mark.parametrize(
    ("path", "complaint"),
    [("/other", "HTTP 404: MCP is served at /mcp and /mcp/PROFILE"), ("/mcp/none", "HTTP 404")],
)
def test_an_address_without_an_endpoint_is_explained(url: str, path: str, complaint: str) -> None:
    with Client(url.removesuffix("/mcp") + path) as client, pytest.raises(ClientError, match=complaint) as caught:
        client.list()
    assert caught.value.status == 404


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"<html>", b"[" * 200_000, b'{"result": 1}', b'{"error": 1}', b"1" * 5_000]
)
def test_what_is_no_answer_of_mcp_is_explained(body: bytes) -> None:
    explained = pytest.raises(ClientError, match="answered with HTTP 200: it does not answer as an MCP server")
    with Upstream((200, {}, body)) as upstream, Client(upstream.url) as client, explained:
        client.list()


def test_a_redirect_is_not_followed_and_its_target_named() -> None:
    explained = pytest.raises(ClientError, match=r"HTTP 308: it redirects to https://example.com/mcp; use that address")
    moved = (308, {"location": "https://example.com/mcp"}, b"")
    with Upstream(moved) as upstream, Client(upstream.url) as client, explained:
        client.list()


def test_a_server_that_cannot_be_reached_is_named() -> None:
    refused = pytest.raises(ClientError, match=r"^http://127.0.0.1:1/mcp cannot be reached: [^\[]*refused\.$")
    with Client("http://127.0.0.1:1/mcp", token="secret-token") as client, refused as caught:
        client.list()
    assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize("key", ["top\r\nsecret", "topsecret\x00", "ключ-secret"])
def test_a_key_that_no_header_can_have_is_not_repeated(url: str, key: str) -> None:
    with pytest.raises(ClientError, match="The value of the header X-API-Key has characters") as raised:
        Client(url, api_key=key)
    assert "secret" not in str(raised.value)


def test_dates_are_sent_as_text_and_other_objects_are_refused(client: Client) -> None:
    day = datetime.date(2026, 1, 12)
    assert client.call("HISTORICAL_OPTIONS", symbol="IBM", date=day, select="first 1").rows[0]["date"] == "2026-01-12"
    for value, why in (({"IBM"}, "'set' object"), (float("nan"), "Out of range float values")):
        with pytest.raises(InvalidArguments, match=f"no form in JSON: {why}"):
            client.call("GLOBAL_QUOTE", symbol=value)


@pytest.mark.parametrize("count", [1, 3])
def test_a_single_thing_is_one_row(client: Client, count: int) -> None:
    rows = client.call("GLOBAL_QUOTE", symbol=[*SYMBOLS[:count]], select="symbol, price").rows
    assert [row["symbol"] for row in rows] == [*SYMBOLS[:count]]


def test_rows_of_a_preview_are_given_with_a_warning(client: Client) -> None:
    answer = client.call("TIME_SERIES_DAILY", symbol="IBM", max_tokens=500)
    with pytest.warns(UserWarning, match="the answer is a preview: a select"):
        assert 0 < len(answer.rows) < answer.structured["preview"]["rows_total"]


def test_rows_of_several_tables_are_those_of_each(client: Client) -> None:
    answer = client.call("INCOME_STATEMENT", symbol="IBM")
    with pytest.raises(ValueError, match="annualReports, quarterlyReports"):
        _ = answer.rows
    with pytest.warns(UserWarning, match="the answer is a preview"):
        assert [len(rows[0]) > 10 for rows in answer.tables.values()] == [True, True]
    assert client.call("GLOBAL_QUOTE", symbol="IBM").tables == {}


def test_an_address_of_another_scheme_is_refused() -> None:
    with pytest.raises(ClientError, match="begins with https://, or is stdio"):
        Client("ftp://example.com")


def test_over_stdio_a_process_answers(mock_api: MockApi) -> None:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": KEY}
    with Client("stdio", environment=environment) as client, ThreadPoolExecutor() as pool:
        answers = pool.map(lambda name: client.call("GLOBAL_QUOTE", symbol=name), SYMBOLS)
        assert [answer.result["symbol"] for answer in answers] == [*SYMBOLS]
        assert len(client.definitions()) == 3


def test_a_process_that_ends_is_reported_and_says_why_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    ended = pytest.raises(ClientError, match=r"has ended, .*; stderr may say why")
    with Client("stdio", command=[sys.executable, "-c", "import sys; sys.exit('no settings')"]) as client, ended:
        client.list()
    assert "no settings" in capfd.readouterr().err


def test_lines_over_stdio_that_are_no_answers_are_skipped() -> None:
    lines = ("ready", "[]", '{"id": "1"}', '{"id": 7}', '{"id": 1, "result": {"tools": [{"name": "x"}]}}')
    program = f"input(); print('[' * 200_000, *{lines!r}, sep=chr(10), flush=True); input()"
    with Client("stdio", command=[sys.executable, "-c", program]) as client:
        assert client.definitions() == [{"name": "x"}]


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(ClientError, match="toolfold-none cannot be started"):
        Client("stdio", command=["toolfold-none"])


def test_the_client_is_imported_when_it_is_used() -> None:
    assert toolfold.Client is Client
    with pytest.raises(AttributeError, match="no attribute 'Clients'"):
        toolfold.Clients  # noqa: B018 - reading it is what fails


class TestCommandLine:
    def test_a_call_goes_to_the_endpoint(
        self, url: str, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
    ) -> None:
        monkeypatch.setenv("REMOTE_KEY", KEY)
        command = ["call", "GLOBAL_QUOTE", "symbol=IBM", "--json", "--endpoint", url, "--key-env", "REMOTE_KEY"]
        assert '"symbol": "IBM"' in command_line(*command).out

    def test_an_empty_address_is_not_this_machine(self, command_line: CommandLine) -> None:
        assert "--endpoint is for an endpoint" in command_line("call", "X", "--endpoint", "", code=2).err

    def test_a_search_is_printed_as_on_this_machine(self, url: str, command_line: CommandLine) -> None:
        assert command_line("catalog", "search", "oil", "--endpoint", url).out.startswith("WTI\tUS crude oil")

    def test_what_the_endpoint_cuts_is_said_in_its_words(
        self, url: str, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
    ) -> None:
        monkeypatch.setenv("MY_KEY", KEY)
        remote = ["call", "--endpoint", url, "--key-env", "MY_KEY"]
        err = command_line(*remote, "TIME_SERIES_DAILY", "symbol=IBM", "outputsize=full").err
        assert "--select returns another part of all" in err
        assert "--max-tokens" not in command_line(*remote, "GLOBAL_QUOTE", code=1).err

    def test_a_variable_that_is_not_set_is_named(self, url: str, command_line: CommandLine) -> None:
        err = command_line("call", "X", "--endpoint", url, "--token-env", "NO_SUCH", code=1).err
        assert "NO_SUCH is not set" in err


SOURCE = """
kind: http_api
base_url: {towns_url}
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
def towns_url(service: HttpService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("towns")
    (folder / "towns").mkdir()
    (folder / "towns" / "source.yaml").write_text(SOURCE.format(towns_url=service.url))
    (folder / "catalog.json").write_text(compile_folder(folder, adapters=["http_api"]))
    hosts = {"TOOLFOLD_ALLOWED_HOSTS": service.url.removeprefix("http://"), "TOOLFOLD_PRIVATE_HOSTS": "127.0.0.1"}
    environment = {"TOOLFOLD_CATALOG": str(folder / "catalog.json"), "TOOLFOLD_CACHE": "memory", **hosts}
    with LocalServer(Settings.from_environment(environment)) as running:
        yield running.url


@pytest.fixture
def towns(towns_url: str, service: HttpService) -> Iterator[Client]:
    service.received.clear()
    with Client(towns_url) as opened:
        yield opened


def test_a_program_runs_a_tool_that_writes(towns: Client, service: HttpService) -> None:
    assert towns.call(REPORT, town="Oslo").result == {"ok": True}
    assert towns.batch([{"tool_name": REPORT, "arguments": {"town": "Bergen"}}]).results[0]["ok"]
    assert not towns.pipe([{"tool_name": REPORT, "arguments": {"town": "Moss"}}]).notes
    assert [request.path for request in service.received] == ["/reports/Oslo", "/reports/Bergen", "/reports/Moss"]


def test_a_call_that_deletes_is_approved_first(towns: Client, service: HttpService) -> None:
    with pytest.raises(ApprovalRequired) as raised:
        towns.call(REMOVE, town="Oslo")
    assert not service.received
    towns.call(REMOVE, town="Oslo", approval_token=raised.value.details["approval_token"])
    assert [request.method for request in service.received] == ["DELETE"]


def test_a_command_runs_a_tool_of_an_endpoint_as_one_of_this_machine(
    towns_url: str, service: HttpService, command_line: CommandLine
) -> None:
    service.received.clear()
    assert main(["call", REPORT, "town=Oslo", "--endpoint", towns_url]) == 0
    assert [request.path for request in service.received] == ["/reports/Oslo"]
    assert "approval_token" in command_line("call", REMOVE, "town=Oslo", "--endpoint", towns_url, code=1).err


HEADERS = {"accept": "application/json"}


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Return the URL of ``toolfold serve`` without the path."""
    with LocalServer(Settings.from_environment({})) as server:
        yield server.url.removesuffix("/mcp")


def listed(base_url: str, path: str) -> list[str]:
    body = requests.post(f"{base_url}{path}", json=message("tools/list"), headers=HEADERS, timeout=60).json()
    return [tool["name"] for tool in body["result"]["tools"]]


def test_local_server_serves_profiles(base_url: str) -> None:
    assert listed(base_url, "/mcp") == ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
    assert listed(base_url, "/mcp/kinds/") == ["connector", "request_tools"]
    assert len(listed(base_url, "/mcp/direct")) == 100


def test_local_server_lets_a_page_of_this_machine_ask_first(base_url: str) -> None:
    origin = {"origin": "http://localhost:3000"}
    preflight = requests.options(f"{base_url}/mcp/grouped", headers=origin, timeout=60)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin["origin"])
    assert "content-length" not in preflight.headers


@pytest.mark.parametrize("path", ["", "/mcp", "/mcp/grouped"])
def test_metadata_of_a_profile_is_that_of_the_endpoint(path: str) -> None:
    variables = {"TOOLFOLD_OAUTH_ISSUER": "https://issuer.test", "TOOLFOLD_PUBLIC_URL": RESOURCE}
    server = ResourceServer(Settings.from_environment(variables), HttpClient)
    found = server.respond_without_token(Request("GET", (), b"", path=f"/.well-known/oauth-protected-resource{path}"))
    assert found is not None
    assert json.loads(found.body)["resource"] == RESOURCE
    for wrong in ("/mcp/a/b", "/other"):
        request = Request("GET", (), b"", path=f"/.well-known/oauth-protected-resource{wrong}")
        assert server.respond_without_token(request) is None


@pytest.mark.slow
def test_stdio_exposes_the_profile_of_its_option() -> None:
    line = json.dumps(message("tools/list")) + "\n"
    command = [sys.executable, "-m", "toolfold", "stdio", "--profile", "kinds"]
    done = subprocess.run(command, input=line, capture_output=True, text=True, check=True)
    names = [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
    assert names == ["connector", "request_tools"]


@pytest.mark.slow
def test_stdio_with_an_unknown_profile_ends_with_the_closest() -> None:
    command = [sys.executable, "-m", "toolfold", "stdio", "--profile", "kindz"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "There is no profile 'kindz'. Did you mean kinds?" in " ".join(done.stderr.split())
