"""The calls that a function made to AWS, as IAM decides them: from the requests that a proxy recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tests.support.faulty_proxy import Exchange
from tests.support.resolved_stack import ACCOUNT
from tests.support.sam_template import REGION


class Call(NamedTuple):
    """A call: ``service:Operation`` and the ARN of what it is about."""

    action: str
    resource: str


_TRANSACTIONS = ("TransactGetItems", "TransactWriteItems")
"""Operations of DynamoDB that need the permissions of what they contain."""

_S3_OBJECT = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}

_SERVICES = {"DynamoDB_20120810": "dynamodb", "secretsmanager": "secretsmanager", "AmazonSSM": "ssm"}
"""First part of ``X-Amz-Target`` → prefix of the service's actions."""


def recorded_calls(exchanges: Iterable[Exchange]) -> set[Call]:
    """Return the calls that the requests need.

    Raises:
        NotImplementedError: A request is of a service or an operation that is not known here.
    """
    return {call for exchange in exchanges for call in _calls(exchange)}


def allowed_by(statements: Iterable[Mapping[str, Any]], call: Call) -> set[tuple[str, str]]:
    """Return Sid and action of the statements that name the action and the resource of the call."""
    return {
        (statement["Sid"], call.action)
        for statement in statements
        if call.action in listed(statement["Action"])
        and any(fnmatchcase(call.resource, pattern) for pattern in listed(statement["Resource"]))
    }


def listed(element: str | Sequence[str]) -> Sequence[str]:
    """Return the values of an element of a statement, which may be one text."""
    return [element] if isinstance(element, str) else element


def _calls(exchange: Exchange) -> Iterator[Call]:
    target = exchange.headers.get("x-amz-target", "")
    if not target:
        yield from _s3_calls(exchange)
        return
    prefix, _, operation = target.partition(".")
    service, body = _SERVICES.get(prefix, ""), json.loads(exchange.body or b"{}")
    if operation in _TRANSACTIONS:
        for item in body["TransactItems"]:
            for name, parameters in item.items():
                yield Call(f"dynamodb:{name}Item", _arn("dynamodb", parameters))
        return
    yield Call(f"{service}:{operation}", _arn(service, body))


def _arn(service: str, body: Mapping[str, Any]) -> str:
    match service:
        case "dynamodb":
            return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{body['TableName']}"
        case "secretsmanager":
            return str(body["SecretId"])
        case "ssm":
            name = str(body["Name"])
            return name if name.startswith("arn:") else f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{name.lstrip('/')}"
    raise NotImplementedError(f"requests of {service or 'an unknown service'}")


def _s3_calls(exchange: Exchange) -> Iterator[Call]:
    bucket, _, key = unquote(urlsplit(exchange.path).path).lstrip("/").partition("/")
    if not (bucket and key):
        raise NotImplementedError(f"{exchange.method} {exchange.path}")
    yield Call(f"s3:{_S3_OBJECT[exchange.method]}", f"arn:aws:s3:::{bucket}/{key}")
    if exchange.method in ("GET", "HEAD") and exchange.status == 404:
        # S3 says that a key is missing only to those who may list the bucket.
        yield Call("s3:ListBucket", f"arn:aws:s3:::{bucket}")
