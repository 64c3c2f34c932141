"""Long responses in S3, over real HTTP (moto server): uploaded, signed, opened; a failure costs the URL alone."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import KEY
from tests.support.aws_services import bucket
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result

BUCKET = "answers"
SERIES = {"tool_name": "TIME_SERIES_DAILY_ADJUSTED", "arguments": {"symbol": "IBM", "outputsize": "full"}}


@pytest.fixture
def s3(on_moto: None) -> Iterator[Any]:
    with bucket(BUCKET) as client:
        yield client


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


# Credentials of a session end with it; a session of unknown end is expected to last an hour.
@pytest.mark.parametrize(
    ("setting", "session_s", "expected_s"),
    [
        (600, None, 600),
        (3600, 1200, 1200),
        (86400, 0, 3600),
    ],
)
def test_a_url_ends_as_the_setting_says_or_with_the_session_that_signs_it(
    s3: Any,
    call: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    setting: int,
    session_s: int | None,
    expected_s: int,
) -> None:
    if session_s is not None:
        monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    if session_s:
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", (datetime.now(UTC) + timedelta(seconds=session_s)).isoformat())
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S=str(setting)).structured["preview"]["full"]
    left = datetime.fromisoformat(full["expires_at"]) - datetime.now(UTC)
    [signed_s] = parse_qs(urlsplit(full["url"]).query)["X-Amz-Expires"]
    for seconds in (left.total_seconds(), int(signed_s)):
        assert expected_s - 20 < seconds <= expected_s + 1


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
