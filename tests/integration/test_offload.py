"""Long responses in S3, over real HTTP (moto server): uploaded, signed, opened; a failure costs the URL alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from tests.conftest import KEY
from tests.support.aws_services import use_aws_endpoint
from toolfold.errors import SettingsError
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings

BUCKET = "answers"
SERIES = {"tool_name": "TIME_SERIES_DAILY_ADJUSTED", "arguments": {"symbol": "IBM", "outputsize": "full"}}


@pytest.fixture
def s3(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    use_aws_endpoint(endpoint, monkeypatch)
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    yield client
    for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=item["Key"])
    client.delete_bucket(Bucket=BUCKET)


@pytest.fixture
def call(make_tools: Callable[..., MetaTools]) -> Callable[..., Result]:
    def calling(place: str = f"s3://{BUCKET}/long", arguments: Any = None, **environment: str) -> Result:
        tools = make_tools(TOOLFOLD_OFFLOAD=place, TOOLFOLD_MAX_TOKENS="2000", **environment)
        result = tools.call("TOOL_CALL", arguments or SERIES)
        assert not result.is_error, result.text
        return result

    return calling


def opened(url: str) -> tuple[str, str]:
    with urllib.request.urlopen(url) as response:
        return response.headers["content-type"], response.read().decode()


def test_the_url_opens_the_whole_response(s3: Any, call: Callable[..., Result]) -> None:
    result = call()
    full = result.structured["preview"]["full"]
    kind, text = opened(full["url"])
    assert kind == "text/csv; charset=utf-8"
    header, *rows = text.splitlines()
    assert header.split(",") == result.structured["result"]["columns"]
    assert len(rows) == result.structured["preview"]["rows_total"] == result.structured["result"]["row_count"]
    assert full["url"] in result.text


def test_the_url_expires_when_it_says(s3: Any, call: Callable[..., Result]) -> None:
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S="600").structured["preview"]["full"]
    query = parse_qs(urlsplit(full["url"]).query)
    assert query["X-Amz-Expires"] == ["600"]
    left = datetime.fromisoformat(full["expires_at"]) - datetime.now(UTC)
    assert 590 < left.total_seconds() <= 601


def seconds_left(full: dict[str, Any]) -> float:
    return (datetime.fromisoformat(full["expires_at"]) - datetime.now(UTC)).total_seconds()


@pytest.mark.parametrize(
    ("setting", "session_s", "expected_s"),
    [("3600", 1200, 1200), ("600", 1200, 600), ("86400", 7200, 7200)],
)
def test_a_url_ends_with_the_session_that_signs_it(
    s3: Any,
    call: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    session_s: int,
    expected_s: int,
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", (datetime.now(UTC) + timedelta(seconds=session_s)).isoformat())
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S=setting).structured["preview"]["full"]
    assert expected_s - 20 < seconds_left(full) <= expected_s
    [signed_s] = parse_qs(urlsplit(full["url"]).query)["X-Amz-Expires"]
    assert expected_s - 20 < int(signed_s) <= expected_s


def test_a_session_of_unknown_end_is_expected_to_last_an_hour(
    s3: Any, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S="86400").structured["preview"]["full"]
    assert 3580 < seconds_left(full) <= 3600


def test_keys_of_a_user_limit_no_url(s3: Any, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S="86400").structured["preview"]["full"]
    assert 86380 < seconds_left(full) <= 86400


def test_object_names_cannot_be_guessed_from_the_answer(s3: Any, call: Callable[..., Result]) -> None:
    urls = [call().structured["preview"]["full"]["url"] for _ in range(2)]
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert len(set(keys)) == 2
    for key in keys:
        assert key.startswith("long/answer-")
        assert len(key) >= len("long/answer-.csv") + 32
        assert "IBM" not in key
    assert {urlsplit(url).path for url in urls} == {f"/{BUCKET}/{key}" for key in keys}


def test_raw_json_is_saved_as_json(s3: Any, call: Callable[..., Result]) -> None:
    arguments = {**SERIES, "arguments": {**SERIES["arguments"], "datatype": "json"}}  # type: ignore[dict-item]
    full = call(arguments=arguments).structured["preview"]["full"]
    kind, text = opened(full["url"])
    assert kind == "application/json"
    assert "4. close" in json.loads(text)["Time Series (Daily)"]["2026-01-13"]


def test_no_key_is_in_the_url_or_the_object(s3: Any, call: Callable[..., Result]) -> None:
    result = call()
    url = result.structured["preview"]["full"]["url"]
    assert KEY not in result.text + json.dumps(result.structured) + opened(url)[1]


def test_a_changed_url_opens_nothing(s3: Any, call: Callable[..., Result]) -> None:
    url = call().structured["preview"]["full"]["url"]
    with pytest.raises(urllib.error.HTTPError):
        opened(url.replace("/answer-", "/answer-x"))


@pytest.mark.parametrize("value", ["https://answers.example", "s3://", "gs://bucket/x"])
def test_another_scheme_is_a_settings_error(value: str) -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_OFFLOAD"):
        Settings.from_environment({"TOOLFOLD_OFFLOAD": value})


@pytest.mark.parametrize("value", ["0", "86401", "soon"])
def test_a_url_lives_a_day_at_most(value: str) -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_PRESIGNED_URL_TTL_S"):
        Settings.from_environment({"TOOLFOLD_PRESIGNED_URL_TTL_S": value})
