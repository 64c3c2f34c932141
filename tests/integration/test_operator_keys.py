"""Keys of an operator: in Secrets Manager and Parameter Store, and which callers may use them."""

import json
import logging
import os
import urllib.request
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.aws_services import client_here
from tests.support.lambda_handler import CONTEXT, http_event, load_gateway
from tests.support.mcp_requests import message
from toolfold.aws.clients import AwsClients
from toolfold.catalog.model import Catalog
from toolfold.errors import AuthRequired
from toolfold.execution import api_keys
from toolfold.execution.api_keys import SecretProvider, resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.settings.model import open_keys
from toolfold.transports.local_http.server import LocalServer

KEY = "CANARYKEY0123456"
VARIABLE = "ALPHA_VANTAGE_API_KEY"
NOWHERE = "http://127.0.0.1:1"
TTL_S = 300

Find = Callable[..., str]


@pytest.fixture
def provider(on_moto: None, clients: AwsClients) -> SecretProvider:
    # A longer time-out than in service: moto imports each service when it is first called.
    settings = Settings.from_environment({"TOOLFOLD_SECRET_TTL_S": str(TTL_S), "TOOLFOLD_SECRET_TIMEOUT_S": "30"})
    return SecretProvider(settings, clients)


@pytest.fixture
def find(provider: SecretProvider, catalog: Catalog) -> Find:
    """Resolve the key of a source whose variable has a reference."""

    def resolve(reference: str, sent: RequestCredentials = NO_CREDENTIALS) -> str:
        source = catalog.source("alpha_vantage")
        provider.environment = {VARIABLE: reference}
        return resolve_api_key(source, sent, provider)

    return resolve


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=1_800_000_000.0)
    monkeypatch.setattr(api_keys, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


@pytest.fixture
def fail(provider: SecretProvider, clients: AwsClients, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make AWS unreachable for the clients that are created from now on."""

    def failing() -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
        clients.reset()

    return failing


def secret(value: str) -> str:
    return str(client_here("secretsmanager").create_secret(Name=f"key-{uuid.uuid4()}", SecretString=value)["ARN"])


def rotate(arn: str) -> None:
    client_here("secretsmanager").put_secret_value(SecretId=arn, SecretString="another")


@pytest.mark.parametrize(
    ("stored", "field"),
    [
        ({"SecretString": KEY}, ""),
        ({"SecretBinary": KEY.encode()}, ""),
        ({"SecretString": json.dumps({"apikey": KEY, "other": "x"})}, "#apikey"),
    ],
    ids=["text", "bytes", "field"],
)
def test_a_secret_is_the_key(find: Find, stored: dict[str, Any], field: str) -> None:
    service = client_here("secretsmanager")
    assert find(service.create_secret(Name=f"key-{uuid.uuid4()}", **stored)["ARN"] + field) == KEY


@pytest.mark.parametrize(("kind", "reference"), [("String", "ssm:{name}"), ("SecureString", "{arn}")])
def test_a_parameter_is_the_key(find: Find, kind: str, reference: str) -> None:
    name = f"/toolfold/{kind}"
    service = client_here("ssm")
    service.put_parameter(Name=name, Value=KEY, Type=kind, Overwrite=True)
    arn = service.get_parameter(Name=name)["Parameter"]["ARN"]
    assert find(reference.format(name=name, arn=arn)) == KEY


def test_a_key_in_the_request_comes_first_and_nothing_is_read(find: Find, fail: Callable[[], None]) -> None:
    fail()
    assert find("ssm:/toolfold/key", RequestCredentials(bearer="mine")) == "mine"


def test_a_clock_that_was_set_back_does_not_extend_the_ttl(find: Find, clock: SimpleNamespace) -> None:
    arn = secret(KEY)
    assert find(arn) == KEY
    rotate(arn)
    clock.now -= 3600
    assert find(arn) == "another"


def test_after_a_reset_no_key_is_known(
    provider: SecretProvider, find: Find, fail: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    arn = secret(KEY)
    assert find(arn) == KEY
    provider.reset()
    fail()
    with pytest.raises(AuthRequired):
        find(arn)


def test_a_key_is_in_no_log_line_of_any_library(
    find: Find, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("botocore"), "level", logging.NOTSET)
    caplog.set_level(logging.DEBUG)
    arns = [secret(KEY), secret(json.dumps({"apikey": KEY})) + "#apikey"]
    caplog.clear()  # of this test's own clients
    assert [find(arn) for arn in arns] == [KEY, KEY]
    assert [record for record in caplog.records if KEY in record.getMessage() + repr(record.args)] == []


def test_the_region_is_that_of_the_arn(find: Find) -> None:
    service = client_here("secretsmanager", "eu-central-1")
    arn = service.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=KEY)["ARN"]
    assert ":eu-central-1:" in arn
    assert find(arn) == KEY


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("ssm:/toolfold/absent", "ParameterNotFound"),
        ("arn:aws:secretsmanager:us-east-1:123456789012:secret:absent", "ResourceNotFoundException"),
        ("arn:aws:secretsmanager", "it is the ARN of neither a secret nor a parameter"),
        ("arn:aws:s3:us-east-1:123456789012:key", "it is the ARN of neither a secret nor a parameter"),
        ("FIELD", "the secret has no field of the name after #"),
        ("NO TEXT", "the field is not a text"),
        ("JSON", "the secret is JSON; name its field after the ARN, as #FIELD"),
        ("EMPTY", "the secret is empty"),
        ("NO ASCII", "the secret is not printable ASCII of at most 4096 characters"),
        ("TOO LONG", "the secret is not printable ASCII of at most 4096 characters"),
        ("NO JSON", "the secret is not a JSON object"),
    ],
)
def test_a_key_that_cannot_be_read_is_logged_with_a_code_alone(
    find: Find, caplog: pytest.LogCaptureFixture, reference: str, code: str
) -> None:
    if reference == "FIELD":
        reference = secret(json.dumps({"apikey": KEY})) + "#absent"
    if reference == "NO JSON":
        reference = secret(KEY) + "#absent"
    if reference == "NO TEXT":
        reference = secret(json.dumps({"apikey": {"value": KEY}})) + "#apikey"
    contents = {"JSON": json.dumps({"apikey": KEY}), "EMPTY": " ", "NO ASCII": "clé", "TOO LONG": "k" * 4097}
    if reference in contents:
        reference = secret(contents[reference])
    with pytest.raises(AuthRequired, match="cannot be read at the moment"):
        find(reference)
    [line] = [record.getMessage() for record in caplog.records if record.name == "toolfold"]
    assert line == f"API key cannot be read from AWS: {code}"


class TestKeysOfSources:
    """One JSON object with the keys of all sources, in ``TOOLFOLD_SOURCE_KEYS``."""

    @pytest.fixture
    def find_in(self, provider: SecretProvider, catalog: Catalog) -> Callable[..., str]:
        def resolve(stored: str = "", variable: str = "", *, uses_own: bool = True) -> str:
            provider.source_keys = secret(stored) if stored else provider.source_keys
            source = catalog.source("alpha_vantage")
            provider.environment, provider.uses_own = {VARIABLE: variable}, uses_own
            return resolve_api_key(source, NO_CREDENTIALS, provider)

        return resolve

    def test_a_source_gets_the_key_of_its_id(self, find_in: Find, provider: SecretProvider, catalog: Catalog) -> None:
        assert find_in(json.dumps({"alpha_vantage": KEY, "other": "x"})) == KEY
        assert provider.known_key(catalog.source("alpha_vantage")) == KEY

    def test_the_variable_of_the_source_comes_first(self, find_in: Find) -> None:
        assert find_in(json.dumps({"alpha_vantage": "stored"}), KEY) == KEY

    def test_an_object_without_the_id_is_no_failure(self, find_in: Find, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(AuthRequired, match="TOOLFOLD_SOURCE_KEYS has none for alpha_vantage"):
            find_in(json.dumps({"other": KEY}))
        assert [record for record in caplog.records if record.name == "toolfold"] == []

    def test_a_key_that_was_removed_is_not_used_again(
        self, find_in: Find, provider: SecretProvider, catalog: Catalog, clock: SimpleNamespace
    ) -> None:
        assert find_in(json.dumps({"alpha_vantage": KEY})) == KEY
        client_here("secretsmanager").put_secret_value(SecretId=provider.source_keys, SecretString="{}")
        assert find_in() == KEY
        clock.now += TTL_S + 1
        with pytest.raises(AuthRequired, match="TOOLFOLD_SOURCE_KEYS has none for alpha_vantage"):
            find_in()
        assert provider.known_key(catalog.source("alpha_vantage")) == ""

    def test_a_key_that_is_not_for_all_callers_is_not_read(
        self, find_in: Find, provider: SecretProvider, catalog: Catalog
    ) -> None:
        with pytest.raises(AuthRequired, match="is not for all callers"):
            find_in(json.dumps({"alpha_vantage": KEY}), uses_own=False)
        assert provider.known_key(catalog.source("alpha_vantage")) == ""

    @pytest.mark.parametrize(
        ("stored", "reason"),
        [
            (f"{{'alpha_vantage': '{KEY}'}}", "the secret is not a JSON object"),
            (f'["{KEY}"]', "the secret is not a JSON object"),
            (f'{{"alpha_vantage": {{"key": "{KEY}"}}}}', "the field is not a text"),
            ('{"alpha_vantage": null}', "the field is not a text"),
            ('{"alpha_vantage": " "}', "the secret is empty"),
            ('{"alpha_vantage": "ssm:/toolfold/key"}', "the field is a reference, not a key"),
        ],
    )
    def test_what_is_no_object_of_keys_is_logged_without_its_content(
        self, find_in: Find, caplog: pytest.LogCaptureFixture, stored: str, reason: str
    ) -> None:
        with pytest.raises(AuthRequired, match="cannot be read at the moment"):
            find_in(stored)
        [line] = [record.getMessage() for record in caplog.records if record.name == "toolfold"]
        assert line == f"Key of source 'alpha_vantage' in TOOLFOLD_SOURCE_KEYS cannot be read from AWS: {reason}"


QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def load(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Call]:
    """Start the function, and return what calls a meta-tool with headers."""

    def start(**environment: str) -> Call:
        variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, **environment}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        app = load_gateway()

        def call(name: str = "TOOL_CALL", arguments: Any = QUOTE, **headers: str) -> dict[str, Any]:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            event = http_event(message("tools/call", {"name": name, "arguments": arguments}), sent)
            return dict(json.loads(app.handler(event, CONTEXT)["body"])["result"]["structuredContent"])

        mock_api.clear_requests()
        return call

    return start


def test_the_function_does_not_use_its_key_for_all_callers_and_serves_the_rest(
    load: Callable[..., Call], mock_api: MockApi, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        call = load(ALPHA_VANTAGE_API_KEY=KEY)
    error = call()["error"]
    assert error["code"] == "AUTH_REQUIRED"
    assert "not for all callers" in error["message"]
    assert "Authorization: Bearer or X-API-Key" in error["suggestion"]
    assert mock_api.requests == []
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith("ALPHA_VANTAGE_API_KEY is not used: anyone could call with it.")
    assert "TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true" in line
    assert KEY not in line
    assert call("TOOL_LIST", {})["tools"]
    assert "error" not in call(x_api_key="callers-own-key")
    assert [dict(request)["apikey"] for request in mock_api.requests] == ["callers-own-key"]


def test_a_key_that_is_confirmed_is_used(
    load: Callable[..., Call], mock_api: MockApi, caplog: pytest.LogCaptureFixture
) -> None:
    call = load(ALPHA_VANTAGE_API_KEY=KEY, TOOLFOLD_ANYONE_MAY_USE_THE_KEY="true")
    assert "error" not in call()
    assert [dict(request)["apikey"] for request in mock_api.requests] == [KEY]
    assert "is not used" not in caplog.text


def test_a_secret_that_is_not_for_all_callers_is_not_read(load: Callable[..., Call]) -> None:
    call = load(ALPHA_VANTAGE_API_KEY="arn:aws:secretsmanager:us-east-1:123456789012:secret:key-AbCdEf")
    assert "not for all callers" in call()["error"]["message"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"ALPHA_VANTAGE_API_KEY": KEY}, ["ALPHA_VANTAGE_API_KEY"]),
        ({"ALPHA_VANTAGE_API_KEY": " "}, []),
        ({"TOOLFOLD_SOURCE_WEATHER_KEY": KEY}, ["TOOLFOLD_SOURCE_WEATHER_KEY"]),
        ({"TOOLFOLD_SOURCE_KEYS": "ssm:/toolfold/sources"}, ["TOOLFOLD_SOURCE_KEYS"]),
        ({"TOOLFOLD_KEY_VARIABLES": "maps=MAPS_KEY,OTHER_KEY", "MAPS_KEY": KEY, "OTHER_KEY": ""}, ["MAPS_KEY"]),
        ({"ALPHA_VANTAGE_API_KEY": KEY, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}, []),
        ({"ALPHA_VANTAGE_API_KEY": KEY, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "0"}, ["ALPHA_VANTAGE_API_KEY"]),
        (
            {
                "ALPHA_VANTAGE_API_KEY": KEY,
                "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
                "TOOLFOLD_PUBLIC_URL": "https://tools.example.com/mcp",
            },
            [],
        ),
    ],
)
def test_which_keys_all_callers_could_use(
    environment: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", environment)
    assert open_keys(Settings.from_environment()) == expected


@pytest.mark.parametrize(("host", "is_used"), [("localhost", True), ("0.0.0.0", False)])
def test_the_local_server_uses_no_key_for_other_machines_that_is_not_confirmed(
    host: str, is_used: bool, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    mock_api.clear_requests()
    body = json.dumps(message("tools/call", {"name": "TOOL_CALL", "arguments": QUOTE})).encode()
    with LocalServer(Settings.from_environment(), host) as server:
        request = urllib.request.Request(server.url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as response:
            assert json.load(response)["result"]["isError"] is not is_used
    assert len(mock_api.requests) == is_used
