"""The role of the template allows what the function needs, and nothing else.

moto enforces IAM here: actions and, for S3, resources. Only tests/infrastructure checks conditions, and that the role
names no other table.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import built_function
from tests.support.built_function import LOCAL_BUILD, NEEDS_BUILD, ROOT

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

BUCKET, PREFIX, OFFLOAD, TABLE = "toolfold-catalog", "catalog", "toolfold-offload", "toolfold-answers"
GROUP = "arn:aws:logs:eu-central-1:123456789012:log-group:gateway:*"


@pytest.fixture
def aws() -> Iterator[str]:
    """Address of an imitation of AWS that lets everything pass until :func:`enforce` is called."""
    from tests.support import aws_services  # a second to import: not when these tests are skipped

    with aws_services.serving() as url:
        yield url
        control(url, "reset-auth", b"inf")
        control(url, "reset", b"")


def control(aws: str, what: str, body: bytes) -> None:
    plain = {"content-type": "text/plain"}  # urllib's own choice, a form, would be parsed and its text lost
    urllib.request.urlopen(urllib.request.Request(f"{aws}/moto-api/{what}", body, plain, method="POST")).close()


def client(aws: str, service: str, **credentials: str) -> Any:
    import boto3

    known = {"aws_access_key_id": "t", "aws_secret_access_key": "t"} | credentials
    return boto3.client(service, endpoint_url=aws, region_name="us-east-1", **known)


def resolved(value: Any) -> Any:
    """A policy of the translated template, with what it refers to filled in."""
    if isinstance(value, list):
        return [resolved(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Sub" in value:
        return (
            value["Fn::Sub"]
            .replace("${CatalogBucket.Arn}", f"arn:aws:s3:::{BUCKET}")
            .replace("${CatalogPrefix}", PREFIX)
            .replace("${OffloadBucket.Arn}", f"arn:aws:s3:::{OFFLOAD}")
        )
    if "Fn::GetAtt" in value:
        arns = {"CatalogBucket": f"arn:aws:s3:::{BUCKET}", "GatewayLogGroup": GROUP, "CacheTable": "*"}
        return arns[value["Fn::GetAtt"][0]]
    return {key: resolved(inner) for key, inner in value.items()}


def credentials_of_the_role(aws: str) -> dict[str, str]:
    """Temporary credentials of a role with the policies of the template, as boto3's arguments."""
    from tests.support import sam_template

    role = sam_template.translate(sam_template.load(ROOT / "template.yaml"))["Resources"]["GatewayRole"]["Properties"]
    iam = client(aws, "iam")
    trust = json.dumps(role["AssumeRolePolicyDocument"])
    arn = iam.create_role(RoleName="gateway", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    for policy in role["Policies"]:
        if "Fn::If" in policy:  # of an option
            continue
        document = json.dumps(resolved(policy["PolicyDocument"]))
        iam.put_role_policy(RoleName="gateway", PolicyName=policy["PolicyName"], PolicyDocument=document)
    temporary = client(aws, "sts").assume_role(RoleArn=arn, RoleSessionName="function")["Credentials"]
    return {
        "aws_access_key_id": temporary["AccessKeyId"],
        "aws_secret_access_key": temporary["SecretAccessKey"],
        "aws_session_token": temporary["SessionToken"],
    }


def test_the_role_can_only_read_the_catalog(aws: str) -> None:
    from botocore.exceptions import ClientError

    from toolfold.build.publisher import publish

    s3 = client(aws, "s3")
    s3.create_bucket(Bucket=BUCKET)
    publish((ROOT / "catalog/catalog.json").read_bytes(), f"s3://{BUCKET}/{PREFIX}", s3)
    s3.put_object(Bucket=BUCKET, Key="elsewhere/private.json", Body=b"{}")
    credentials = credentials_of_the_role(aws)
    control(aws, "reset-auth", b"0")  # from here on, every request is checked

    variables = {name.upper(): value for name, value in credentials.items()}
    place = {"TOOLFOLD_CATALOG": f"s3://{BUCKET}/{PREFIX}", "AWS_ENDPOINT_URL": aws}
    with built_function.load_built_function(LOCAL_BUILD).runtime({**variables, **place}) as runtime:
        answer = runtime.invoke(json.loads((ROOT / "events/tool-list.json").read_text()))
    assert json.loads(answer["body"])["result"]["structuredContent"]["total"] > 100

    function = client(aws, "s3", **credentials)
    refused = {
        "another prefix": lambda: function.get_object(Bucket=BUCKET, Key="elsewhere/private.json"),
        "writing": lambda: function.put_object(Bucket=BUCKET, Key=f"{PREFIX}/current.json", Body=b"{}"),
        "deleting": lambda: function.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/current.json"),
        "other buckets": function.list_buckets,
    }
    for what, attempt in refused.items():
        with pytest.raises(ClientError, match="AccessDenied") as caught:
            attempt()
        assert caught.value.response["Error"]["Code"] == "AccessDenied", what


def test_the_role_can_only_use_its_table_and_prefixes(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.exceptions import ClientError

    from toolfold.aws.clients import AwsClients
    from toolfold.cache.dynamodb import DynamoDBStore

    dynamodb, s3 = client(aws, "dynamodb"), client(aws, "s3")
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    s3.create_bucket(Bucket=OFFLOAD)
    s3.put_object(Bucket=OFFLOAD, Key="elsewhere/a", Body=b"")
    credentials = credentials_of_the_role(aws)
    for name, value in {**credentials, "aws_endpoint_url": aws, "aws_default_region": "us-east-1"}.items():
        monkeypatch.setenv(name.upper(), value)
    control(aws, "reset-auth", b"0")  # from here on, every request is checked

    table = DynamoDBStore(AwsClients(), TABLE, f"s3://{OFFLOAD}/cache", 5.0)
    for size in (10, 500_000):
        table.put(f"entry {size}", bytes(size), 1000.0, 2000.0)
        assert table.get(f"entry {size}") == bytes(size)
    assert table.get("absent") is None
    assert table.increment("used", 2000.0) == 1
    assert table.acquire_slot("turn", 1000.0, 1001.0) == 0

    bucket, function = client(aws, "s3", **credentials), client(aws, "dynamodb", **credentials)
    bucket.put_object(Bucket=OFFLOAD, Key="offload/answer.json", Body=b"{}")
    refused = {
        "reading all": lambda: function.scan(TableName=TABLE),
        "deleting": lambda: function.delete_item(TableName=TABLE, Key={"pk": {"S": "a"}}),
        "another prefix": lambda: bucket.get_object(Bucket=OFFLOAD, Key="elsewhere/a"),
        "listing": lambda: bucket.list_objects_v2(Bucket=OFFLOAD),
    }
    for what, attempt in refused.items():
        with pytest.raises(ClientError) as caught:
            attempt()
        assert caught.value.response["Error"]["Code"] in ("AccessDenied", "403"), what
