"""API Gateway's HTTP API events (payload format 2.0) ↔ MCP requests and responses.

Made once per environment: settings, the catalog's store and the server. A wrong setting therefore fails the start,
visibly, not a request.
"""

from __future__ import annotations

import base64
import binascii
import time
from typing import Any
from urllib.parse import parse_qs

from toolfold.calling.caller import Caller
from toolfold.catalog.store import open_store
from toolfold.meta_tools.dispatch import MetaTools
from toolfold.observability import adopt_library_logs, logger
from toolfold.settings import Settings
from toolfold.wire.http import Access, Request, Response, refuse
from toolfold.wire.mcp import Server

adopt_library_logs()


class Gateway:
    """Answers API Gateway events. ``hosts`` is for local servers; see :class:`toolfold.wire.http.Access`."""

    def __init__(self, settings: Settings, hosts: tuple[str, ...] = ()) -> None:
        self._allow_key_in_query = settings.allow_key_in_query
        tools = MetaTools(open_store(settings), Caller(settings))
        self._server = Server(tools, Access(settings.allowed_origins, hosts))

    def __call__(self, event: dict[str, Any], request_id: str = "") -> dict[str, Any]:
        """The response to ``event``, in payload format 2.0."""
        started = time.perf_counter()
        try:
            request = self._request(event)
        except (KeyError, TypeError, AttributeError, ValueError):
            response = refuse(400, "This is no API Gateway event of payload format 2.0.")
        else:
            response = self._server.respond(request)
        logger.info(
            "request",
            extra={
                **response.about,
                "status": response.status,
                "ms": round((time.perf_counter() - started) * 1000, 2),
                "request_id": request_id,
            },
        )
        return _payload(response)

    def _request(self, event: dict[str, Any]) -> Request:
        body = event.get("body") or ""
        try:
            content = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
        except binascii.Error:
            content = b""
        key = ""
        if self._allow_key_in_query:
            key = parse_qs(event.get("rawQueryString", "")).get("apikey", [""])[0]
        return Request(
            method=event["requestContext"]["http"]["method"].upper(),
            headers=tuple((name.lower(), str(value)) for name, value in (event.get("headers") or {}).items()),
            body=content,
            key_in_query=key,
        )


def _payload(response: Response) -> dict[str, Any]:
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body.decode(),
        "isBase64Encoded": False,
    }
