"""Lambda events ↔ MCP requests and responses.

Made once per environment: settings, the catalog's store and the server. A wrong setting therefore fails the start,
visibly, not a request.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from toolfold.app import build_app
from toolfold.protocol.http import Response, error_response
from toolfold.settings import Settings
from toolfold.telemetry import configure_logging
from toolfold.transports import lambda_events

logger = logging.getLogger("toolfold")


class LambdaHandler:
    """Answers events. ``hosts`` is for local servers; see :class:`toolfold.protocol.http.OriginPolicy`."""

    def __init__(self, settings: Settings, hosts: tuple[str, ...] = ()) -> None:
        self._log = configure_logging(settings.log_level)
        self._margin_s = settings.deadline_margin_s
        self._allow_key_in_query = settings.allow_key_in_query
        self.server = build_app(settings, hosts=hosts).server

    def __call__(self, event: Any, request_id: str = "", remaining_s: float | None = None) -> dict[str, Any]:
        """The response to ``event``, in the form that every payload format takes.

        ``remaining_s`` is how long Lambda lets this invocation run; None where nobody ends it.
        """
        started = time.perf_counter()
        deadline = None if remaining_s is None else time.monotonic() + remaining_s - self._margin_s
        response = self._respond(event, deadline)
        if logger.isEnabledFor(logging.INFO):
            taken_ms = round((time.perf_counter() - started) * 1000, 2)
            about = {**response.log_fields, "status": response.status, "ms": taken_ms, "request_id": request_id}
            self._log.write("INFO", "request", about)
        return {
            "statusCode": response.status,
            "headers": dict(response.headers),
            "body": response.body.decode(),
            "isBase64Encoded": False,
        }

    def _respond(self, event: Any, deadline: float | None) -> Response:
        try:
            request = lambda_events.parse_event(event, self._allow_key_in_query, deadline)
        except lambda_events.UnknownEvent as unknown:
            logger.error("event not understood: %s", unknown)
            return error_response(400, "This is no event of an API Gateway HTTP API, REST API or function URL.")
        return self.server.handle_http(request)
