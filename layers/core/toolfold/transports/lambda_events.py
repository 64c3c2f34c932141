"""What AWS puts in front of a function, as requests: one table entry for each shape of event.

==============================  =======  ===========================================================
API Gateway HTTP API            2.0      https://docs.aws.amazon.com/apigateway/latest/developerguide/
Lambda function URL             2.0      http-api-develop-integrations-lambda.html
API Gateway REST API, HTTP API  1.0      set-up-lambda-proxy-integrations.html (same guide)
==============================  =======  ===========================================================

The path is not looked at: the routes of the API decide what reaches the function, and a stage may stand before it.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from toolfold.protocol.http import Headers, Request

KEY_PARAMETER = "apikey"


class UnknownEvent(ValueError):
    """An event of no shape that is known here; ``str()`` says what was missed."""


def parse_event(event: Any, allow_key_in_query: bool, deadline: float | None = None) -> Request:
    """The request in ``event``, to be answered by ``deadline``.

    Raises:
        UnknownEvent: the event comes from something else, or is damaged.
    """
    if not isinstance(event, dict):
        raise UnknownEvent("the event is not an object")
    try:
        version_2 = event.get("version") == "2.0"
        method = event["requestContext"]["http"]["method"] if version_2 else event["httpMethod"]
        key = _key(event, version_2) if allow_key_in_query else ""
        return Request(method.upper(), _headers(event), _body(event), key, deadline)
    except KeyError as error:
        raise UnknownEvent(f"the event has no {error}") from None
    except (TypeError, AttributeError):
        raise UnknownEvent("a field of the event has another type than it should") from None


def _headers(event: Mapping[str, Any]) -> Headers:
    """Every header, repeated ones included where the event tells them apart (payload 1.0)."""
    many = event.get("multiValueHeaders")
    if many:
        return tuple([(name.lower(), str(value)) for name, values in many.items() for value in values])
    return tuple([(name.lower(), str(value)) for name, value in (event.get("headers") or {}).items()])


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return bytes(body.encode("utf-8", "surrogatepass"))
    try:
        return binascii.a2b_base64(body, strict_mode=True)
    except ValueError:
        raise UnknownEvent("the body is not base64") from None


def _key(event: Mapping[str, Any], version_2: bool) -> str:
    if version_2:
        from urllib.parse import parse_qs  # where keys may be in the address, which is seldom

        return str(parse_qs(event.get("rawQueryString") or "").get(KEY_PARAMETER, [""])[0])
    return str((event.get("queryStringParameters") or {}).get(KEY_PARAMETER, ""))
