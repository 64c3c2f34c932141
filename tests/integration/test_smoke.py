"""``make smoke``, and requests that are signed for ``Access=iam``, against local APIs of each access."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from scripts import smoke
from tests.conftest import KEY
from tests.integration.test_local_http import serving
from tests.support.authorization_server import RESOURCE, Gateway, Issuer
from tests.support.catalogs import small_catalog
from tests.support.commands import CommandLine
from tests.support.http_api import Request, event_for, response_from
from tests.support.lambda_handler import make_handler
from tests.support.local_server import Handler, LocalServer
from tests.support.upstream import Upstream
from toolfold.client import Client, ClientError, find_access
from toolfold.client.channels import Signer, region_of_address
from toolfold.mock_api.server import MockApi

REGION = "eu-central-1"
CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "SESSION/TOKEN+1")
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key,
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_key,
    "AWS_SESSION_TOKEN": str(CREDENTIALS.token),
}
FORBIDDEN = (403, {"content-type": "application/json"}, b'{"message":"Forbidden"}')
"""How an HTTP API refuses a request whose signature is absent or wrong."""

_SCOPE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<credential>\S+), SignedHeaders=(?P<names>\S+), Signature=(?P<signature>\S+)"
)


def is_signed(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether a request has the signature that botocore computes for what has arrived."""
    found = _SCOPE.fullmatch(headers.get("authorization", ""))
    if found is None or found["credential"].split("/")[2:] != [REGION, "execute-api", "aws4_request"]:
        return False
    names = found["names"].split(";")
    if not {"host", "x-amz-date", "x-amz-security-token"} <= {*names} or not {*names} <= {*headers}:
        return False
    signer = SigV4Auth(CREDENTIALS, "execute-api", REGION)
    arrived = AWSRequest(method, f"http://{headers['host']}{target}", {name: headers[name] for name in names}, body)
    arrived.context["timestamp"] = headers["x-amz-date"]
    expected = signer.signature(signer.string_to_sign(arrived, signer.canonical_request(arrived)), arrived)
    same_token = headers["x-amz-security-token"] == CREDENTIALS.token
    return same_token and found["credential"].split("/")[0] == CREDENTIALS.access_key and expected == found["signature"]


@contextmanager
def deployed_api(answer: Callable[[dict[str, Any]], Any], access: str = "") -> Iterator[str]:
    """Serve the routes of the template, and yield the URL of the endpoint.

    Args:
        answer: The handler.
        access: With ``iam`` all routes but OPTIONS and ``GET /health`` need a signature.
    """

    class Route(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            url = urlsplit(self.path)  # of a request through a proxy a whole URL
            path, target = url.path, url._replace(scheme="", netloc="").geturl()
            headers = {name.lower(): value for name, value in self.headers.items()}
            if not re.fullmatch(r"/mcp(/\w+)?|/health|/register|/\.well-known/.+", path):
                return self.reply(404, {}, b'{"message":"Not Found"}')
            event = event_for(Request(self.command, target, list(headers.items()), body), path)
            if access == "iam" and self.command != "OPTIONS" and path != "/health":
                if not is_signed(self.command, target, headers, body):
                    return self.reply(*FORBIDDEN)
                event["requestContext"]["authorizer"] = {"iam": {"userArn": "arn:aws:iam::123456789012:user/anna"}}
            return self.reply(*response_from(answer(event)))

        do_GET = do_OPTIONS = do_POST

    with LocalServer(Route) as server:
        yield f"http://127.0.0.1:{server.server_port}/mcp"


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    with (
        MockApi() as mock,
        serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock.url, ALPHA_VANTAGE_API_KEY="") as (_, endpoint_url),
    ):
        yield endpoint_url


def outcomes(endpoint_url: str, access: str = "", key: str = "", token: str = "", sign: str = "") -> dict[str, str]:
    lines: list[str] = []
    passed = smoke.run(smoke.Endpoint(endpoint_url, access, sign, key, token), lines.append)
    found = {line.split()[1]: line.split()[0] for line in lines}
    assert list(found) == list(smoke.CHECKS)
    assert passed == ("FAIL" not in found.values()), lines
    assert not key or key not in "".join(lines)
    return found


def names(found: dict[str, str], outcome: str) -> set[str]:
    return {name for name, one in found.items() if one == outcome}


def test_an_open_endpoint_passes_and_its_call_needs_a_key(open_url: str) -> None:
    found = outcomes(open_url)
    assert names(found, "SKIP") == {"TOOL_CALL"}
    assert not names(found, "FAIL")


def test_with_a_key_the_call_passes(open_url: str) -> None:
    assert set(outcomes(open_url, key=KEY).values()) == {"PASS"}


def test_a_token_that_is_not_required_is_a_failure(open_url: str) -> None:
    assert names(outcomes(open_url, token="TOKEN"), "FAIL") == {"access"}


def test_the_key_of_a_deployment_that_strangers_use_is_a_failure(
    mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
    with deployed_api(make_handler(settings)) as endpoint_url:
        assert names(outcomes(endpoint_url), "FAIL") == {"key"}


def test_any_catalog_is_checked_by_one_of_its_own_examples(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_bytes(small_catalog())
    with Upstream(
        (200, {"content-type": "application/json"}, b'{"times": [{"time": "06:12", "metres": 1.2}]}')
    ) as tides:
        host = tides.url.split("/")[2]
        settings = {"TOOLFOLD_SOURCE_TIDES_URL": tides.url, "TOOLFOLD_ALLOWED_HOSTS": host}
        with deployed_api(
            make_handler({"TOOLFOLD_CATALOG": str(tmp_path / "catalog.json"), **settings})
        ) as endpoint_url:
            found = outcomes(endpoint_url)
        assert (names(found, "SKIP"), names(found, "FAIL")) == ({"key"}, set())
        assert tides.requests[0]["harbour"] == "Bergen"


def test_with_an_issuer_the_metadata_are_checked_and_calls_need_a_token(mock_api: MockApi) -> None:
    with Issuer() as issuer, deployed_api(Gateway(issuer, mock_api).handler) as endpoint_url:
        found = outcomes(endpoint_url)
        assert names(found, "SKIP") == {"initialize", "tools/list", "TOOL_LIST", "TOOL_GET", "TOOL_CALL", "key"}
        assert not names(found, "FAIL")
        assert names(outcomes(endpoint_url, key=KEY, token=issuer.token(RESOURCE)), "SKIP") == {"key"}
        wrong = outcomes(endpoint_url, token=issuer.token("https://other.example.com"))
        assert (wrong["access"], wrong["tools/list"]) == ("PASS", "FAIL")


class TestSignedRequests:
    @pytest.fixture
    def endpoint_url(self, mock_api: MockApi) -> Iterator[str]:
        settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ACCESS": "iam"}
        with deployed_api(make_handler(settings), "iam") as served:
            yield served

    def test_every_check_passes(self, endpoint_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        found = outcomes(endpoint_url, key=KEY, sign=REGION)
        assert (names(found, "SKIP"), names(found, "FAIL")) == ({"key"}, set())

    def test_other_credentials_are_refused(self, endpoint_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": "wrong"}.items():
            monkeypatch.setenv(name, value)
        assert {"initialize", "tools/list", "TOOL_CALL"} <= names(outcomes(endpoint_url, sign=REGION), "FAIL")

    def test_an_open_endpoint_is_not_one_for_signed_requests(
        self, open_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        assert {"access", "health"} <= names(outcomes(open_url, "iam", sign=REGION), "FAIL")


def test_nothing_is_passed_by_a_server_that_is_down_or_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    class Other(Handler):
        def do_GET(self) -> None:
            self.reply(200, {"content-type": "text/html"}, b"<html>")

        do_POST = do_OPTIONS = do_GET

    with LocalServer(Other) as server:
        endpoint_url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        assert names(outcomes(endpoint_url, "open"), "PASS") <= {"CORS"}
        with pytest.raises(ClientError, match="does not answer as an MCP server"):
            outcomes(endpoint_url)
    assert set(outcomes(endpoint_url, "open").values()) == {"FAIL"}
    assert smoke.main([endpoint_url]) == 1
    assert "cannot be reached" in capsys.readouterr().err


def test_without_a_deployment_the_next_step_is_named(on_moto: None, capsys: pytest.CaptureFixture[str]) -> None:
    template = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    boto3.client("cloudformation").create_stack(StackName="empty", TemplateBody=template)
    for options, complaint in (
        (["--stage", "nowhere"], "has no stage nowhere. Set STAGE to one of default, dev, prod."),
        (["--stage", "prod"], "There is no stack toolfold-prod: deploy it by `make deploy STAGE=prod`."),
        (["--stack", "empty"], "There is no stack empty: deploy it by `make deploy`."),
    ):
        assert smoke.main(options) == 1
        assert complaint in capsys.readouterr().err


ADDRESS = f"http://a1b2c3.execute-api.{REGION}.amazonaws.com/mcp"


@pytest.fixture(scope="module")
def url(mock_api: MockApi) -> Iterator[str]:
    variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ACCESS": "iam"}
    with deployed_api(make_handler(variables), "iam") as served:
        yield served


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def address(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The API under an address of API Gateway, to which a proxy leads."""
    monkeypatch.setenv("http_proxy", url.removesuffix("/mcp"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return ADDRESS


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://a1b2c3.execute-api.eu-central-1.amazonaws.com/mcp", "eu-central-1"),
        ("https://A1B2C3.execute-api.cn-north-1.amazonaws.com.cn/mcp", "cn-north-1"),
        ("https://a1b2c3.execute-api.eu-central-1.amazonaws.com.example.com/mcp", ""),
        ("https://execute-api.eu-central-1.amazonaws.com.evil/mcp", ""),
        ("https://mcp.example.com/mcp", ""),
    ],
)
def test_the_region_is_read_from_an_address_of_api_gateway_alone(url: str, region: str) -> None:
    assert region_of_address(url) == region


def test_requests_to_an_address_of_api_gateway_are_signed_once_it_requires_that(address: str) -> None:
    with Client(address, api_key=KEY) as client:
        assert client.call("GLOBAL_QUOTE", symbol="IBM").result["symbol"] == "IBM"


def test_a_name_of_a_profile_is_part_of_what_is_signed(url: str) -> None:
    with Client(url, sign=REGION, profile="grouped") as client:
        assert len(client.definitions()) > 3


def test_the_signature_is_that_of_what_is_sent(url: str) -> None:
    given = (("/mcp", b""), ("/mcp?b=2&a=1%202", b""), ("/mcp/grouped", b'{"a": "\xc3\xbc"}'))
    for signer, refused in ((Signer(REGION), False), (Signer("us-east-1"), True)):
        for path, body in given:
            headers = {"content-type": "application/json"}
            sent = requests.post(url.removesuffix("/mcp") + path, body, headers=headers, auth=signer, timeout=60)
            assert (sent.status_code == 403) == refused


def test_without_a_region_the_option_is_named(url: str) -> None:
    with Client(url) as client, pytest.raises(ClientError, match=r"403: .*the region \(--sign, sign=\)") as caught:
        client.list()
    assert caught.value.status == 403


def test_an_access_token_is_not_replaced_by_a_signature(address: str) -> None:
    with Client(address, token="TOKEN") as client, pytest.raises(ClientError, match="signed requests, no access token"):
        client.list()
    with pytest.raises(ClientError, match="leave out one of the two"):
        Client(address, token="TOKEN", sign=REGION)


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
def test_credentials_that_are_refused_are_explained(
    address: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "EXPIRED-SECRET")
    with Client(address) as client, pytest.raises(ClientError, match="aws sts get-caller-identity"):
        client.list()


@pytest.mark.parametrize("profile", [None, "no-such-profile"])
def test_without_credentials_the_next_step_is_named(
    url: str, profile: str | None, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    if profile:
        monkeypatch.setenv("AWS_PROFILE", profile)
    error = command_line("catalog", "search", "price", "--endpoint", url, "--sign", REGION, code=1).err
    assert "run `aws sso login` or `aws configure`, or set AWS_PROFILE" in error
    assert error.count("\n") == 1


def test_without_botocore_its_extra_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    err = command_line("catalog", "search", "price", "--endpoint", url, "--sign", REGION, code=1).err
    assert err.startswith("This needs botocore: ")


def test_the_command_line_signs_as_the_client_does(
    url: str, address: str, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    for where in (["--endpoint", address], ["--endpoint", url, "--sign", REGION]):
        out = command_line("call", "GLOBAL_QUOTE", "symbol=IBM", "--json", "--key-env", "MY_KEY", *where).out
        assert '"symbol": "IBM"' in out


def test_the_entry_of_a_client_follows_the_access_that_is_found(address: str, command_line: CommandLine) -> None:
    entry = json.loads(command_line("install", "cursor", "--endpoint", address, "--print").out)["mcpServers"][
        "toolfold"
    ]
    assert entry["args"][1:] == [ADDRESS, "--service", "execute-api", "--region", REGION]


def test_a_throttled_request_is_explained() -> None:
    explained = pytest.raises(ClientError, match="HTTP 429: too many requests at once; try again in some seconds")
    with Upstream((429, {}, b'{"message":"Too Many Requests"}')) as busy, Client(busy.url) as client, explained:
        client.list()


def test_the_access_of_a_deployment_is_read_from_one_unsigned_request(
    url: str, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "unused")
    assert find_access(url) == "iam"
    with Issuer() as issuer:
        with deployed_api(Gateway(issuer, mock_api).handler) as with_tokens:
            assert find_access(with_tokens) == "oauth"
        with deployed_api(make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})) as without:
            assert find_access(without) == "open"
    with pytest.raises(ClientError, match="cannot be reached"):
        find_access(without)
