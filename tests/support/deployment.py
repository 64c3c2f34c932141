"""The stack of template.yaml on this machine: its buckets, its table and its secret in moto, its function as processes.

Everything is made from the translated template: names, keys of the table, environment variables. The functions reach
AWS through a proxy, which records what they send and can make it fail; the clients of this class reach it directly.

    with Deployment(AnyoneMayUseTheKey="true") as deployment, deployment.runtime() as runtime:
        answer = runtime.invoke(event)
"""

from __future__ import annotations

import json
import urllib.request
from contextlib import ExitStack
from typing import Any, Self

from tests.support import stack
from tests.support.aws_services import serving
from tests.support.built_function import LOCAL_BUILD, load_built_function
from tests.support.faulty_proxy import FaultyProxy
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.mcp_requests import message
from toolfold.mock_api.server import MockApi

KEY = "CANARYKEY0123456"
"""The API key of callers."""


class Deployment:
    """A stack on this machine, until the end of a ``with`` statement.

    Args:
        secret: The value of a secret to create, which the stack names as its ``AlphaVantageApiKeySecret``.
        field: The field of the secret that has the key; empty for the whole value.
        kms_key: Whether the secret has a KMS key of its own.
        parameters: Other parameters of the template.

    Attributes:
        stack: Its resources.
        proxy: What the functions reach AWS through.
        mock_api: The upstream.
        s3, dynamodb: Clients of boto3 that bypass the proxy.
    """

    def __init__(self, secret: str = "", field: str = "", *, kms_key: bool = False, **parameters: str) -> None:
        self._secret, self._field, self._kms_key = secret, field, kms_key
        self._parameters = parameters
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        self.endpoint = self._exit.enter_context(serving())
        self.delete()  # moto's state is that of this process, and may be left over
        self.proxy = self._exit.enter_context(FaultyProxy(self.endpoint))
        self.mock_api = self._exit.enter_context(MockApi())
        self.s3, self.dynamodb = self.client("s3"), self.client("dynamodb")
        self.stack = stack.deployed(**{**self._create_secret(), **self._parameters})
        self.create()
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()
        self._exit.close()

    @property
    def catalog_location(self) -> str:
        """Where the catalog is published: ``s3://bucket/prefix``."""
        return self.stack.variables()["TOOLFOLD_CATALOG"]

    @property
    def catalog_bucket(self) -> str:
        """The bucket of the catalog."""
        return self._name("CatalogBucket")

    @property
    def results_bucket(self) -> str:
        """The bucket of large cache entries and of long results."""
        return self._name("OffloadBucket")

    @property
    def table(self) -> str:
        """The table of the cache."""
        return self._name("CacheTable")

    def client(self, service: str) -> Any:
        """Return a client of boto3 that reaches moto directly."""
        import boto3

        known = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=stack.REGION, **known)

    def create(self) -> None:
        """Create the buckets and the tables of the stack."""
        for name, resource in self.stack.resources.items():
            physical, properties = stack.physical_name(name, resource), resource.get("Properties", {})
            if resource["Type"] == "AWS::S3::Bucket":
                self.s3.create_bucket(Bucket=physical)
                if "VersioningConfiguration" in properties:
                    versioning = properties["VersioningConfiguration"]
                    self.s3.put_bucket_versioning(Bucket=physical, VersioningConfiguration=versioning)
            if resource["Type"] == "AWS::DynamoDB::Table":
                keys = {key: properties[key] for key in ("KeySchema", "AttributeDefinitions", "BillingMode")}
                self.dynamodb.create_table(TableName=physical, **keys)

    def _create_secret(self) -> dict[str, str]:
        """Create the secret and its KMS key; return the parameters that name them."""
        if not self._secret:
            return {}
        parameters, own = {"AnyoneMayUseTheKey": "true"}, {}
        if self._kms_key:
            arn = self.client("kms").create_key()["KeyMetadata"]["Arn"]
            parameters["KeySecretKmsKeyArn"] = own["KmsKeyId"] = arn
        arn = self.client("secretsmanager").create_secret(Name="keys/alpha", SecretString=self._secret, **own)["ARN"]
        return {**parameters, "AlphaVantageApiKeySecret": f"{arn}#{self._field}" if self._field else arn}

    def rotate_secret(self, value: str) -> None:
        """Replace the value of the secret."""
        self.client("secretsmanager").put_secret_value(SecretId="keys/alpha", SecretString=value)

    def delete_stack(self) -> list[str]:
        """Delete the stack as CloudFormation does; return the resources that are kept."""
        kept = []
        for name, resource in self.stack.resources.items():
            if resource.get("DeletionPolicy") == "Retain":
                kept.append(name)
            elif resource["Type"] == "AWS::DynamoDB::Table":
                self.dynamodb.delete_table(TableName=stack.physical_name(name, resource))
        return kept

    def delete(self) -> None:
        """Delete everything in moto."""
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/moto-api/reset", b"", method="POST")).close()

    def runtime(self, function: str = "GatewayFunction", **variables: str) -> LambdaRuntime:
        """Return an execution environment of a built function, with the variables that the template sets."""
        return load_built_function(LOCAL_BUILD, function).runtime(self.variables(function, **variables))

    def variables(self, function: str = "GatewayFunction", **others: str) -> dict[str, str]:
        """Return the environment of a function; ``others`` take precedence."""
        own = {name: value for name, value in self.stack.variables(function).items() if value}
        here = {
            "AWS_ENDPOINT_URL": self.proxy.url,
            "AWS_REGION": stack.REGION,
            "AWS_DEFAULT_REGION": stack.REGION,
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.mock_api.url,
            # moto is in Python and the machine is busy: a time-out is no fault here.
            "TOOLFOLD_CACHE_TIMEOUT_S": "10",
            "TOOLFOLD_S3_TIMEOUT_S": "20",
            "TOOLFOLD_SECRET_TIMEOUT_S": "10",
        }
        return own | here | others

    def _name(self, logical: str) -> str:
        return stack.physical_name(logical, self.stack.resources[logical])


def event(name: str, arguments: dict[str, Any] | None = None, key: str = KEY) -> dict[str, Any]:
    """Return the event of a call of a meta-tool; without ``key`` the request carries none."""
    from tests.support.http_api import Request, event_for

    headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
    if key:
        headers.append(("x-api-key", key))
    body = json.dumps(message("tools/call", {"name": name, "arguments": arguments or {}})).encode()
    return event_for(Request("POST", "/mcp", headers, body))


def ask(runtime: LambdaRuntime, name: str, arguments: dict[str, Any] | None = None, key: str = KEY) -> dict[str, Any]:
    """Return the structured content of a call of a meta-tool."""
    answer = runtime.invoke(event(name, arguments, key))
    return dict(json.loads(answer["body"])["result"]["structuredContent"])


def call_tool(runtime: LambdaRuntime, tool: str, key: str = KEY, **arguments: Any) -> dict[str, Any]:
    """Return the structured content of ``TOOL_CALL``; ``max_tokens`` and the like are passed beside the arguments."""
    own = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
    return ask(runtime, "TOOL_CALL", {"tool_name": tool, "arguments": arguments, **own}, key)


def code_of(answer: dict[str, Any]) -> str:
    """Return the code of an error, or ``OK``."""
    return str(answer["error"]["code"]) if "error" in answer else "OK"
