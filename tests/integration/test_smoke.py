"""``make smoke`` against a real process of ``toolfold serve``, deployments with each access, and wrong servers."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from scripts import smoke
from tests.integration.test_serve_process import serving
from tests.support.authorization_server import RESOURCE, Gateway, Issuer
from tests.support.catalogs import small_catalog
from tests.support.deployed_api import ENVIRONMENT, REGION, deployed_api
from tests.support.lambda_handler import make_handler
from tests.support.local_server import Handler, LocalServer
from tests.support.upstream import Upstream
from toolfold.client import ClientError
from toolfold.mock_api.server import MockApi

KEY = "TESTKEY123"


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    with MockApi() as mock, serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock.url, ALPHA_VANTAGE_API_KEY="") as (_, url):
        yield url


def outcomes(url: str, access: str = "", key: str = "", token: str = "", sign: str = "") -> dict[str, str]:
    lines: list[str] = []
    passed = smoke.run(smoke.Endpoint(url, access, sign, key, token), lines.append)
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
    with deployed_api(make_handler(settings)) as url:
        assert names(outcomes(url), "FAIL") == {"key"}


def test_any_catalog_is_checked_by_one_of_its_own_examples(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_bytes(small_catalog())
    with Upstream(
        (200, {"content-type": "application/json"}, b'{"times": [{"time": "06:12", "metres": 1.2}]}')
    ) as tides:
        host = tides.url.split("/")[2]
        settings = {"TOOLFOLD_SOURCE_TIDES_URL": tides.url, "TOOLFOLD_ALLOWED_HOSTS": host}
        with deployed_api(make_handler({"TOOLFOLD_CATALOG": str(tmp_path / "catalog.json"), **settings})) as url:
            found = outcomes(url)
        assert (names(found, "SKIP"), names(found, "FAIL")) == ({"key"}, set())
        assert tides.requests[0]["harbour"] == "Bergen"


def test_with_an_issuer_the_metadata_are_checked_and_calls_need_a_token(mock_api: MockApi) -> None:
    with Issuer() as issuer, deployed_api(Gateway(issuer, mock_api).handler) as url:
        found = outcomes(url)
        assert names(found, "SKIP") == {"initialize", "tools/list", "TOOL_LIST", "TOOL_GET", "TOOL_CALL", "key"}
        assert not names(found, "FAIL")
        assert names(outcomes(url, key=KEY, token=issuer.token(RESOURCE)), "SKIP") == {"key"}
        wrong = outcomes(url, token=issuer.token("https://other.example.com"))
        assert (wrong["access"], wrong["tools/list"]) == ("PASS", "FAIL")


class TestSignedRequests:
    @pytest.fixture
    def url(self, mock_api: MockApi) -> Iterator[str]:
        settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ACCESS": "iam"}
        with deployed_api(make_handler(settings), "iam") as served:
            yield served

    def test_every_check_passes(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        found = outcomes(url, key=KEY, sign=REGION)
        assert (names(found, "SKIP"), names(found, "FAIL")) == ({"key"}, set())

    def test_other_credentials_are_refused(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": "wrong"}.items():
            monkeypatch.setenv(name, value)
        assert {"initialize", "tools/list", "TOOL_CALL"} <= names(outcomes(url, sign=REGION), "FAIL")

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
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        assert names(outcomes(url, "open"), "PASS") <= {"CORS"}
        with pytest.raises(ClientError, match="does not answer as an MCP server"):
            outcomes(url)
    assert set(outcomes(url, "open").values()) == {"FAIL"}
    assert smoke.main([url]) == 1
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["mcp.example.com", "ftp://a/mcp", ""])
def test_an_address_that_is_none_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke.main([url]) == 1
    assert "The address of an endpoint begins with https://" in capsys.readouterr().err


def test_an_address_without_the_path_is_explained(open_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke.main([open_url.removesuffix("/mcp")]) == 1
    assert "404: MCP is served at /mcp" in capsys.readouterr().err


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
