"""Answer Lambda events: turn each into an MCP request, and the response into what API Gateway expects.

``handlers/gateway/app.py`` makes one :class:`LambdaHandler` while Lambda initialises the environment. A wrong setting
therefore fails the start, where it is seen, and not a request.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolfold.protocol.http import ENDPOINT, Request, Response, error_response
from toolfold.transports import lambda_events

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.explorer.router import Router
    from toolfold.protocol.http import LogFields
    from toolfold.telemetry import Telemetry
    from toolfold.transports.health import Health

__all__ = ["LambdaHandler"]

_HEALTH_PATH = "/health"
_OK = 200


class LambdaHandler:
    """Answer events with ``app``, and log each request with ``telemetry``.

    Args:
        app: The objects of this process.
        telemetry: Its logger.
        on_request: Called for each request with the fields of its log line, and the seconds since the catalog was
            published, where they are known.
        page: Answers requests of the web explorer; None: as the settings say, made by the first of them.
    """

    def __init__(
        self,
        app: App,
        telemetry: Telemetry,
        on_request: Callable[[LogFields, float | None], None] | None = None,
        page: Router | None = None,
    ) -> None:
        self.app, self.server = app, app.server
        self._logger, self._on_request = telemetry.logger, on_request
        self._health: Health | None = None
        self._page, self._has_page = page, page is not None or app.settings.explorer != "off"

    def __call__(self, event: Any, remaining_s: float | None = None) -> dict[str, Any]:
        """Return the response to ``event``, in the form that all payload formats share.

        Args:
            event: An event of API Gateway, of a function URL or of a load balancer.
            remaining_s: Seconds until Lambda ends this invocation; None: nothing ends it.
        """
        started = time.perf_counter()
        response = self._respond(event, remaining_s)
        self.log_request(response, time.perf_counter() - started)
        encoded: dict[str, Any] = {"statusCode": response.status, "headers": dict(response.headers)}
        if lambda_events.wants_multiple_values(event):
            encoded["multiValueHeaders"] = {name: [value] for name, value in response.headers}
        try:
            return {**encoded, "body": response.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:  # a file of the page, compressed
            body = binascii.b2a_base64(response.body, newline=False).decode()
            return {**encoded, "body": body, "isBase64Encoded": True}

    def log_request(self, response: Response, elapsed_s: float) -> None:
        """Log one request. May be called by several threads: nothing is added to the keys of the logger."""
        fields = {**response.log_fields, "status": response.status, "ms": round(elapsed_s * 1000, 2)}
        # Probes come every few seconds, as do requests of the page, and say nothing as long as all is well.
        rpc = fields.get("rpc")
        is_probe = (rpc == "health" and response.status == _OK) or rpc == "ui"
        (self._logger.debug if is_probe else self._logger.info)("request", extra=fields)
        if self.app.call_log is not None and not is_probe:
            self.app.call_log.record_request(fields)
        if self._on_request is not None:
            self._on_request(response.log_fields, self.app.catalog_age_s())

    def _respond(self, event: Any, remaining_s: float | None) -> Response:
        settings = self.app.settings
        deadline = None if remaining_s is None else time.monotonic() + remaining_s - settings.deadline_margin_s
        try:
            request = lambda_events.parse_event(event, settings.allow_key_in_query, deadline)
        except lambda_events.UnknownEvent as error:
            self._logger.error("event not understood: %s", error)
            return error_response(
                400, "This is no event of an API Gateway HTTP API, REST API or function URL, or of a load balancer."
            )
        if self._has_page and lambda_events.is_for_page(event, request.method, request.path):
            return self._page_response(event, request)
        if _is_for_health(request):
            return self._health_response(request.method)
        return self.server.handle_http(request)

    def _page_response(self, event: Any, request: Request) -> Response:
        if self._page is None:
            from toolfold.explorer.router import deployed_router  # no client needs it

            self._page = deployed_router(self.app)
        return self._page.respond(event, request)

    def _health_response(self, method: str) -> Response:
        if self._health is None:
            from toolfold.transports.health import Health  # no first response of a client needs it

            self._health = Health(self.app)
        return self._health.respond(method)


def _is_for_health(request: Request) -> bool:
    """Return whether a request is one for the state. A profile may be called ``health``, and is called with POST."""
    is_named = request.path.rstrip("/").endswith(_HEALTH_PATH)
    return is_named and (request.method in ("GET", "HEAD") or f"/{ENDPOINT}/" not in request.path)
