"""Answer HTTP requests, and Lambda events: each becomes a request, and the response what API Gateway expects.

``handlers/gateway/app.py`` makes one :class:`LambdaHandler` while Lambda initialises the environment. A wrong setting
therefore fails the start, where it is seen, and not a request.

The events are those of payload format 2.0, which HTTP APIs of API Gateway and function URLs send, and of format 1.0,
which REST APIs and many test events have:
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html

The path is not checked here: the routes of the API decide what reaches the function, and a stage may precede the path.
"""

from __future__ import annotations

import binascii
import json
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolfold.catalog.store import FileStore, bundled_path, open_regular_file
from toolfold.errors import CatalogUnavailable
from toolfold.execution.credentials import AUTHORIZATION, QUERY, X_API_KEY
from toolfold.protocol.http import ENDPOINT, HEALTH_PATH, SIGN_IN_PATH, Headers, Request, Response, error_response
from toolfold.version import __version__

if TYPE_CHECKING:
    from os import PathLike

    from toolfold.app import App
    from toolfold.explorer.router import LocalPage
    from toolfold.explorer.sign_in_pages import SignInPages
    from toolfold.telemetry import Telemetry


class UnknownEvent(ValueError):
    """The event has none of the known forms; ``str()`` says what is missing."""


def parse_event(event: Any) -> Request:
    """Return the request in ``event``.

    Raises:
        UnknownEvent: The event comes from another service, or is damaged.
    """
    try:
        context, is_version_1 = event.get("requestContext") or {}, "httpMethod" in event
        if "elb" in context:
            raise UnknownEvent("the event comes from a load balancer")
        authorizer, identity = context.get("authorizer") or {}, context.get("identity") or {}
        http = {"method": event["httpMethod"], **identity} if is_version_1 else context["http"]
        body = str.encode(event.get("body") or "", "utf-8", "surrogatepass")
        return Request(
            http["method"].upper(),
            _headers(event),
            binascii.a2b_base64(body, strict_mode=True) if event.get("isBase64Encoded") else body,
            query=_encoded_query(event) if is_version_1 else str(event.get("rawQueryString") or ""),
            used_by_gateway=_used_by_gateway(authorizer, identity) if authorizer or identity else frozenset(),
            path=str(event.get("path" if is_version_1 else "rawPath") or ""),
            caller=_principal(authorizer) if authorizer else "",
            source_address=str(http.get("sourceIp") or "")[:64],  # an IPv6 address with a zone
        )
    except KeyError as error:
        raise UnknownEvent(f"the event has no {error}") from None
    except (TypeError, AttributeError, binascii.Error):
        raise UnknownEvent("the event, or a field of it, is not of the type that it should be") from None


def _headers(event: Mapping[str, Any]) -> Headers:
    """Return all headers; payload format 1.0 lists repeated ones separately, 2.0 joins them, and has cookies apart.

    Raises:
        TypeError: a value is not text. It is not converted: a number of thousands of digits raises other errors.
    """
    if repeated := event.get("multiValueHeaders"):
        if not all(isinstance(values, list) for values in repeated.values()):
            raise TypeError
        return tuple([(name.lower(), str.strip(value)) for name, values in repeated.items() for value in values])
    headers = [(name.lower(), str.strip(value)) for name, value in (event.get("headers") or {}).items()]
    return (*headers, *[("cookie", str.strip(cookie)) for cookie in event.get("cookies") or ()])


def _encoded_query(event: Mapping[str, Any]) -> str:
    """Return the query of payload format 1.0, which has its parameters decoded."""
    parameters = event.get("multiValueQueryStringParameters") or event.get("queryStringParameters")
    if not parameters:
        return ""
    from urllib.parse import urlencode  # the first request of a client has no query

    return urlencode(parameters, doseq=True, errors="replace")


def _principal(authorizer: Mapping[str, Any]) -> str:
    """Return a hash of the principal of AWS that signed the request, as API Gateway names it; empty where none did."""
    arn = (authorizer.get("iam") or {}).get("userArn")
    if not arn:
        return ""
    import hashlib  # the first response to an unsigned request does not need it

    return hashlib.sha256(str(arn).encode(errors="replace")).hexdigest()[:16]


def _used_by_gateway(authorizer: Mapping[str, Any], identity: Mapping[str, Any]) -> frozenset[str]:
    """Return where the gateway took a credential from, which is then none for a source.

    A Lambda authorizer may read any header or parameter, and the event does not say which. An API with payload format
    1.0 and without authorizer has ``{"claims": null, "scopes": null}``.
    """
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


class RequestHandler:
    """Answer HTTP requests with ``app``, and log each with ``telemetry``.

    Args:
        app: The objects of this process.
        telemetry: Its logger.
        on_request: Logs each request, as ``Telemetry.record_request``; None: ``telemetry`` does, as a line of its own.
        page: Answers requests of the web explorer; None: the server has no page.
    """

    def __init__(
        self,
        app: App,
        telemetry: Telemetry,
        on_request: Callable[..., None] | None = None,
        page: LocalPage | None = None,
    ) -> None:
        self.app, self.server = app, app.server
        self._logger, self._on_request, self._page = telemetry.logger, on_request, page

    def respond(self, request: Request, remaining_s: float | None = None) -> Response:
        """Return the response to a request, which must be ready in ``remaining_s`` seconds; None: no limit."""
        started = time.perf_counter()
        if remaining_s is not None:
            request = request._replace(deadline=time.monotonic() + remaining_s - self.app.settings.deadline_margin_s)
        response = self._respond(request)
        self.log_request(response, time.perf_counter() - started)
        return response

    def log_request(self, response: Response, elapsed_s: float) -> None:
        """Log one request. May be called by several threads: nothing is added to the keys of the logger."""
        fields = {**response.log_fields, "status": response.status, "ms": round(elapsed_s * 1000, 2)}
        # Probes come every few seconds, as do requests of the page, and say nothing as long as all is well.
        rpc = fields.get("rpc")
        is_probe = (rpc == "health" and "error" not in fields) or rpc == "ui"
        if self._on_request is not None:
            published_at = self.app.catalog_store.published_at
            age_s = None if published_at is None else max(0.0, time.time() - published_at)
            self._on_request(fields, age_s, is_probe=is_probe)
        else:
            (self._logger.debug if is_probe else self._logger.info)("request", extra=fields)
        if self.app.call_log is not None and not is_probe:
            self.app.call_log.record_request(fields)

    def _respond(self, request: Request) -> Response:
        settings = self.app.settings
        if request.query and settings.allow_key_in_query:
            from urllib.parse import parse_qs  # few deployments allow a key in the query

            request = request._replace(query_api_key=",".join(parse_qs(request.query).get("apikey", ())))
        if settings.origin_secret_sha256:
            through = _sent_by_firewall(request, settings.origin_secret_sha256)
            if through is None:
                return error_response(403, "Requests must come through the firewall of this server: use its URL.")
            request = through
        # API Gateway passes these on without a signature, where callers are principals of AWS.
        is_for_health = request.path.rstrip("/").endswith(HEALTH_PATH) and (
            # A profile may be called "health", and is called with POST.
            request.method in ("GET", "HEAD") or f"/{ENDPOINT}/" not in request.path
        )
        if settings.access == "iam" and not (request.caller or is_for_health or request.method == "OPTIONS"):
            return error_response(
                403,
                "Requests must be signed with AWS credentials (SigV4, service execute-api). MCP clients connect "
                "through mcp-proxy-for-aws.",
            )
        is_for_sign_in = SIGN_IN_PATH in request.path and f"/{ENDPOINT}/" not in request.path
        if is_for_sign_in and settings.oauth_sign_in_client:
            if self._sign_ins is None:
                return error_response(404, "Callers of this server do not sign in at sources: TOOLFOLD_TOKEN_SECRET.")
            return self._sign_ins.respond(request)
        if self._page is not None and (request.path == "/" or request.path.startswith("/ui/")):
            return self._page.respond(request)
        if is_for_health:
            return _respond_health(self.app, request.method)
        return self.server.handle_http(request)

    @cached_property
    def _sign_ins(self) -> SignInPages | None:
        from toolfold.explorer.sign_in_pages import SignInPages  # no client needs these pages

        hosted, issuer = self.app.executor.services.user_tokens.hosted, self.app.authorization
        return None if hosted is None or issuer is None else SignInPages(self.app, hosted, issuer)


class LambdaHandler(RequestHandler):
    """Answer events with the responses to their requests."""

    def __call__(self, event: Any, remaining_s: float | None = None) -> dict[str, Any]:
        """Return the response to ``event``, in the form that both payload formats share.

        Lambda ends the invocation after ``remaining_s`` seconds; None: nothing ends it.
        """
        try:
            response = self.respond(parse_event(event), remaining_s)
        except UnknownEvent as error:
            self._logger.error("event not understood: %s", error)
            served = "This function answers an HTTP API or REST API of API Gateway, and its function URL"
            response = error_response(400, f"{served}: {error}.")
            self.log_request(response, 0.0)
        return {
            "statusCode": response.status,
            "headers": dict(response.headers),
            "body": response.body.decode(errors="replace"),
            "isBase64Encoded": False,
        }


def _respond_health(app: App, method: str) -> Response:
    """Return 200 with the version, the catalog and the circuit breaker of each source; may wait for S3.

    It contains nothing that a caller may not know, so that it needs no authorization. No request is sent to a source.

    Returns:
        503 where no catalog can be read: then every call fails. A source whose circuit breaker is open changes the
        ``status`` to ``degraded``, but not 200: another process, or a restart, reaches that source no better.
    """
    if method not in ("GET", "HEAD"):
        return error_response(405, f"{HEALTH_PATH} is read with GET.", ("allow", "GET, HEAD"))
    log_fields = {"rpc": "health"}
    try:
        status, state = 200, _describe_state(app)
    except CatalogUnavailable as error:
        status, log_fields = 503, {**log_fields, "error": error.code}
        state = {"status": "unavailable", "version": __version__, "problem": error.message}
    if app.settings.access == "iam":
        # Anyone may read this where all else is signed: it then says nothing but that it answers.
        state = {"status": "unavailable" if "error" in log_fields else "ok"}
    return Response(status, (("content-type", "application/json"),), json.dumps(state).encode() + b"\n", log_fields)


def _describe_state(app: App) -> dict[str, object]:
    from datetime import UTC, datetime  # no first response of a client needs it

    catalog, store, used = app.catalog_store(), app.catalog_store, app.executor.used
    circuits = {} if used is None else used.circuit_states()
    sources = {source.id: {"circuit_breaker": circuits.get(source.id, "closed")} for source in catalog.sources}
    is_closed = all(circuits.get(id_, "closed") == "closed" for id_ in sources)
    published_at = store.published_at
    at = {} if published_at is None else {"published_at": datetime.fromtimestamp(published_at, UTC).isoformat()}
    path = store.path if isinstance(store, FileStore) else bundled_path()
    sha256 = catalog.sha256 or catalog.memoize("hash of the file", lambda: _hash_of(path))
    return {
        "status": "ok" if is_closed else "degraded",
        "version": __version__,
        "catalog": {"sha256": sha256, "tools": len(catalog), **at},
        "sources": sources,
    }


def _hash_of(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a catalog file, by which it is published, or an empty string."""
    import hashlib

    try:
        with open(open_regular_file(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def _sent_by_firewall(request: Request, hashes: tuple[str, ...]) -> Request | None:
    """Return the request with the address of its client, or None if it did not pass the firewall.

    CloudFront appends the address of the client to ``X-Forwarded-For``, and API Gateway that of CloudFront.
    """
    import hashlib  # no endpoint without a firewall needs them
    import hmac

    sent = hashlib.sha256((request.header("x-origin-secret") or "").encode("utf-8", "surrogatepass")).hexdigest()
    if not any(hmac.compare_digest(sent, known) for known in hashes):
        return None
    forwarded = [item.strip() for item in (request.header("x-forwarded-for") or "").split(",")]
    return request._replace(source_address=forwarded[-2]) if len(forwarded) > 1 else request
