"""An API key passes through every code path; caches, logs, errors and responses are then searched for it."""

import base64
import json
import logging
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support import aws_services
from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.executor import settings_for
from tests.support.upstream import CSV, Upstream
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError
from toolfold.execution.call import CallContext
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.mock_api.faults import FAULTS
from toolfold.mock_api.server import MockApi

KEY = "Canary-Key+0123/456=Zz"
"""With letters of both cases, and characters that the encodings write differently."""


def spellings() -> list[str]:
    """Return the key and its encodings in lower case; the searched text is converted to lower case as well."""
    encoded = [base64.b64encode(b"x" * shift + KEY.encode())[shift + 1 : -4].decode() for shift in range(3)]
    return [
        text.lower()
        for text in (KEY, quote(KEY), quote(KEY, safe=""), json.dumps(KEY)[1:-1], KEY.encode().hex(), *encoded)
    ]


def check(where: str, content: str | bytes) -> None:
    text = content.decode("latin-1") if isinstance(content, bytes) else content
    for spelling in spellings():
        assert spelling not in text.lower(), where


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Return what all loggers have logged, at any level, with all attributes of each record."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "toolfold")
    monkeypatch.setattr(logging.getLogger("toolfold"), "propagate", True)

    def texts() -> str:
        # Not those of the AWS clients, which never get the key, and of moto, which logs its requests.
        records = [one for one in caplog.records if not one.name.startswith(("botocore", "boto3", "werkzeug"))]
        return "\n".join(json.dumps(vars(record), default=repr) for record in records)

    return texts


class Calls:
    def __init__(self, catalog: Catalog, url: str, **environment: str) -> None:
        limits = {"TIMEOUT_S": "0.3", "BREAKER_FAILURES": "1000", "MAX_QUEUE_WAIT_S": "0.001"}
        settings = settings_for(url, **{**limits, **environment})
        clock = Clock()
        self.executor = ToolExecutor(settings, clock=clock.clocks())
        self.catalog, self.settings, self.clock = catalog, settings, clock

    def __call__(self, name: str, arguments: dict[str, Any]) -> str:
        """Return everything that a caller can see of one call."""
        tool = tool_of(self.catalog, name)
        try:
            outcome = run_call(self.executor, CallContext(self.catalog, tool, arguments, RequestCredentials(KEY)))
        except CallError as error:
            return json.dumps([error.as_dict(), repr(error), str(error), repr(error.__cause__)])
        return outcome.redactor.redact_text(outcome.body)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_no_failure_of_the_upstream_discloses_the_key(
    catalog: Catalog, mock_api: MockApi, told: Callable[[], str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "answers.sqlite"
    symbol = f"FAULT.{name.upper()}"
    for tool, arguments in (("GLOBAL_QUOTE", {"symbol": symbol}), ("NEWS_SENTIMENT", {"tickers": symbol})):
        calls = Calls(catalog, mock_api.url, CACHE=str(path), KEY_SALT="salt")
        check(f"{name} {tool}", calls(tool, arguments))
        check(f"{name} {tool}, again", calls(tool, arguments))
        check("what settings look like", repr(calls.settings))
    for file in tmp_path.iterdir():
        check(file.name, file.read_bytes())
    check("log", told())
    assert '"msg": "call"' in told()


def echo(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """An upstream that repeats the key in its data."""
    key = query["apikey"]
    return 200, {}, f"timestamp,value\n{key},1\n{quote(key)},2\n{quote(key, safe='')},3\n{CSV}".encode()


def test_no_store_and_no_response_contains_the_key(
    catalog: Catalog, told: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    path = tmp_path / "answers.sqlite"
    with Upstream(echo) as upstream:
        calls = Calls(catalog, upstream.url, CACHE=str(path))
        for _ in range(2):
            body = calls("CPI", {})
            check("answer", body)
            assert "[key],1" in body
        calls("TIME_SERIES_DAILY", {"symbol": "IBM"})
        assert {query["apikey"] for query in upstream.requests} == {KEY}
        assert len(upstream.requests) == 2  # an answer that repeats the key is kept in memory, for this key
        upstream.replies = [(200, {}, CSV.encode())]
        calls("WTI", {})
    memory = calls.executor.services.cache._memory
    assert len(memory._own) == 2
    assert len(memory._common) == 1
    for name in (*memory._own, *memory._common):
        check("memory", name)
    check("memory", zlib.decompress(memory._common.popitem()[1]))
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT key, value FROM entries WHERE key NOT LIKE '%/%'").fetchall()
        counters = file.execute("SELECT key, value FROM entries WHERE key LIKE '%/%'").fetchall()
    file.close()
    assert len(rows) == 1
    assert counters
    for name, blob in rows:
        check("file", name)
        check("file", zlib.decompress(blob))
    check("counters", repr(counters))
    check("log", told())


def fill_table(catalog: Catalog) -> None:
    with Upstream(echo) as upstream:
        shared = {
            "CACHE": "dynamodb://canary",
            "CACHE_TIMEOUT_S": "30",
            "TIMEOUT_S": "20",  # on a busy machine, importing boto3 is part of it
        }
        calls = Calls(catalog, upstream.url, REQUESTS_PER_SECOND="1000", **shared)
        upstream.replies = [(200, {}, CSV.encode()), echo]
        for tool, arguments in (("WTI", {}), ("CPI", {}), ("TIME_SERIES_DAILY", {"symbol": "IBM"})):
            calls(tool, arguments)
            calls.clock.now += 1
    with MockApi() as mock_api:
        Calls(catalog, mock_api.url, **shared)("GLOBAL_QUOTE", {"symbol": "FAULT.DAILY_QUOTA"})


def test_the_table_does_not_contain_the_key(catalog: Catalog, on_moto: None, told: Callable[[], str]) -> None:
    with aws_services.table("canary") as dynamodb:
        fill_table(catalog)
        items = dynamodb.scan(TableName="canary")["Items"]
    kinds = {item["pk"]["S"].partition("/")[0] for item in items}
    assert {"limits", "usage", "slot"} < kinds
    for item in items:
        check("item", json.dumps(item, default=repr))
        if set(item["pk"]["S"]) <= set("0123456789abcdef-"):
            check("entry", zlib.decompress(bytes(item["v"]["B"])))
    check("log", told())


def test_the_search_finds_every_spelling() -> None:
    leaks = [
        KEY,
        KEY.upper(),
        f"?apikey={quote(KEY)}&x",
        quote(KEY, safe=""),
        json.dumps({"a": KEY}),
        KEY.encode().hex(),
    ]
    leaks += [base64.b64encode(b"x" * length + KEY.encode() + b"more").decode() for length in range(6)]
    for leak in leaks:
        with pytest.raises(AssertionError):
            check("here", leak)
