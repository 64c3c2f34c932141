"""An environment initialised ahead of its requests is warm; a snapshot of it has nothing that copies must not share.

The copies are made by ``fork``, in a process without threads of its own: obstore has some, so S3 is tested in one
process, and in the runtime client (test_built_package.py).
"""

import gc
import json
import logging
import os
import random
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest

from tests.conftest import KEY
from tests.support import aws_services, mcp_requests
from tests.support.catalogs import publish
from tests.support.lambda_handler import make_handler
from tests.support.upstream import Upstream
from toolfold.catalog.store import bundled_path
from toolfold.mock_api.server import MockApi
from toolfold.transports import snapstart
from toolfold.transports.lambda_handler import LambdaHandler

OTHER_KEY = "CANARYKEY6543210"
CONTENT = bundled_path().read_bytes()
CHANGED = CONTENT.replace(b"Stocks, options,", b"Shares, options,", 1)  # of a source, in the head
PLACE = "s3://snapshots/catalog"
TOLD = '{"told"'


@pytest.fixture
def aws(on_moto: None) -> Iterator[None]:
    """A bucket for catalogs and a table for answers."""
    with aws_services.bucket("snapshots"), aws_services.table("snapshots"):
        yield


@pytest.fixture
def make(mock_api: MockApi) -> Iterator[Callable[..., LambdaHandler]]:
    yield lambda **environment: make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, **environment})
    gc.unfreeze()


def listed(gateway: LambdaHandler) -> str:
    """What TOOL_LIST answers."""
    request = mcp_requests.request(mcp_requests.message("tools/call", {"name": "TOOL_LIST", "arguments": {}}))
    return str(json.loads(gateway.server.handle_http(request).body)["result"])


def told(lines: list[str]) -> list[dict[str, Any]]:
    """What the process says beside its log."""
    return [json.loads(line)["told"] for line in lines if line.startswith(TOLD)]


def test_two_copies_share_no_connection_no_random_number_and_no_key(aws: None, mock_api: MockApi) -> None:
    manager: Any = boto3.client("secretsmanager")
    secret = manager.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=KEY)["ARN"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(["layers/core", "."]),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
        "ALPHA_VANTAGE_API_KEY": secret,
        "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
        "TOOLFOLD_CACHE": "dynamodb://snapshots",
        "TOOLFOLD_CACHE_TIMEOUT_S": "30",
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
    }
    command = [sys.executable, "-m", "tests.support.snapshot_copies"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        [before] = told([next(line for line in process.stdout or () if line.startswith(TOLD))])
        manager.put_secret_value(SecretId=secret, SecretString=OTHER_KEY)
        mock_api.clear_requests()
        one, two = told(process.communicate("go on\n", timeout=60)[0].splitlines())

    # There was something to drop, or this would show nothing.
    assert before["first"]["result"]["symbol"] == "IBM"
    assert before["warm"] >= 1  # to the upstream; moto closes its own after each answer
    assert before["held"] == 1
    assert (before["left"], before["left_held"]) == (0, 0)
    assert one["unseeded"] == two["unseeded"]
    assert one["seeded"] != two["seeded"]
    for copy in (one, two):
        assert copy["answer"]["result"]["symbol"] == "IBM"
    assert [dict(request)["apikey"] for request in mock_api.requests] == [OTHER_KEY, OTHER_KEY]


def test_a_catalog_published_after_the_snapshot_is_read(aws: None, make: Callable[..., LambdaHandler]) -> None:
    publish(CONTENT, PLACE)
    gateway = make(TOOLFOLD_CATALOG=PLACE, TOOLFOLD_CATALOG_MAX_AGE_S="86400")
    snapstart.prepare(gateway.app)
    publish(CHANGED, PLACE)
    assert "Shares, options," not in listed(gateway)  # it is young
    snapstart.before_snapshot(gateway.app)
    snapstart.after_restore(gateway.app)
    assert "Shares, options," in listed(gateway)


def test_cached_responses_are_dropped_by_a_restore(
    make: Callable[..., LambdaHandler], mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    gateway = make()
    mock_api.clear_requests()
    arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}

    def cached() -> bool:
        return bool(gateway.server.tools.call("TOOL_CALL", arguments).structured["cached"])

    assert [cached(), cached()] == [False, True]
    snapstart.after_restore(gateway.app)
    assert [cached(), cached()] == [False, True]
    assert len(mock_api.requests) == 2


def test_a_catalog_that_cannot_be_read_during_the_warm_up_is_opened_later(
    aws: None, make: Callable[..., LambdaHandler], caplog: pytest.LogCaptureFixture
) -> None:
    bucket, _, prefix = PLACE.removeprefix("s3://").partition("/")
    boto3.client("s3").put_object(Bucket=bucket, Key=f"{prefix}/current.json", Body=b"damaged")
    gateway = make(TOOLFOLD_CATALOG=PLACE)
    snapstart.prepare(gateway.app)
    assert "Preparing this environment for requests failed: CatalogUnavailable" in caplog.messages
    publish(CONTENT, PLACE)
    assert "Stocks, options," in listed(gateway)


def test_the_warm_up_calls_no_upstream_and_logs_no_request(
    make: Callable[..., LambdaHandler],
    mock_api: MockApi,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    mock_api.clear_requests()
    caplog.set_level(logging.INFO, "toolfold")
    snapstart.prepare(make().app)
    assert mock_api.requests == []
    assert caplog.messages == []


def test_a_hook_runs_every_step_even_when_one_fails(
    make: Callable[..., LambdaHandler], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise OSError("canary")

    app = make().app
    monkeypatch.setattr(type(app), "reset", fails)
    gc.unfreeze()
    snapstart.before_snapshot(app)
    assert gc.get_freeze_count() > 0
    random.seed(1)
    expected = random.Random(1).random()
    snapstart.after_restore(app)
    assert random.random() != expected
    assert caplog.messages == ["Preparing this environment for requests failed: OSError"] * 2


PROGRAM = """
import json, os, sys
from tests.support import snapshot_copies
from tests.support.lambda_handler import CONTEXT, load_gateway
sys.modules["snapshot_restore_py"] = snapshot_copies.runtimes_hooks()
app = load_gateway()
for hook in ("before", "after"):
    snapshot_copies.HOOKS.get(hook, lambda: None)()
before = set(sys.modules)
for body in json.load(sys.stdin):
    event = json.load(open("events/tool-call.json")) | {"body": json.dumps(body)}
    if "ALPHA_VANTAGE_API_KEY" in os.environ:
        del event["headers"]["authorization"]
    answer = json.loads(app.handler(event, CONTEXT)["body"])
    assert not answer["result"]["isError"], answer
print(json.dumps({"told": sorted(set(sys.modules) - before)}))
"""

REQUESTS = [
    ("TOOL_LIST", {"query": "stock price"}),
    ("TOOL_GET", {"tool_name": "TIME_SERIES_DAILY"}),
    ("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}),
    ("TOOL_CALL", {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "max_tokens": 500}),
    ("TOOL_CALL", {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "last 3"}),
]


def imported_by_requests(environment: dict[str, str]) -> list[str]:
    """Return the modules that requests import in an environment that was warmed up."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(["layers/core", "."]),
        "TOOLFOLD_CATALOG": PLACE,
        "TOOLFOLD_CACHE": "dynamodb://snapshots",
        "TOOLFOLD_CACHE_TIMEOUT_S": "30",
        "TOOLFOLD_OFFLOAD": "s3://snapshots/offload",
        **environment,
    }
    bodies = [mcp_requests.message("tools/call", {"name": name, "arguments": sent}) for name, sent in REQUESTS]
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, input=json.dumps(bodies), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stdout
    [modules] = told(done.stdout.splitlines())
    return list(modules)


def test_requests_after_a_restore_import_nothing(aws: None, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(CONTENT, PLACE)
    ssm: Any = boto3.client("ssm")
    ssm.put_parameter(Name="/toolfold/restored", Value=KEY, Type="SecureString", Overwrite=True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    keys = {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T", "Expiration": "2999-01-01T00:00:00Z"}
    with Upstream((200, {}, json.dumps(keys).encode())) as container:
        environment = {
            "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": container.url,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "token",
            "ALPHA_VANTAGE_API_KEY": "ssm:/toolfold/restored",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "TOOLFOLD_SECRET_TIMEOUT_S": "30",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        }
        assert imported_by_requests(environment) == []
        # Once for the catalog at the warm-up, and once after the restore: nothing else reads credentials.
        assert len(container.requests) == 2
