"""Parse Lambda events into MCP requests.

================================  ==============  ====================================================================
event of                          payload format  https://docs.aws.amazon.com/apigateway/latest/developerguide/
================================  ==============  ====================================================================
API Gateway HTTP API              2.0 or 1.0      http-api-develop-integrations-lambda.html
Lambda function URL               2.0             https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
API Gateway REST API              1.0             set-up-lambda-proxy-integrations.html
Application Load Balancer         as 1.0          https://docs.aws.amazon.com/elasticloadbalancing/latest/application/
                                                  lambda-functions.html
================================  ==============  ====================================================================

The path is not checked here: the routes of the API decide what reaches the function, and a stage may precede the path.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from toolfold.execution.credentials import AUTHORIZATION, QUERY, X_API_KEY
from toolfold.protocol.http import ENDPOINT, Headers, Request

__all__ = ["KEY_PARAMETER", "UnknownEvent", "is_for_page", "parse_event", "wants_multiple_values"]

KEY_PARAMETER = "apikey"

_MAX_ADDRESS = 64
"""Characters of an IPv6 address with a zone."""


class UnknownEvent(ValueError):
    """The event has none of the known forms; ``str()`` says what is missing."""


def parse_event(event: Any, allow_key_in_query: bool, deadline: float | None = None) -> Request:
    """Return the request in ``event``.

    Args:
        event: The event, as Lambda passes it.
        allow_key_in_query: Whether to read the API key from the query string.
        deadline: When the response must be ready, by ``time.monotonic``.

    Raises:
        UnknownEvent: The event comes from another service, or is damaged.
    """
    if not isinstance(event, dict):
        raise UnknownEvent("the event is not an object")
    try:
        is_version_2 = event.get("version") == "2.0"
        method = event["requestContext"]["http"]["method"] if is_version_2 else event["httpMethod"]
        key = _query_key(event, is_version_2) if allow_key_in_query else ""
        path = str(event.get("rawPath" if is_version_2 else "path") or "")
        return Request(
            method.upper(),
            _headers(event),
            _body(event),
            query_api_key=key,
            deadline=deadline,
            used_by_gateway=_used_by_gateway(event),
            path=path,
            source_address=_source_address(event, is_version_2),
        )
    except KeyError as error:
        raise UnknownEvent(f"the event has no {error}") from None
    except (TypeError, AttributeError):
        raise UnknownEvent("a field of the event has another type than it should") from None


def is_for_page(event: Mapping[str, Any], method: str, path: str) -> bool:
    """Return whether a request is for the web explorer: the root of a stage or of a domain, or a path below ``/ui/``.

    Args:
        event: The event of the request.
        method: Its method.
        path: Its path, which a stage may precede.
    """
    if f"/{ENDPOINT}/" in path:  # a profile may be called "ui"
        return False
    # The route shows the root of a stage. A function URL has no routes, and MCP clients may POST to its root.
    route = str(event.get("routeKey") or event.get("resource") or "")
    is_root = route == "/" or route.endswith(" /") or (path in ("", "/") and method in ("GET", "HEAD"))
    return is_root or "/ui/" in path


def wants_multiple_values(event: Any) -> bool:
    """Return whether a load balancer sent the event, and reads the headers of a response in lists alone."""
    if not isinstance(event, dict) or not event.get("multiValueHeaders"):
        return False
    context = event.get("requestContext")
    return isinstance(context, dict) and "elb" in context


def _headers(event: Mapping[str, Any]) -> Headers:
    """Return all headers; payload format 1.0 lists repeated ones separately, 2.0 joins them with commas."""
    multi_value = event.get("multiValueHeaders")
    if multi_value:
        return tuple([(name.lower(), _text(value)) for name, values in multi_value.items() for value in _list(values)])
    return tuple([(name.lower(), _text(value)) for name, value in (event.get("headers") or {}).items()])


def _text(value: Any) -> str:
    # Not str(value): the text of a number of thousands of digits, or of deep nesting, raises errors of its own.
    if not isinstance(value, str):
        raise TypeError
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise TypeError
    if not event.get("isBase64Encoded"):
        return bytes(body.encode("utf-8", "surrogatepass"))
    try:
        return binascii.a2b_base64(body, strict_mode=True)
    except ValueError:
        raise UnknownEvent("the body is not base64") from None


def _query_key(event: Mapping[str, Any], is_version_2: bool) -> str:
    """Return the key in the query string; several are joined with commas, as API Gateway joins repeated headers."""
    if is_version_2:
        from urllib.parse import parse_qs  # imported here: few deployments allow a key in the query string

        return ",".join(parse_qs(event.get("rawQueryString") or "").get(KEY_PARAMETER, []))
    several = (event.get("multiValueQueryStringParameters") or {}).get(KEY_PARAMETER) or ()
    if len(several) > 1:
        return ",".join(map(str, several))
    return str((event.get("queryStringParameters") or {}).get(KEY_PARAMETER) or "")


def _source_address(event: Mapping[str, Any], is_version_2: bool) -> str:
    """Return the address of the TCP connection, which a client cannot choose as it can ``X-Forwarded-For``.

    A load balancer adds it to the end of that header.
    """
    context = event.get("requestContext") or {}
    if "elb" in context:
        forwarded = [value for name, value in _headers(event) if name == "x-forwarded-for"]
        return ",".join(forwarded).rpartition(",")[2].strip()[:_MAX_ADDRESS]
    return str((context.get("http" if is_version_2 else "identity") or {}).get("sourceIp") or "")[:_MAX_ADDRESS]


def _used_by_gateway(event: Mapping[str, Any]) -> frozenset[str]:
    """Return where the gateway took a credential from, which is then none for a source.

    A Lambda authorizer may read any header or parameter, and the event does not say which. An API with payload format
    1.0 and without authorizer has ``{"claims": null, "scopes": null}``.
    """
    context = event.get("requestContext") or {}
    authorizer, identity = context.get("authorizer") or {}, context.get("identity") or {}
    used = set()
    if any(identity.get(name) for name in ("apiKey", "apiKeyId")):  # a usage plan
        used.add(X_API_KEY)
    if any(identity.get(name) for name in ("accessKey", "caller", "userArn", "cognitoIdentityId")):  # IAM
        used.add(AUTHORIZATION)
    for kind, found in authorizer.items():
        if kind in ("jwt", "iam") or (kind in ("claims", "scopes") and found):
            used.add(AUTHORIZATION)
        elif kind not in ("claims", "scopes"):
            used |= {AUTHORIZATION, X_API_KEY, QUERY}
    return frozenset(used)
