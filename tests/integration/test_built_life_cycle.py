"""The life of a deployment, from before its first publication to the loss of services, with the built package.

One stack on this machine: the built function in AWS's runtime client, moto behind a proxy that can fail, the mock API.
Each step continues where the one before it ended.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT
from tests.support.deployment import Deployment, ask, call_tool, code_of, event
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.proxies import Fault

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

OLD_KEY, NEW_KEY = "OPERATORKEY00001", "OPERATORKEY00002"
CATALOG = ROOT / "catalog/catalog.json"
QUICK = {"TOOLFOLD_CACHE_COOLDOWN_S": "0.2", "TOOLFOLD_CATALOG_MAX_AGE_S": "0.001", "TOOLFOLD_SECRET_TTL_S": "1"}
"""An environment that notices changes at once; what the settings mean in service is tested elsewhere."""
PATIENT = {"TOOLFOLD_CATALOG_MAX_AGE_S": "3600"}
"""An environment that has just read the pointer, and does not read it again during this test."""


def edition(words: bytes) -> bytes:
    """Return a catalog that says ``words`` in the description of its source."""
    content = CATALOG.read_bytes().replace(b"Stocks, options,", b"%s edition: stocks, options," % words, 1)
    assert words + b" edition" in content
    return content


def toolfold(deployment: Deployment, *arguments: str) -> str:
    """Run the command line of an operator against the services, and return what it prints."""
    credentials = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
    environment = {**os.environ, **credentials, "AWS_ENDPOINT_URL": deployment.endpoint}
    command = [sys.executable, "-m", "toolfold", "catalog", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def publish(deployment: Deployment, content: bytes, folder: Path) -> None:
    """Publish ``content`` as an operator does."""
    path = folder / "catalog.json"
    path.write_bytes(content)
    toolfold(deployment, "publish", deployment.catalog_location, "--file", str(path))


def served(runtime: LambdaRuntime) -> str:
    """Return which edition an environment lists: ``first``, ``second``, or ``package`` for that of the package."""
    text = runtime.invoke(event("TOOL_LIST"))["body"]
    return next((words for words in ("first", "second") if f"{words} edition" in text), "package")


def problems(runtime: LambdaRuntime) -> list[str]:
    """Return the messages of warnings and errors in the log."""
    lines = [json.loads(line) for line in runtime.log if line.startswith('{"level"')]
    return [line["message"] for line in lines if line["level"] in ("WARNING", "ERROR")]


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    with Deployment({"alpha_vantage": OLD_KEY}) as deployment:
        yield deployment


def test_the_life_of_a_deployment(deployment: Deployment, tmp_path: Path) -> None:
    with deployment.runtime(**QUICK) as running:
        answer_before_any_publication(deployment, running)
        publish_and_serve(deployment, running, tmp_path)
        with deployment.runtime(**PATIENT) as reader:
            publish_again_while_readers_keep_their_version(deployment, running, reader, tmp_path)
            go_back(deployment, running, reader, tmp_path)
        rotate_the_key(deployment, running)
        lose_dynamodb(deployment, running)
        lose_s3(deployment, running)
        get_both_back(deployment, running)
        assert len(running.init_times_s) == 1, "one process lived through everything"
        assert not [line for line in running.log if "Traceback" in line]
        assert OLD_KEY not in "\n".join(running.log)
        assert NEW_KEY not in "\n".join(running.log)


def answer_before_any_publication(deployment: Deployment, running: LambdaRuntime) -> None:
    assert served(running) == "package"
    assert "result" in call_tool(running, "GLOBAL_QUOTE", key="", symbol="IBM")
    assert problems(running) == ["no catalog has been published; using the one of the package"]
    assert upstream_keys(deployment) == {OLD_KEY}


def publish_and_serve(deployment: Deployment, running: LambdaRuntime, folder: Path) -> None:
    publish(deployment, edition(b"first"), folder)
    assert served(running) == "first"
    with deployment.runtime() as new:
        assert served(new) == "first"
        assert problems(new) == []


def publish_again_while_readers_keep_their_version(
    deployment: Deployment, running: LambdaRuntime, reader: LambdaRuntime, folder: Path
) -> None:
    assert served(reader) == "first"
    publish(deployment, edition(b"second"), folder)
    assert served(reader) == "first"
    assert "result" in call_tool(reader, "GLOBAL_QUOTE", key="", symbol="MSFT")
    assert served(running) == "second"
    objects = deployment.s3.list_objects_v2(Bucket=deployment.catalog_bucket, Prefix="catalog/catalogs/")["Contents"]
    assert len(objects) == 2, "the object of the first edition stays for those who read it"


def go_back(deployment: Deployment, running: LambdaRuntime, reader: LambdaRuntime, folder: Path) -> None:
    publish(deployment, edition(b"first"), folder)
    assert served(running) == "first"
    assert served(reader) == "first"


def rotate_the_key(deployment: Deployment, running: LambdaRuntime) -> None:
    """The upstream refuses the old key from here on, because the mock API refuses keys of this form."""
    deployment.rotate_keys({"alpha_vantage": NEW_KEY})
    deployment.mock_api.clear_requests()
    with deployment.runtime() as new:
        assert "result" in call_tool(new, "CPI", key="", select="last 1")
    assert upstream_keys(deployment) == {NEW_KEY}
    # The running environment reads the secret again when TOOLFOLD_SECRET_TTL_S is over, and then uses no other.
    while OLD_KEY in upstream_keys(deployment) or not upstream_keys(deployment):
        deployment.mock_api.clear_requests()
        assert "result" in call_tool(running, "WTI", key="", select="last 1", fresh=True)
    assert upstream_keys(deployment) == {NEW_KEY}


def lose_dynamodb(deployment: Deployment, running: LambdaRuntime) -> None:
    deployment.proxy.faults["DynamoDB"] = Fault(status=500, body=b"{}")
    before = len(problems(running))
    assert "result" in call_tool(running, "GLOBAL_QUOTE", key="", symbol="NVDA")
    with deployment.runtime(**QUICK) as new:
        assert "result" in call_tool(new, "GLOBAL_QUOTE", key="", symbol="NVDA")
        assert {problem.partition(" (")[0] for problem in problems(new)} == {"Shared cache unavailable"}
    assert {problem.partition(" (")[0] for problem in problems(running)[before:]} == {"Shared cache unavailable"}


def lose_s3(deployment: Deployment, running: LambdaRuntime) -> None:
    """DynamoDB is still lost."""
    for bucket in (deployment.catalog_bucket, deployment.results_bucket):
        deployment.proxy.faults[f" /{bucket}"] = Fault(status=503)
    before = len(problems(running))
    assert served(running) == "first"
    answer = call_tool(running, "TIME_SERIES_DAILY", key="", symbol="IBM", outputsize="full", max_tokens=500)
    assert "url" not in answer["preview"]["full"], "a long answer has no link, but a preview"
    found = problems(running)[before:]
    assert "the catalog in S3 cannot be read; using the last one" in found
    assert [problem for problem in found if problem.startswith("Long response could not be saved")]
    with deployment.runtime(**QUICK, TOOLFOLD_S3_TIMEOUT_S="2") as new:
        assert code_of(ask(new, "TOOL_LIST", {})) == "CATALOG_UNAVAILABLE"


def get_both_back(deployment: Deployment, running: LambdaRuntime) -> None:
    deployment.proxy.faults.clear()
    before = len(deployment.proxy.requests)
    answer = call_tool(running, "TIME_SERIES_DAILY", key="", symbol="MSFT", outputsize="full", max_tokens=500)
    assert "X-Amz-Signature" in answer["preview"]["full"]["url"]
    assert [line for line in deployment.proxy.requests[before:] if "UpdateItem" in line], "the cache is used again"
    deployment.mock_api.clear_requests()
    with deployment.runtime() as new:
        assert served(new) == "first"
        assert call_tool(new, "TIME_SERIES_DAILY", key="", symbol="MSFT", outputsize="full")["cached"]
    assert deployment.mock_api.requests == []


def upstream_keys(deployment: Deployment) -> set[str]:
    """Return the keys that the mock API has received."""
    return {dict(query)["apikey"] for query in deployment.mock_api.requests}
