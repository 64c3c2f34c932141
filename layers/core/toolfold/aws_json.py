"""One request to a service of AWS that speaks JSON: DynamoDB, Secrets Manager, Parameter Store.

Each operation is a POST to ``/`` with its name in ``X-Amz-Target``, signed. boto3 does the same, and takes ten times as
long to be ready for the first one.
"""

from __future__ import annotations

import os
import re
import time

from toolfold import aws_credentials
from toolfold.aws_credentials import AwsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import urllib3

_SERVICES = {
    # The name in addresses and signatures: what operations are named for, the version of JSON, the endpoint's variable.
    "dynamodb": ("DynamoDB_20120810", "1.0", "AWS_ENDPOINT_URL_DYNAMODB"),
    "secretsmanager": ("secretsmanager", "1.1", "AWS_ENDPOINT_URL_SECRETS_MANAGER"),
    "ssm": ("AmazonSSM", "1.1", "AWS_ENDPOINT_URL_SSM"),
}
_LONGEST = 16 << 20
"""Bytes of a reply; DynamoDB's longest is 16 MB: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""

_CHUNK = 64 << 10
_CONNECTIONS = 16
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]{2,79}\Z")
_REGION = re.compile(r"[a-z0-9-]{1,63}\Z")

_pools: dict[tuple[str, str], urllib3.PoolManager] = {}
"""Connections kept, by scheme and the proxy that they go through, if any."""


def ask(service: str, operation: str, asked: Mapping[str, Any], timeout_s: float, region: str = "") -> dict[str, Any]:
    """What ``service`` (``dynamodb``, ``secretsmanager``, ``ssm``) answers to ``operation`` with the members ``asked``.

    ``timeout_s`` seconds to connect, and as many for the answer; nothing is repeated. ``region`` where it is not the
    environment's.

    Raises:
        AwsError: it refused, was not reached, was too slow, or answered what is no JSON object.
    """
    import json

    target, version, variable = _SERVICES[service]
    region = region or aws_credentials.region()
    if not _REGION.match(region):
        raise AwsError("InvalidRegionError" if region else "NoRegionError")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    endpoint = os.environ.get(variable) or os.environ.get("AWS_ENDPOINT_URL") or f"https://{service}.{region}.{domain}"
    headers = {"Content-Type": f"application/x-amz-json-{version}", "X-Amz-Target": f"{target}.{operation}"}
    body = json.dumps(asked, separators=(",", ":")).encode()
    status, content = _post(endpoint, headers, body, service, region, timeout_s)
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        reply = None
    if status != 200:
        raise AwsError(_code(reply, status), reply if isinstance(reply, dict) else None)
    if not isinstance(reply, dict):
        raise AwsError("UnreadableReply")
    return reply


def forget() -> None:
    """Close all connections; the next request makes its own."""
    while _pools:
        kept = _pools.popitem()[1].pools
        for key in kept.keys():  # noqa: SIM118 - it cannot be walked itself
            pool = kept.get(key)
            if pool is not None:
                pool.close()  # at once: an error that somebody still holds would keep it from the collector


def _post(
    endpoint: str, headers: dict[str, str], body: bytes, service: str, region: str, timeout_s: float
) -> tuple[int, bytes]:
    from urllib.parse import urlsplit

    import urllib3

    from toolfold import __version__
    from toolfold.aws_signature import sign
    from toolfold.outbound import proxy_for

    try:
        parts = urlsplit(endpoint)
    except ValueError:
        raise AwsError("InvalidEndpointError") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AwsError("InvalidEndpointError")
    path = parts.path or "/"
    headers["Host"] = parts.netloc.rpartition("@")[2]
    signed = sign(headers, body, service, region, aws_credentials.current(), time.time(), path)
    deadline = time.monotonic() + 2 * timeout_s
    try:
        response = _pool(parts.scheme, proxy_for(parts.scheme, headers["Host"])).urlopen(
            "POST",
            f"{parts.scheme}://{headers['Host']}{path}",
            body=body,
            headers={**signed, "User-Agent": f"toolfold/{__version__}"},
            timeout=urllib3.Timeout(connect=timeout_s, read=timeout_s),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            return response.status, _read(response, deadline)
        finally:
            response.close()  # a connection that was read to its end has been given back before
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        # Its text is not passed on: it may quote what was sent.
        raise AwsError(type(error).__name__) from None


def _pool(scheme: str, proxy: str) -> urllib3.PoolManager:
    found = _pools.get((scheme, proxy))
    if found is None:
        found = _pools[scheme, proxy] = _made(proxy, "https" in (scheme, proxy.partition(":")[0]))
    return found


def _made(proxy: str, secure: bool) -> urllib3.PoolManager:
    import urllib3

    from toolfold.outbound import tls

    trusted = tls("AWS_CA_BUNDLE") if secure else None
    if not proxy:
        return urllib3.PoolManager(maxsize=_CONNECTIONS, ssl_context=trusted)
    from urllib.parse import unquote

    login = urllib3.util.parse_url(proxy).auth
    named = urllib3.util.make_headers(proxy_basic_auth=unquote(login)) if login else None
    return urllib3.ProxyManager(
        proxy, maxsize=_CONNECTIONS, ssl_context=trusted, proxy_ssl_context=trusted, proxy_headers=named
    )


def _read(response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    body = bytearray()
    while chunk := response.read1(_CHUNK, decode_content=False):
        body += chunk
        if len(body) > _LONGEST:
            raise AwsError("ReplyTooLarge")
        if time.monotonic() > deadline:  # the socket's own time-out starts anew with every packet
            raise AwsError("ReadTimeoutError")
    return bytes(body)


def _code(reply: Any, status: int) -> str:
    """The service's word for what is wrong, without its namespace; else the HTTP status."""
    named = str((reply.get("__type") or reply.get("code") or "") if isinstance(reply, dict) else "")
    found = named.rpartition("#")[2].partition(":")[0]
    return found if _CODE.match(found) else str(status)
