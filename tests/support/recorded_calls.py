"""The calls that a function made to AWS, as IAM decides them: from the requests that a proxy recorded.

A request can need more than its own permission. S3 says that a key is missing only to those who may list the bucket; a
secret with a KMS key of its own is decrypted with the rights of its reader; Lambda writes the log, and puts what failed
into a queue, with the rights of the function's role.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.faulty_proxy import Exchange
from tests.support.iam import Call
from tests.support.stack import ACCOUNT, REGION, Stack

_S3_CONDITIONS = {"if-match": "s3:if-match", "if-none-match": "s3:if-none-match"}
"""Header → condition key."""

_TRANSACTIONS = ("TransactGetItems", "TransactWriteItems")
"""Operations of DynamoDB that need the permissions of what they contain."""

_S3_OBJECT = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}
_S3_BUCKET = {"": "ListBucket", "versions": "ListBucketVersions", "versioning": "GetBucketVersioning"}
"""Subresource of a bucket → the action that reads it."""

_SERVICES = {
    "DynamoDB_20120810": "dynamodb",
    "secretsmanager": "secretsmanager",
    "AmazonSSM": "ssm",
    "TrentService": "kms",
}
"""First part of ``X-Amz-Target`` → prefix of the service's actions."""


def recorded_calls(exchanges: Iterable[Exchange], kms_keys: Mapping[str, str] | None = None) -> list[Call]:
    """Return the calls that the requests need, each once.

    Args:
        exchanges: What a proxy recorded.
        kms_keys: ARN of a secret or parameter → ARN of the KMS key that encrypts it.

    Raises:
        NotImplementedError: A request is of a service or an operation that is not known here.
    """
    found = (call for exchange in exchanges for call in _calls(exchange, kms_keys or {}))
    return list({str(call): call for call in found}.values())


def platform_calls(stack: Stack, function: str) -> list[Call]:
    """Return the calls that Lambda makes with the rights of a function's role."""
    properties = stack.resources[function]["Properties"]
    group = properties["LoggingConfig"]["LogGroup"]
    stream = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}:log-stream:2026/01/01/[1]a"
    calls = [Call("logs:CreateLogStream", stream), Call("logs:PutLogEvents", stream)]
    for configuration in stack.of_type("AWS::Lambda::EventInvokeConfig").values():
        for event in configuration.get("DestinationConfig", {}).values():
            calls.append(_send(event["Destination"]))
    if "DeadLetterConfig" in properties:
        calls.append(_send(properties["DeadLetterConfig"]["TargetArn"]))
    return calls


def _send(arn: str) -> Call:
    return Call("sns:Publish" if ":sns:" in arn else "sqs:SendMessage", arn)


def _calls(exchange: Exchange, kms_keys: Mapping[str, str]) -> Iterator[Call]:
    target = exchange.headers.get("x-amz-target", "")
    if not target:
        yield from _s3_calls(exchange)
        return
    prefix, _, operation = target.partition(".")
    service, body = _SERVICES.get(prefix, ""), json.loads(exchange.body or b"{}")
    if operation in _TRANSACTIONS:
        for item in body["TransactItems"]:
            for name, parameters in item.items():
                action = f"dynamodb:{name}Item"
                yield Call(action, _arn("dynamodb", parameters), _context({"dynamodb:EnclosingOperation": operation}))
        return
    arn = _arn(service, body)
    yield Call(f"{service}:{operation}", arn, _context({}))
    if arn in kms_keys:
        via = f"{service}.{REGION}.amazonaws.com"
        yield Call("kms:Decrypt", kms_keys[arn], _context({"kms:ViaService": via}))


def _arn(service: str, body: Mapping[str, Any]) -> str:
    match service:
        case "dynamodb":
            return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{body['TableName']}"
        case "secretsmanager":
            return str(body["SecretId"])
        case "ssm":
            name = str(body["Name"])
            return name if name.startswith("arn:") else f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{name.lstrip('/')}"
        case "kms":
            return str(body["KeyId"])
    raise NotImplementedError(f"requests of {service or 'an unknown service'}")


def _s3_calls(exchange: Exchange) -> Iterator[Call]:
    url = urlsplit(exchange.path)
    bucket, _, key = unquote(url.path).lstrip("/").partition("/")
    query = parse_qs(url.query, keep_blank_values=True)
    arn = f"arn:aws:s3:::{bucket}"
    context = {name: exchange.headers[header] for header, name in _S3_CONDITIONS.items() if header in exchange.headers}
    if not bucket:
        raise NotImplementedError(f"{exchange.method} {exchange.path}")
    if not key:
        subresource = next((name for name in _S3_BUCKET if name in query), "")
        if "prefix" in query:
            context["s3:prefix"] = query["prefix"][0]
        if exchange.method not in ("GET", "HEAD"):
            raise NotImplementedError(f"{exchange.method} {exchange.path}")
        yield Call(f"s3:{_S3_BUCKET[subresource]}", arn, _context(context))
        return
    version = "Version" if "versionId" in query else ""
    yield Call(f"s3:{_S3_OBJECT[exchange.method]}{version}", f"{arn}/{key}", _context(context))
    if exchange.method in ("GET", "HEAD") and exchange.status == 404:
        # Which prefix S3 compares is not documented: both have to be allowed.
        yield Call("s3:ListBucket", arn, _context({}))
        yield Call("s3:ListBucket", arn, _context({"s3:prefix": key}))


def _context(values: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {key: (value,) for key, value in values.items()} | {"aws:SecureTransport": ("true",)}
