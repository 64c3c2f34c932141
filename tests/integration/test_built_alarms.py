"""Each fault of the table in docs/how-to/operate.md raises exactly its alarms, and an ordinary day raises none.

The built function runs against services that fail; the alarms are those of the translated template, evaluated over what
the function logs and what the platform counts.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.built_function import LOCAL_BUILD, NEEDS_BUILD, ROOT, load_built_function
from tests.support.deployment import Deployment, event
from tests.support.faulty_proxy import Fault
from tests.support.platform import Platform
from toolfold.build.publisher import publish

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

CATALOG = (ROOT / "catalog/catalog.json").read_bytes()
ISSUER, PUBLIC_URL = "https://127.0.0.1:9", "https://mcp.example.com/mcp"
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
AT_ONCE = {"TOOLFOLD_CACHE_COOLDOWN_S": "0.001", "TOOLFOLD_CATALOG_MAX_AGE_S": "0.001"}
"""One environment that notices each failure stands for several."""

DENIED = Fault(status=403, body=b"<Error><Code>AccessDenied</Code></Error>")


def refused(code: str) -> Fault:
    return Fault(status=400, body=b'{"__type": "%s"}' % code.encode())


@dataclass(frozen=True)
class Scenario:
    """A fault.

    Attributes:
        act: Causes it.
        secret, secret_field: Content of the secret with the key of the deployment, and the field to read.
        parameters: Parameters of the template.
        concurrency: How many requests the function may answer at once.
        periods: How many periods of five minutes it lasts.
    """

    act: Callable[[Platform], None]
    secret: str = ""
    secret_field: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    concurrency: int = 0
    periods: int = 1


def fail_to_list(platform: Platform, **variables: str) -> None:
    runtime = platform.start(**AT_ONCE, **variables)
    for _ in range(6):
        assert platform.ask(runtime, "TOOL_LIST", {}) == "CATALOG_UNAVAILABLE"


def deny_catalog(platform: Platform) -> None:
    platform.deployment.proxy.faults[f" /{platform.deployment.catalog_bucket}"] = DENIED
    fail_to_list(platform)


def damage_pointer(platform: Platform) -> None:
    platform.deployment.s3.put_object(
        Bucket=platform.deployment.catalog_bucket, Key="catalog/current.json", Body=b'{"sha256":'
    )
    fail_to_list(platform)


def misspell_bucket(platform: Platform) -> None:
    fail_to_list(platform, TOOLFOLD_CATALOG="s3://toolfold-catalogs-misspelt/catalog")


def name_other_host(platform: Platform) -> None:
    # Of the same length, so that the catalog stays in order but for the host.
    content = CATALOG.replace(
        b'"base_url":"https://www.alphavantage.co/', b'"base_url":"https://www.alphavantage.io/', 1
    )
    assert content != CATALOG
    publish(content, platform.deployment.catalog_location, platform.deployment.s3)
    fail_to_list(platform, TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL="")


def lose_s3(platform: Platform) -> None:
    runtimes = [platform.start(**AT_ONCE) for _ in range(3)]
    for runtime in runtimes:
        assert platform.ask(runtime, "TOOL_LIST", {}) == "OK"
    platform.deployment.proxy.faults[f" /{platform.deployment.catalog_bucket}"] = Fault(status=403)
    for runtime in runtimes:
        assert platform.ask(runtime, "TOOL_LIST", {}) == "OK"


def call_without_key(platform: Platform) -> None:
    """Call with the deployment's key, which cannot be read; a caller's own key works."""
    runtime = platform.start()
    for _ in range(6):
        assert platform.call(runtime, "GLOBAL_QUOTE", key="", symbol="IBM") == "AUTH_REQUIRED"
    assert platform.call(runtime, "GLOBAL_QUOTE", symbol="IBM") == "OK"


def delete_secret(platform: Platform) -> None:
    platform.deployment.client("secretsmanager").delete_secret(SecretId="keys/alpha", ForceDeleteWithoutRecovery=True)
    call_without_key(platform)


def deny_secret(platform: Platform) -> None:
    platform.deployment.proxy.faults["secretsmanager"] = refused("AccessDeniedException")
    call_without_key(platform)


def call_without_cache(platform: Platform) -> None:
    runtime = platform.start(**AT_ONCE)
    for tool in ("CPI", "WTI", "COPPER", "BRENT"):
        assert platform.call(runtime, tool, select="last 1") == "OK"


def delete_table(platform: Platform) -> None:
    platform.deployment.dynamodb.delete_table(TableName=platform.deployment.table)
    call_without_cache(platform)


def lose_issuer(platform: Platform) -> None:
    runtime = platform.start()
    asked = event("TOOL_LIST", key="")
    asked["headers"]["authorization"] = f"Bearer {unverified_token()}"
    for _ in range(6):
        assert platform.request(runtime, asked)["statusCode"] == 503


def unverified_token() -> str:
    """Return a token whose signature only the keys of the issuer could refute."""
    claims = {"iss": ISSUER, "aud": PUBLIC_URL, "sub": "a", "exp": 4_000_000_000, "iat": 1_700_000_000}
    parts = ({"alg": "RS256", "kid": "1", "typ": "at+jwt"}, claims, "signature")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


def reshape_table(platform: Platform) -> None:
    platform.deployment.dynamodb.delete_table(TableName=platform.deployment.table)
    platform.deployment.dynamodb.create_table(
        TableName=platform.deployment.table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )
    call_without_cache(platform)


def fail_dynamodb(text: str, fault: Fault) -> Callable[[Platform], None]:
    def act(platform: Platform) -> None:
        platform.deployment.proxy.faults[text] = fault
        call_without_cache(platform)

    return act


def throttle(operation: str) -> Callable[[Platform], None]:
    def act(platform: Platform) -> None:
        platform.deployment.proxy.faults[operation] = refused("ProvisionedThroughputExceededException")
        runtime = platform.start(**AT_ONCE)
        for symbol in ("AAPL", "AMZN", "GOOGL", "IBM", "META", "MSFT", "NFLX", "NVDA", "ORCL", "TSLA"):
            assert platform.call(runtime, "GLOBAL_QUOTE", symbol=symbol) == "OK"

    return act


def deny_results(platform: Platform) -> None:
    platform.deployment.proxy.faults["/offload/"] = DENIED
    runtime = platform.start()
    for _ in range(3):
        assert platform.call(runtime, "TIME_SERIES_DAILY", symbol="IBM", outputsize="full", max_tokens=500) == "OK"


def reject_key(platform: Platform) -> None:
    runtime = platform.start()
    for _ in range(50):
        assert platform.call(runtime, "CPI", key="fault-invalid-api-key") == "AUTH_REJECTED"


def call_in_a_loop(platform: Platform) -> None:
    runtime = platform.start()
    for _ in range(100):
        assert platform.call(runtime, "CPI", key="fault-daily-quota") == "RATE_LIMITED"


def use_up_quota(platform: Platform) -> None:
    runtime = platform.start(TOOLFOLD_REQUESTS_PER_DAY="5")
    for tool in ("CPI", "WTI", "COPPER", "BRENT"):
        assert platform.call(runtime, tool, key="", select="last 1") == "OK"


def stop_upstream(platform: Platform) -> None:
    runtime = platform.start(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL="http://127.0.0.1:9/query", TOOLFOLD_RETRIES="0")
    for _ in range(20):
        assert platform.call(runtime, "CPI") == "UPSTREAM_ERROR"


def slow_upstream(platform: Platform) -> None:
    runtime = platform.start()
    assert platform.call(runtime, "TIME_SERIES_DAILY", symbol="FAULT.SLOW.20") == "NO_DATA"


def set_wrongly(platform: Platform) -> None:
    runtime = platform.start(TOOLFOLD_TIMEOUT_S="soon")
    assert platform.ask(runtime, "TOOL_LIST", {}) == "500"
    assert [line for line in runtime.log if "TOOLFOLD_TIMEOUT_S" in line], "the last line of the log names it"


def end_process(platform: Platform) -> None:
    runtime = platform.start()
    assert platform.ask(runtime, "TOOL_LIST", {}) == "OK"
    stopping = threading.Timer(0.3, os.kill, (runtime.pid, signal.SIGKILL))
    stopping.start()
    assert platform.call(runtime, "TIME_SERIES_DAILY", symbol="FAULT.SLOW.5") == "500"
    assert platform.ask(runtime, "TOOL_LIST", {}) == "OK"


def exceed_concurrency(platform: Platform) -> None:
    runtime = platform.start()
    outcomes: list[str] = []
    calls = [
        threading.Thread(
            target=lambda: outcomes.append(platform.call(runtime, "TIME_SERIES_DAILY", symbol="FAULT.SLOW.2"))
        )
        for _ in range(3)
    ]
    for one in calls:
        one.start()
    for one in calls:
        one.join()
    assert sorted(outcomes) == ["503", "503", "NO_DATA"]


def cause_defect(platform: Platform) -> None:
    """A function whose executor raises what no code of toolfold expects."""
    built = load_built_function(LOCAL_BUILD)
    folder = platform.folder / "broken"
    shutil.copytree(built.function, folder)
    (folder / "broken.py").write_text(
        "import app\n"
        "def fail(*args, **more):\n"
        "    return 1 / 0\n"
        "app.gateway.app.executor.call = fail\n"
        "handler = app.handler\n"
    )
    broken = replace(built, function=folder, handler="broken.handler")
    runtime = platform.add(broken.runtime(platform.deployment.variables()))
    for _ in range(20):
        assert platform.call(runtime, "CPI") == "INTERNAL_ERROR"


def send_other_events(platform: Platform) -> None:
    runtime = platform.start()
    for _ in range(5):
        runtime.invoke({"Records": [{"eventSource": "aws:sqs", "body": "{}"}]})


def search_in_vain(platform: Platform) -> None:
    runtime = platform.start()
    for number in range(20):
        assert platform.ask(runtime, "TOOL_LIST", {"query": f"zzzzqqqq{number} xxyyzz"}) == "OK"


OPERATOR = {"secret": "OPERATORKEY00001"}
SCENARIOS: dict[str, Scenario] = {
    "access to the catalog denied": Scenario(deny_catalog),
    "the pointer of the catalog damaged": Scenario(damage_pointer),
    "the bucket of the catalog misspelt": Scenario(misspell_bucket),
    "a catalog that names a host that is not allowed": Scenario(name_other_host),
    "S3 lost while a catalog is loaded": Scenario(lose_s3),
    "the secret absent": Scenario(delete_secret, **OPERATOR),
    "the secret without the field": Scenario(call_without_key, secret='{"other": "x"}', secret_field="key"),
    "the secret empty": Scenario(call_without_key, secret=" "),
    "access to the secret denied": Scenario(deny_secret, **OPERATOR),
    "the table absent": Scenario(delete_table),
    "the table absent, with limits per caller": Scenario(delete_table, parameters={"CallsPerMinute": "600"}),
    "the table of another shape": Scenario(reshape_table),
    "access to the table denied": Scenario(fail_dynamodb("DynamoDB", refused("AccessDeniedException"))),
    "DynamoDB down": Scenario(fail_dynamodb("DynamoDB", Fault(status=500, body=b"{}"))),
    "DynamoDB throttles reads": Scenario(throttle("GetItem")),
    "DynamoDB throttles writes": Scenario(throttle("PutItem")),
    "access to the results bucket denied": Scenario(deny_results),
    "the upstream rejects the key": Scenario(reject_key),
    "a client in a loop exceeds the limits of its key": Scenario(call_in_a_loop),
    "the quota of the deployment's key nearly used up": Scenario(use_up_quota, **OPERATOR),
    "the upstream down": Scenario(stop_upstream, periods=2),
    "the upstream slow": Scenario(slow_upstream, periods=2),
    "the issuer of access tokens down": Scenario(
        lose_issuer, parameters={"OAuthIssuer": ISSUER, "PublicUrl": PUBLIC_URL}
    ),
    "a wrong setting": Scenario(set_wrongly),
    "the process of the function ended": Scenario(end_process),
    "more requests at once than `ReservedConcurrency`": Scenario(exceed_concurrency, concurrency=1),
    "a defect in toolfold": Scenario(cause_defect, periods=2),
    "events of another service": Scenario(send_other_events),
    "searches for what the catalog lacks": Scenario(search_in_vain),
}


def documented() -> dict[str, set[str]]:
    """Return fault → alarms, as docs/how-to/operate.md says."""
    page = (ROOT / "docs/how-to/operate.md").read_text(encoding="utf-8")
    table = page.partition("| fault | alarms |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines()]
    return {fault.strip(): set(re.findall(r"`(\w+)`", alarms)) for fault, alarms in rows}


def recorded(scenario: Scenario, folder: Path) -> tuple[set[str], list[dict[str, Any]]]:
    """Return the alarms that a scenario raises, and its log."""
    parameters = {"AlarmTopicArn": TOPIC, "AnyoneMayUseTheKey": "true", **scenario.parameters}
    with Deployment(scenario.secret, scenario.secret_field, **parameters) as deployment:
        publish(CATALOG, deployment.catalog_location, deployment.s3)
        with Platform(deployment, scenario.concurrency, folder) as platform:
            scenario.act(platform)
            return platform.alarms(scenario.periods), platform.lines()


def test_every_fault_of_the_table_has_a_scenario() -> None:
    assert set(SCENARIOS) == set(documented())


@pytest.mark.parametrize("fault", SCENARIOS)
def test_a_fault_raises_exactly_its_alarms(fault: str, tmp_path: Path) -> None:
    alarms, lines = recorded(SCENARIOS[fault], tmp_path)
    assert alarms == documented()[fault], [line for line in lines if line.get("level") in ("WARNING", "ERROR")]


def ordinary_day(platform: Platform) -> None:
    """Searches, calls, mistakes of callers, a retry, and one moment in which each service does not answer."""
    deployment, runtime = platform.deployment, platform.start(**AT_ONCE)
    for _ in range(5):
        assert platform.ask(runtime, "TOOL_LIST", {"query": "price of a share"}) == "OK"
        assert platform.ask(runtime, "TOOL_GET", {"tool_name": "GLOBAL_QUOTE"}) == "OK"
        for symbol in ("AAPL", "IBM", "MSFT", "TSLA"):
            assert platform.call(runtime, "GLOBAL_QUOTE", symbol=symbol) == "OK"
    assert platform.ask(runtime, "TOOL_LIST", {"query": "zzzzqqqq xxyyzz"}) == "OK"
    assert platform.call(runtime, "GLOBAL_QUOT", symbol="IBM") in ("OK", "TOOL_NOT_FOUND")
    assert platform.call(runtime, "GLOBAL_QUOTE") == "INVALID_ARGUMENTS"
    assert platform.call(runtime, "GLOBAL_QUOTE", symbol="NOSUCH1") == "NO_DATA"
    assert platform.call(runtime, "CPI", key="") == "AUTH_REQUIRED"
    assert platform.call(runtime, "CPI", key="fault-invalid-api-key") == "AUTH_REJECTED"
    assert platform.call(runtime, "CPI", key="fault-daily-quota") == "RATE_LIMITED"
    assert platform.call(runtime, "CPI", key="fault-http502") == "UPSTREAM_ERROR"
    for text in ("DynamoDB", "/offload/", f" /{deployment.catalog_bucket}"):
        deployment.proxy.faults = {text: Fault(status=500)}
        assert platform.call(runtime, "TIME_SERIES_DAILY", symbol="IBM", outputsize="full", max_tokens=500) == "OK"
    deployment.proxy.faults = {}
    assert platform.call(runtime, "WTI", select="last 1") == "OK"


def test_an_ordinary_day_raises_no_alarm(tmp_path: Path) -> None:
    alarms, lines = recorded(Scenario(ordinary_day, periods=288), tmp_path)
    assert alarms == set(), [line for line in lines if line.get("level") in ("WARNING", "ERROR")]
