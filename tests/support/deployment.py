"""The stack of template.yaml on this machine: moto makes its resources, its function runs as processes.

Names, keys of the table and environment variables are those of the stack. The function reaches AWS through a proxy,
which records what it sends and can make it fail; the clients of this class reach it directly.

    with Deployment() as deployment, deployment.runtime() as runtime:
        answer = runtime.invoke(event("TOOL_LIST"))
"""

import json
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

from tests.support.aws_services import client, serving
from tests.support.built_function import LOCAL_BUILD, load_built_function
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.mcp_requests import message
from tests.support.proxies import FaultyProxy
from tests.support.sam_template import PACKAGED, REGION, TEMPLATE, load, translate
from toolfold.mock_api.server import MockApi

KEY = "CANARYKEY0123456"
"""The API key of callers."""

CALLER = "arn:aws:iam::123456789012:user/caller"
"""Who signs the requests."""

_NOT_IN_MOTO = (
    "AWS::ApiGatewayV2::",
    "AWS::Lambda::Alias",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::S3::BucketPolicy",
    "AWS::SecretsManager::Secret",
)
"""Types that moto's CloudFormation does not make, or without their ARN. Here a parameter has what a reference to one of
them would be; outputs are left out."""

_EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
"""The code in moto, which does not run it."""


class Deployment:
    """A stack on this machine, until the end of a ``with`` statement.

    Args:
        keys: Source ID → key of the deployment, for a secret that the stack names as its ``SourceKeys``.
        parameters: Other parameters of the template.

    Attributes:
        proxy: What the function reaches AWS through.
        mock_api: The upstream.
        s3, dynamodb: Clients of boto3 that bypass the proxy.
        resources: Logical ID → physical ID.
        environment: The variables of the function.
    """

    def __init__(self, keys: Mapping[str, str] | None = None, **parameters: str) -> None:
        self._keys, self.parameters = keys, dict(parameters)
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        self.endpoint = self._exit.enter_context(serving())
        self.reset()  # moto's state is that of this process, and may be left over
        self.proxy = self._exit.enter_context(FaultyProxy(self.endpoint))
        self.mock_api = self._exit.enter_context(MockApi())
        self.s3, self.dynamodb = client("s3", self.endpoint), client("dynamodb", self.endpoint)
        self._create_secret()
        self._create_stack()
        return self

    def __exit__(self, *_: object) -> None:
        self.reset()
        self._exit.close()

    @property
    def catalog_location(self) -> str:
        """Where the catalog is published: ``s3://bucket/prefix``."""
        return self.environment["TOOLFOLD_CATALOG"]

    @property
    def catalog_bucket(self) -> str:
        return self.resources["CatalogBucket"]

    @property
    def results_bucket(self) -> str:
        """The bucket of large cache entries and of long results."""
        return self.resources["OffloadBucket"]

    def _create_stack(self) -> None:
        cloudformation, template = client("cloudformation", self.endpoint), translate(load(TEMPLATE), self.parameters)
        del template["Outputs"]
        for name, resource in list(template["Resources"].items()):
            if resource["Type"].startswith(_NOT_IN_MOTO):
                del template["Resources"][name]
                template["Parameters"][name] = {"Type": "String", "Default": name}
        self.s3.create_bucket(Bucket=PACKAGED.split("/")[2])
        self.s3.put_object(Bucket=PACKAGED.split("/")[2], Key=PACKAGED.split("/")[3], Body=_EMPTY_ZIP)
        given = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()]
        cloudformation.create_stack(StackName="toolfold", TemplateBody=json.dumps(template), Parameters=given)
        found = cloudformation.list_stack_resources(StackName="toolfold")["StackResourceSummaries"]
        self.resources: dict[str, str] = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}
        function = client("lambda", self.endpoint).get_function_configuration(
            FunctionName=self.resources["GatewayFunction"]
        )
        self.environment: dict[str, str] = function["Environment"]["Variables"]

    def _create_secret(self) -> None:
        if self._keys is not None:
            create_secret = client("secretsmanager", self.endpoint).create_secret
            self.parameters["SourceKeys"] = create_secret(Name="keys", SecretString=json.dumps(self._keys))["ARN"]

    def rotate_keys(self, keys: Mapping[str, str]) -> None:
        """Replace the keys of the deployment."""
        client("secretsmanager", self.endpoint).put_secret_value(SecretId="keys", SecretString=json.dumps(keys))

    def reset(self) -> None:
        """Delete everything in moto."""
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/moto-api/reset", b"", method="POST")).close()

    def runtime(self, **variables: str) -> LambdaRuntime:
        """Return an execution environment of the built function, with the variables of the stack."""
        here = {
            "AWS_ENDPOINT_URL": self.proxy.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.mock_api.url,
            # moto is in Python and the machine is busy: a time-out is no fault here.
            "TOOLFOLD_CACHE_TIMEOUT_S": "30",
            "TOOLFOLD_S3_TIMEOUT_S": "30",
            "TOOLFOLD_SECRET_TIMEOUT_S": "30",
        }
        return load_built_function(LOCAL_BUILD).runtime(self.environment | here | variables)


def event(name: str, arguments: dict[str, Any] | None = None, key: str = KEY) -> dict[str, Any]:
    """Return the event of a signed call of a meta-tool; without ``key`` the request carries none."""
    from tests.support.http_api import Request, event_for

    headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
    if key:
        headers.append(("x-api-key", key))
    body = json.dumps(message("tools/call", {"name": name, "arguments": arguments or {}})).encode()
    found = event_for(Request("POST", "/mcp", headers, body))
    found["requestContext"]["authorizer"] = {"iam": {"userArn": CALLER}}
    return found


def ask(runtime: LambdaRuntime, name: str, arguments: dict[str, Any] | None = None, key: str = KEY) -> dict[str, Any]:
    """Return the structured content of a call of a meta-tool."""
    answer = runtime.invoke(event(name, arguments, key))
    return dict(json.loads(answer["body"])["result"]["structuredContent"])


def call_tool(runtime: LambdaRuntime, tool: str, key: str = KEY, **arguments: Any) -> dict[str, Any]:
    """Return the structured content of ``TOOL_CALL``; ``max_tokens`` and the like are passed beside the arguments."""
    own: dict[str, Any] = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
    return ask(runtime, "TOOL_CALL", {"tool_name": tool, "arguments": arguments, **own}, key)


def code_of(answer: dict[str, Any]) -> str:
    """Return the code of an error, or ``OK``."""
    return str(answer["error"]["code"]) if "error" in answer else "OK"
