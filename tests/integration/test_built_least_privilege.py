"""The calls that the built functions make are allowed, and nothing else is: no statement of a role could be left out.

The calls are recorded before moto while the functions do everything that they can do; the policies are those of the
translated template, with their conditions (``tests.support.iam``).
"""

from __future__ import annotations

import json
import random
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT
from tests.support.deployment import Deployment, ask, call_tool, code_of
from tests.support.iam import Call, is_allowed
from tests.support.local_server import Handler, LocalServer
from tests.support.recorded_calls import platform_calls, recorded_calls
from tests.support.stack import Stack, translated
from tests.support.upstream import Upstream
from toolfold.build.publisher import publish

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

PARAMETER = "arn:aws:ssm:us-east-1:123456789012:parameter/keys/alpha"
OPEN = {"AnyoneMayUseTheKey": "true"}


@dataclass(frozen=True)
class Recording:
    """What a function did in a deployment: the calls, and the role that has to allow them."""

    stack: Stack
    role: str
    calls: Sequence[Call]

    def refused(self, statements: Sequence[Any]) -> list[str]:
        """Return the calls that ``statements`` and the policies of the buckets do not allow."""
        policies = [*statements, *self.stack.bucket_statements()]
        return [str(call) for call in self.calls if not is_allowed(policies, call)]


def record_gateway_with_secret() -> Recording:
    with Deployment(json.dumps({"key": "OPERATORKEY00001"}), "key", kms_key=True, **OPEN) as deployment:
        use_gateway(deployment)
        parameters = deployment.stack.parameters
        kms_keys = {parameters["AlphaVantageApiKeySecret"].partition("#")[0]: parameters["KeySecretKmsKeyArn"]}
        return recording(deployment, kms_keys)


def record_gateway_with_parameter() -> Recording:
    kms_key = "arn:aws:kms:us-east-1:123456789012:key/1"
    with Deployment(AlphaVantageApiKeySecret=PARAMETER, KeySecretKmsKeyArn=kms_key, **OPEN) as deployment:
        deployment.client("ssm").put_parameter(Name="/keys/alpha", Value="OPERATORKEY00001", Type="SecureString")
        with deployment.runtime() as runtime:
            assert "result" in call_tool(runtime, "GLOBAL_QUOTE", key="", symbol="IBM")
        return recording(deployment, {PARAMETER: kms_key})


def record_publisher() -> Recording:
    """Deploy, deploy again, and run the schedule; the queue is used by Lambda."""
    with Deployment(Publisher="true", PublishSchedule="rate(1 day)") as deployment, Answers(AnswerHandler) as answers:
        with deployment.runtime("PublisherFunction") as runtime:
            for kind in ("Create", "Update"):
                runtime.invoke(
                    {
                        "RequestType": kind,
                        "ResponseURL": f"http://127.0.0.1:{answers.server_port}/",
                        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/toolfold/1",
                        "RequestId": kind,
                        "ResourceType": "Custom::ToolfoldCatalog",
                        "LogicalResourceId": "PublishedCatalog",
                        "PhysicalResourceId": "published-catalog",
                        "ResourceProperties": {},
                    }
                )
            runtime.invoke({"source": "aws.events"})
        assert [status for status in answers.statuses if status != "SUCCESS"] == []
        with deployment.runtime() as gateway:
            assert ask(gateway, "TOOL_LIST")["total"] > 100
            assert not [line for line in gateway.log if "no catalog has been published" in line]
        # The gateway's own requests have no condition headers, and are allowed to both roles.
        calls = recorded_calls(deployment.proxy.exchanges)
        return Recording(
            deployment.stack, "PublisherRole", [*calls, *platform_calls(deployment.stack, "PublisherFunction")]
        )


class Answers(LocalServer):
    """What CloudFormation is answered: a presigned URL of S3."""

    def __init__(self, handler: type[AnswerHandler]) -> None:
        super().__init__(handler)
        self.statuses: list[str] = []


class AnswerHandler(Handler):
    server: Answers

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.statuses.append(body["Status"])
        self.reply(200, {}, b"")


def recording(deployment: Deployment, kms_keys: dict[str, str]) -> Recording:
    calls = recorded_calls(deployment.proxy.exchanges, kms_keys)
    return Recording(deployment.stack, "GatewayRole", [*calls, *platform_calls(deployment.stack, "GatewayFunction")])


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


@pytest.fixture(scope="module")
def recordings() -> list[Recording]:
    return [record_gateway_with_secret(), record_gateway_with_parameter(), record_publisher()]


def test_every_role_of_a_function_is_recorded(recordings: list[Recording]) -> None:
    roles = {
        name
        for name, resource in translated()["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
        and "lambda.amazonaws.com" in json.dumps(resource["Properties"]["AssumeRolePolicyDocument"])
    }
    assert {one.role for one in recordings} == roles


def test_every_call_is_allowed(recordings: list[Recording]) -> None:
    for one in recordings:
        assert len(one.calls) > 3
        assert one.refused(one.stack.statements(one.role)) == []


def test_no_action_of_a_statement_could_be_left_out(recordings: list[Recording]) -> None:
    needed: set[tuple[str, str, str]] = set()
    written: set[tuple[str, str, str]] = set()
    for one in recordings:
        statements = one.stack.statements(one.role)
        for at, statement in enumerate(statements):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            for action in actions:
                name = (one.role, statement["Sid"], action)
                written.add(name)
                rest = {**statement, "Action": [other for other in actions if other != action]}
                if one.refused([*statements[:at], rest, *statements[at + 1 :]]):
                    needed.add(name)
    assert written - needed == set()


def test_every_condition_of_a_statement_matters(recordings: list[Recording]) -> None:
    """Each call with a condition's key at another value is refused, so that the condition does restrict something."""
    for one in recordings:
        for statement in one.stack.statements(one.role):
            for keys in statement.get("Condition", {}).values():
                for key in keys:
                    about = [
                        call for call in one.calls if key in call.context and statement["Resource"] == call.resource
                    ]
                    assert about, (statement["Sid"], key)
                    for call in about:
                        other = Call(call.action, call.resource, {**call.context, key: ("elsewhere",)})
                        assert not is_allowed(one.stack.statements(one.role), other), str(other)


def test_a_call_without_its_permission_is_found(recordings: list[Recording]) -> None:
    """The evaluator would notice a permission that the template has lost."""
    without = [one for one in recordings[0].stack.statements() if one["Sid"] != "DistinguishMissingFromForbidden"]
    assert {call.split()[0] for call in recordings[0].refused(without)} == {"s3:ListBucket"}
