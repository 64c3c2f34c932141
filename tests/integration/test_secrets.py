"""The operator's key may be kept in Secrets Manager or Parameter Store, over real HTTP (moto server)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from tests.support.aws_services import lead_to
from toolfold.aws import credentials as aws_credentials
from toolfold.catalog.model import Catalog
from toolfold.errors import AuthRequired
from toolfold.execution import secrets
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials, resolve_api_key
from toolfold.settings import Settings

KEY = "CANARYKEY0123456"
VARIABLE = "ALPHA_VANTAGE_API_KEY"


@pytest.fixture
def aws(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    lead_to(endpoint, monkeypatch)
    aws_credentials.forget()
    secrets.forget()
    yield monkeypatch
    secrets.forget()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock by which keys grow old."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(secrets, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def find(catalog: Catalog, reference: str, credentials: RequestCredentials = NO_CREDENTIALS, **environment: str) -> str:
    # Longer than in service: the imitation imports each service when it is first asked for.
    settings = Settings.from_environment({"TOOLFOLD_SECRET_TIMEOUT_S": "30", **environment})
    return resolve_api_key(catalog.source("alpha_vantage"), credentials, settings, {VARIABLE: reference})


def secret(value: str) -> str:
    client: Any = boto3.client("secretsmanager")
    return str(client.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=value)["ARN"])


def test_a_secret_is_the_key(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    assert find(catalog, secret(KEY)) == KEY


def test_a_secret_of_bytes_is_the_key(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    client: Any = boto3.client("secretsmanager")
    arn = client.create_secret(Name=f"key-{uuid.uuid4()}", SecretBinary=KEY.encode())["ARN"]
    assert find(catalog, arn) == KEY


def test_a_field_of_a_secret_is_the_key(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    assert find(catalog, secret(json.dumps({"apikey": KEY, "other": "x"})) + "#apikey") == KEY


@pytest.mark.parametrize("kind", ["String", "SecureString"])
@pytest.mark.parametrize("reference", ["ssm:{name}", "{arn}"])
def test_a_parameter_is_the_key(aws: pytest.MonkeyPatch, catalog: Catalog, kind: str, reference: str) -> None:
    name = f"/toolfold/{kind}"
    client: Any = boto3.client("ssm")
    client.put_parameter(Name=name, Value=KEY, Type=kind, Overwrite=True)
    arn = client.get_parameter(Name=name)["Parameter"]["ARN"]
    assert find(catalog, reference.format(name=name, arn=arn)) == KEY


def test_a_callers_own_key_comes_first_and_nothing_is_read(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert find(catalog, "ssm:/toolfold/key", RequestCredentials(bearer="mine")) == "mine"


def test_it_is_read_again_when_it_is_old_and_kept_when_that_fails(
    aws: pytest.MonkeyPatch, catalog: Catalog, clock: SimpleNamespace
) -> None:
    arn = secret(KEY)
    assert find(catalog, arn) == KEY
    boto3.client("secretsmanager").put_secret_value(SecretId=arn, SecretString="another")
    clock.now += 299
    assert find(catalog, arn) == KEY
    clock.now += 1
    assert find(catalog, arn) == "another"
    clock.now += 300
    aws.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert find(catalog, arn) == "another"


def test_a_clock_that_was_set_back_does_not_keep_it(
    aws: pytest.MonkeyPatch, catalog: Catalog, clock: SimpleNamespace
) -> None:
    arn = secret(KEY)
    assert find(catalog, arn) == KEY
    boto3.client("secretsmanager").put_secret_value(SecretId=arn, SecretString="another")
    clock.now -= 3600
    assert find(catalog, arn) == "another"


def test_after_a_restore_nothing_is_known(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    arn = secret(KEY)
    assert find(catalog, arn) == KEY
    secrets.forget()
    aws.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(AuthRequired):
        find(catalog, arn)


def test_its_region_is_in_its_name(aws: pytest.MonkeyPatch, catalog: Catalog) -> None:
    client: Any = boto3.client("secretsmanager", region_name="eu-central-1")
    arn = client.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=KEY)["ARN"]
    assert ":eu-central-1:" in arn
    assert find(catalog, arn) == KEY


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("ssm:/toolfold/absent", "ParameterNotFound"),
        ("arn:aws:secretsmanager:us-east-1:123456789012:secret:absent", "ResourceNotFoundException"),
        ("arn:aws:secretsmanager", "IndexError"),
        ("arn:", "IndexError"),
        ("FIELD", "KeyError"),
        ("NO JSON", "JSONDecodeError"),
    ],
)
def test_one_that_cannot_be_read_is_an_error_that_says_so(
    aws: pytest.MonkeyPatch, catalog: Catalog, caplog: pytest.LogCaptureFixture, reference: str, code: str
) -> None:
    if reference == "FIELD":
        reference = secret(json.dumps({"apikey": KEY})) + "#absent"
    if reference == "NO JSON":
        reference = secret(KEY) + "#absent"
    with pytest.raises(AuthRequired, match="cannot be read at the moment"):
        find(catalog, reference)
    [line] = [record.getMessage() for record in caplog.records if record.name == "toolfold"]
    assert line == f"the API key cannot be read from AWS: {code}"
