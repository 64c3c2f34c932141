"""The calls that the built function makes are allowed by its role, and the role allows nothing that it does not call.

The calls are recorded before moto while the function does everything that it can do; the role is the one that moto's
CloudFormation made of the template. tests/infrastructure/test_access.py has its statements with their conditions.
"""

from __future__ import annotations

import random
import urllib.request
from typing import Any

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT
from tests.support.catalogs import publish
from tests.support.deployment import Deployment, ask, call_tool, code_of
from tests.support.recorded_calls import Call, allowed_by, listed, recorded_calls
from tests.support.upstream import Upstream

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

OPERATOR_KEY = "OPERATORKEY00001"
PARAMETER = "arn:aws:ssm:us-east-1:123456789012:parameter/keys"
NOT_OF_THE_FUNCTION = {"WriteLog", "UseKmsKey"}
"""Lambda writes the log, and the services decrypt and encrypt, with the rights of the role."""

Statements = list[dict[str, Any]]


@pytest.fixture(scope="module")
def recordings() -> list[tuple[Statements, set[Call]]]:
    """Statements and calls of a deployment with a secret, and of one with a parameter."""
    return [record_secret(), record_parameter()]


def record_secret() -> tuple[Statements, set[Call]]:
    # Without approvals, which no tool of the built-in catalog needs.
    with Deployment({"alpha_vantage": OPERATOR_KEY}, kms_key=True) as deployment:
        use_gateway(deployment)
        return deployment.statements(), recorded_calls(deployment.proxy.exchanges)


def record_parameter() -> tuple[Statements, set[Call]]:
    with Deployment(SourceKeys=PARAMETER) as deployment:
        value = f'{{"alpha_vantage": "{OPERATOR_KEY}"}}'
        deployment.client("ssm").put_parameter(Name="/keys", Value=value, Type="SecureString")
        with deployment.runtime() as runtime:
            assert "result" in call_tool(runtime, "GLOBAL_QUOTE", key="", symbol="IBM")
        return deployment.statements(), recorded_calls(deployment.proxy.exchanges)


def use_gateway(deployment: Deployment) -> None:
    """Do everything for which the function calls AWS."""
    with deployment.runtime() as runtime:
        assert ask(runtime, "TOOL_LIST")["total"] > 100  # nothing is published: S3 has to report it
    publish((ROOT / "catalog/catalog.json").read_bytes(), deployment.catalog_location, deployment.s3)
    with deployment.runtime() as runtime:
        assert "result" in call_tool(runtime, "GLOBAL_QUOTE", key="", symbol="IBM")
        long = call_tool(runtime, "TIME_SERIES_DAILY", symbol="IBM", outputsize="full", max_tokens=500)
        urllib.request.urlopen(long["preview"]["full"]["url"]).close()  # a link has the rights of its signer
        assert code_of(call_tool(runtime, "CPI", key="fault-daily-quota")) == "RATE_LIMITED"
        assert code_of(call_tool(runtime, "CPI", key="fault-free-burst")) == "RATE_LIMITED"
    with Upstream() as upstream:
        upstream.replies = [(200, {}, incompressible())]
        for _ in range(2):  # the second environment reads what the first has written
            with deployment.runtime(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url) as runtime:
                assert "result" in call_tool(runtime, "WTI", select="last 1")
        assert len(upstream.requests) == 1


def incompressible() -> bytes:
    """Return a table that is too large for an item of DynamoDB."""
    numbers = random.Random(1)
    return b"timestamp,value\n" + b"".join(b"2026-01-01,%a\n" % numbers.random() for _ in range(60_000))


def test_every_call_is_allowed(recordings: list[tuple[Statements, set[Call]]]) -> None:
    for statements, calls in recordings:
        assert len(calls) > 3
        assert sorted(call for call in calls if not allowed_by(statements, call)) == []


def test_no_action_of_a_statement_could_be_left_out(recordings: list[tuple[Statements, set[Call]]]) -> None:
    written = {
        (one["Sid"], action) for statements, _ in recordings for one in statements for action in listed(one["Action"])
    }
    used = {name for statements, calls in recordings for call in calls for name in allowed_by(statements, call)}
    assert {name for name in written - used if name[0] not in NOT_OF_THE_FUNCTION} == set()
