"""One request to a service of AWS that speaks JSON: DynamoDB, Secrets Manager, Parameter Store.

Each operation is a POST to ``/`` with its name in ``X-Amz-Target``, signed. boto3 does the same, but a first call would
wait for its import.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from toolfold.aws import credentials
from toolfold.aws.credentials import AwsError

_SERVICES = {
    # The name in addresses and signatures: what operations are named for, the version of JSON, the endpoint's variable.
    "dynamodb": ("DynamoDB_20120810", "1.0", "AWS_ENDPOINT_URL_DYNAMODB"),
    "secretsmanager": ("secretsmanager", "1.1", "AWS_ENDPOINT_URL_SECRETS_MANAGER"),
    "ssm": ("AmazonSSM", "1.1", "AWS_ENDPOINT_URL_SSM"),
}
_LONGEST = 16 << 20
"""Bytes of a reply; DynamoDB's longest is 16 MB: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]{2,79}\Z")
_REGION = re.compile(r"[a-z0-9-]{1,63}\Z")


def ask(service: str, operation: str, asked: Mapping[str, Any], timeout_s: float, region: str = "") -> dict[str, Any]:
    """What ``service`` (``dynamodb``, ``secretsmanager``, ``ssm``) answers to ``operation`` with the members ``asked``.

    ``timeout_s`` seconds to connect, and as many for the answer. Nothing is repeated, but that ``Get...`` is sent again
    when a connection that had rested was closed under it. ``region`` where it is not the environment's.

    Raises:
        AwsError: it refused, was not reached, was too slow, or answered what is no JSON object.
    """
    import json

    target, version, variable = _SERVICES[service]
    region = region or credentials.region()
    if not _REGION.match(region):
        raise AwsError("InvalidRegionError" if region else "NoRegionError")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    endpoint = os.environ.get(variable) or os.environ.get("AWS_ENDPOINT_URL") or f"https://{service}.{region}.{domain}"
    headers = {"Content-Type": f"application/x-amz-json-{version}", "X-Amz-Target": f"{target}.{operation}"}
    body = json.dumps(asked, separators=(",", ":")).encode()
    again = operation.startswith("Get")  # all others may write: a counter must not count twice
    status, content = _post(endpoint, headers, body, service, region, timeout_s, again)
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        reply = None
    if status != 200:
        raise AwsError(_code(reply, status), reply if isinstance(reply, dict) else None)
    if not isinstance(reply, dict):
        raise AwsError("UnreadableReply")
    return reply


def _post(
    endpoint: str, headers: dict[str, str], body: bytes, service: str, region: str, timeout_s: float, again: bool
) -> tuple[int, bytes]:
    from urllib.parse import urlsplit

    from toolfold import __version__
    from toolfold.aws.signature import sign
    from toolfold.network.session import TransportError, send

    try:
        parts = urlsplit(endpoint)
    except ValueError:
        raise AwsError("InvalidEndpointError") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AwsError("InvalidEndpointError")
    path = parts.path or "/"
    headers["Host"] = parts.netloc.rpartition("@")[2]
    signed = sign(headers, body, service, region, credentials.current(), time.time(), path)
    try:
        answer = send(
            "POST",
            f"{parts.scheme}://{headers['Host']}{path}",
            {**signed, "User-Agent": f"toolfold/{__version__}"},
            body,
            connect_s=timeout_s,
            answer_s=timeout_s,
            deadline=time.monotonic() + 2 * timeout_s,
            limit=_LONGEST,
            again=again,
            trusted=("AWS_CA_BUNDLE",),
        )
    except TransportError as error:
        raise AwsError(error.code) from None
    return answer.status, bytes(answer.body)


def _code(reply: Any, status: int) -> str:
    """The service's word for what is wrong, without its namespace; else the HTTP status."""
    named = str((reply.get("__type") or reply.get("code") or "") if isinstance(reply, dict) else "")
    found = named.rpartition("#")[2].partition(":")[0]
    return found if _CODE.match(found) else str(status)
