"""The methods of MCP, for both eras: versions that open with ``initialize``, and the stateless 2026-07-28.

The server offers tools, and as resources the skills of its catalog and the app that shows answers
(``protocol.resources``). It keeps no session: every request is answered from its own content.
"""

from __future__ import annotations

import json
import os.path
import re
import time
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import META_TOOLS, RESERVED_NAMES
from toolfold.errors import (
    ApprovalRequired,
    AuthorizationRequired,
    CatalogUnavailable,
    InsufficientScope,
    ProfileNotFound,
)
from toolfold.meta_tools import dispatcher
from toolfold.meta_tools.result import dumps_compact
from toolfold.protocol import http, jsonrpc, versions
from toolfold.protocol.http import Exchange
from toolfold.protocol.jsonrpc import JsonRpcError, JsonText, Message
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.auth.resource_server import ResourceServer
    from toolfold.catalog.model import Catalog
    from toolfold.settings import Settings

    _Method = Callable[["Server", Exchange], dict[str, Any]]

SERVER_INFO = {"name": "toolfold", "title": "toolfold", "version": __version__}

_WITHOUT_APP = frozenset(RESERVED_NAMES) - {"TOOL_CALL"} | {"request_tools", "read_skill", "search", "fetch"}
"""Tools whose answers are no data of one call, so that the app does not show them."""

_LOGGABLE = re.compile(r"[A-Za-z0-9._/-]{1,64}")
"""What may be logged of a client's words: short, and without characters that could forge a log line."""


class Server:
    """Answer MCP requests with the meta-tools ``tools``.

    Args:
        tools: the meta-tools, with the whole catalog.
        origin_policy: which clients may call over HTTP; None: every client except a web page.
        authorization: which tokens they need; None: none.
        on_message: called for each answered message that came without HTTP, with the fields of its log line.
        profile: the profile of messages that come without HTTP; empty: ``default``.

    Attributes:
        reports_changes: whether the transport informs clients when the tools have changed.
        without_http: what stands for the request of a message that comes without HTTP, with what its client can do.
    """

    reports_changes = False

    def __init__(
        self,
        tools: dispatcher.MetaTools,
        origin_policy: http.OriginPolicy | None = None,
        authorization: ResourceServer | None = None,
        on_message: Callable[[http.LogFields], None] | None = None,
        profile: str = "",
    ) -> None:
        self.tools, self._authorization = tools, authorization
        self.origin_policy = origin_policy or http.OriginPolicy()
        self._on_message = on_message
        self.without_http = http.Request("", (), b"", profile=profile)

    def tools_of(self, profile: str) -> dispatcher.MetaTools:
        """Return what the clients of a profile see; empty: those of the path without a name.

        Raises:
            ProfileNotFound: there is no such profile.
            CatalogUnavailable: the catalog, which has the profiles, cannot be read. The path without a name then has
                the meta-tools, so that clients can connect.
        """
        try:
            catalog = self.tools.catalog()
            if not profile and is_plain(catalog, self.tools.executor.settings):
                return self.tools
            from toolfold.exposure.profiles import select  # for the paths of profiles only

            return select(self.tools, profile or "default")
        except CatalogUnavailable as error:
            if profile:
                raise
            return self.tools.without_catalog(error)

    def handle_http(self, request: http.Request) -> http.Response:
        """Return the response to an HTTP request. Never raises for anything a client can send."""
        stateless = request.header("mcp-protocol-version") in versions.STATELESS
        if self._authorization is not None and (found := self._authorization.respond_without_token(request)):
            return found
        if request.path == http.CATALOG_PATH or (request.path.endswith(http.CARD_PATH) and request.method != "POST"):
            from toolfold.protocol import public_documents  # no client of the tools needs it

            # A name in Host that is not checked may be an attacker's, and a cache may give the answer to other clients.
            own = f"http://{request.header('host')}/{http.ENDPOINT}" if self.origin_policy.hosts else ""
            return public_documents.describe_server(request, self.tools.executor.settings.public_url or own)
        if http.WELL_KNOWN in request.path or request.path == http.REGISTER_PATH:
            return http.error_response(404, "There is nothing at this path.")
        response = http.validate(request, self.origin_policy, stateless)
        if response is None and self._authorization is not None:
            response = self._authorized(request, stateless, self._authorization)
        response = response or self._handle_body(request, stateless)
        has_origin = request.header("origin") is not None  # only a web page names it
        return http.with_cors_headers(request, response, self.origin_policy) if has_origin else response

    def _authorized(self, request: http.Request, stateless: bool, authorization: ResourceServer) -> http.Response:
        """Return the response to a request whose method and headers are in order."""
        caller = authorization.authenticate(request)
        if isinstance(caller, http.Response):
            return caller
        try:
            response = self._handle_body(request._replace(scopes=caller.scopes, caller=caller.id), stateless)
        except InsufficientScope as error:
            response = authorization.forbid(error.details["scope"], caller)
        return response._replace(log_fields={**response.log_fields, "caller": caller.id})

    def handle_message(self, message: Message) -> bytes:
        """Return the answer to a message that came without HTTP, or ``b""`` for a notification.

        Without headers, the message itself says which era it belongs to: ``_meta`` names a stateless version, and
        ``initialize`` is always a handshake. Never raises for anything a client can send.
        """
        if message.id is None:
            return b""
        started = time.perf_counter()
        stateless = versions.META_VERSION in message.meta and message.method != "initialize"
        if message.method == "initialize":  # all that comes without HTTP is of one client
            self.without_http = self.without_http._replace(opens_urls=versions.elicits(message.params, "url"))
        exchange = Exchange(self.without_http, message, stateless, {"rpc": _loggable(message.method)})
        answer, _ = self._answer(exchange)
        if self._on_message is not None:
            self._on_message({**exchange.log_fields, "ms": round((time.perf_counter() - started) * 1000, 2)})
        return answer

    def _handle_body(self, request: http.Request, stateless: bool) -> http.Response:
        if http.is_of_tool(request.path):
            from toolfold.protocol import tool_documents  # no client of MCP needs it

            return tool_documents.describe_tool(request, self.tools_of(""))
        if profile := http.profile_of(request.path):
            try:
                self.tools_of(profile)
            except ProfileNotFound as error:
                closest = f" (/mcp/{error.closest})" if error.closest else ""
                return http.error_response(404, f"{error}{closest}")
            except CatalogUnavailable as error:
                return http.error_response(503, f"{error.message} {error.suggestion}", ("retry-after", "5"))
            request = request._replace(profile=profile)
        log_fields: dict[str, str | int | float] = {"profile": profile} if profile else {}
        try:
            message = jsonrpc.parse_message(request.body)
            log_fields = {"rpc": "response" if message is None else _loggable(message.method), **log_fields}
            if message is None or message.id is None:
                http.check_version(request, message)
                return http.Response(202, log_fields=log_fields)
        except JsonRpcError as error:
            return http.json_response(400, jsonrpc.encode_error(error), {"rejected": str(error.code), **log_fields})
        stateless = stateless or versions.META_VERSION in message.meta
        exchange = Exchange(request, message, stateless, log_fields)
        body, code = self._answer(exchange)
        return http.json_response(versions.HTTP_STATUS[stateless].get(code, 200), body, exchange.log_fields)

    def _answer(self, exchange: Exchange) -> tuple[bytes, int]:
        """Return the answer to a message, and the code of its error, or 0."""
        id_ = exchange.message.id
        assert id_ is not None  # noqa: S101 - notifications have no answer
        try:
            http.check_envelope(exchange)
            return jsonrpc.encode_result(id_, self._result(exchange)), 0
        except JsonRpcError as found:
            error = found
        except (ProfileNotFound, CatalogUnavailable) as found:
            code = versions.INVALID_PARAMS if isinstance(found, ProfileNotFound) else versions.INTERNAL_ERROR
            error = JsonRpcError(code, f"{found.message} {found.suggestion}")
            exchange.log_fields["error"] = found.code
        error.id = id_
        exchange.log_fields["rejected"] = str(error.code)
        return jsonrpc.encode_error(error), error.code

    def _result(self, exchange: Exchange) -> Mapping[str, Any]:
        message = exchange.message
        method = _METHODS[exchange.stateless].get(message.method, Server._answer_about_resources)
        result: Mapping[str, Any] = method(self, exchange)
        if exchange.stateless and message.method in versions.CACHEABLE:
            result = {**result, **versions.CACHE_HINTS}
        if not exchange.stateless:
            return result
        info = _server_info() if message.method == "server/discover" else SERVER_INFO
        return {"resultType": "complete", **result, "_meta": {versions.META_SERVER: info}}

    def _initialize(self, exchange: Exchange) -> dict[str, Any]:
        requested = exchange.message.params.get("protocolVersion")
        version = requested if requested in versions.HANDSHAKE else versions.HANDSHAKE[-1]
        return {"protocolVersion": version, "serverInfo": _server_info(), **self._offer(exchange)}

    def _discover(self, exchange: Exchange) -> dict[str, Any]:
        return {"supportedVersions": list(versions.STATELESS), **self._offer(exchange)}

    def _offer(self, exchange: Exchange) -> dict[str, Any]:
        """Return the capabilities of the server, as far as they concern this client, and its instructions."""
        tools = self.tools_of(exchange.request.profile)
        extensions: dict[str, Any] = {versions.SKILLS: {}} if tools.has_skills() else {}
        app = versions.declared(exchange.message.params, versions.APPS)
        types = app.get("mimeTypes") if isinstance(app, dict) else None
        if isinstance(types, list) and versions.APP_TYPE in types and os.path.exists(versions.APP_FILE):
            extensions[versions.APPS] = {}
        resources: dict[str, Any] = {"resources": {}} if extensions else {}
        extensions |= {versions.TASKS: {}} if exchange.stateless else {}
        capabilities = {"tools": {"listChanged": True} if self.reports_changes else {}, **resources}
        declared = {"extensions": extensions} if extensions else {}
        return {"capabilities": {**capabilities, **declared}, "instructions": tools.instructions()}

    def _list_tools(self, exchange: Exchange) -> dict[str, Any]:
        try:
            page = self.tools_of(exchange.request.profile).list_page(exchange.message.params.get("cursor"))
        except dispatcher.UnknownCursor as error:
            raise JsonRpcError(versions.INVALID_PARAMS, str(error)) from None
        more = {} if page.next_cursor is None else {"nextCursor": page.next_cursor}
        is_built = os.path.exists(versions.APP_FILE)
        return {"tools": _with_app(page.tools) if is_built else JsonText(page.tools), **more}

    def _answer_about_resources(self, exchange: Exchange) -> dict[str, Any]:
        from toolfold.protocol import resources  # few clients ask for any

        return resources.answer(self.tools_of(exchange.request.profile), exchange)

    def _call_tool(self, exchange: Exchange) -> dict[str, Any]:
        params = exchange.message.params
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise JsonRpcError(versions.INVALID_PARAMS, f"name must be the name of a tool: {', '.join(META_TOOLS)}.")
        if arguments is not None and not isinstance(arguments, dict):
            raise JsonRpcError(versions.INVALID_PARAMS, "arguments must be an object.")
        result, answered = self.perform(exchange, name, arguments or {})
        is_long = answered is not None and exchange.stateless and versions.declared(params, versions.TASKS) is not None
        if not is_long and exchange.log_fields.get("error") not in (AuthorizationRequired.code, ApprovalRequired.code):
            return result
        from toolfold.protocol import input_required  # few calls need it

        if is_long:
            return input_required.create_task(self.tools.executor.services.kept_requests, exchange, answered) or result
        return input_required.from_result(exchange, result)

    def perform(
        self, exchange: Exchange, name: str, arguments: Mapping[str, Any], *, is_repeated: bool = False
    ) -> tuple[dict[str, Any], int | None]:
        """Call a tool. A call that is repeated only reads, also with a newer catalog.

        Returns:
            The result, as MCP has it, and how many calls inside are answered; None: it is complete.

        Raises:
            JsonRpcError: there is no tool of this name.
        """
        request, message, log_fields = exchange.request, exchange.message, exchange.log_fields
        tools = self.tools_of(request.profile)
        call = tools.resolve(name, arguments)
        if call is None:
            raise JsonRpcError(versions.INVALID_PARAMS, tools.unknown_tool(name, arguments))
        log_fields["tool"] = call.name
        inner_tool = call.arguments.get("tool_name")
        if isinstance(inner_tool, str) and "/" not in inner_tool and _LOGGABLE.fullmatch(inner_tool):
            log_fields["inner_tool"] = inner_tool
        credentials = request.credentials()
        if message.params.get("inputResponses") is not None:
            from toolfold.protocol import input_required  # few calls need it

            credentials = input_required.add_answer(message, credentials)
        from toolfold.client_call import serving  # not for the first response

        reads_only = is_repeated or call.name == "TOOL_CALL"
        meta = message.meta
        get = meta.get if "traceparent" in meta else request.header  # both are of the message, or of the headers
        with serving(request.deadline, get("traceparent"), get("tracestate")) as trace_id:
            if trace_id:
                log_fields["trace_id"] = trace_id
            result = tools.call(call.name, call.arguments, credentials, request.deadline, reads_only=reads_only)
        if result.is_error:
            log_fields["error"] = result.structured["error"]["code"]
        log_fields.update(result.usage)
        content = [{"type": "text", "text": result.text}, *result.blocks]
        shown = {"content": content, "structuredContent": result.structured, "isError": result.is_error}
        return shown, result.answered

    def _task(self, exchange: Exchange) -> dict[str, Any]:
        from toolfold.protocol import input_required  # few clients need it

        perform = partial(self.perform, exchange, is_repeated=True)
        return input_required.answer_task(self.tools.executor.services.kept_requests, exchange, perform)


_SHARED: Mapping[str, _Method] = {"tools/list": Server._list_tools, "tools/call": Server._call_tool}
_METHODS: Mapping[bool, Mapping[str, _Method]] = {
    False: {"initialize": Server._initialize, "ping": lambda server, exchange: {}, **_SHARED},
    True: {"server/discover": Server._discover, **_SHARED, **dict.fromkeys(versions.TASK_METHODS, Server._task)},
}
"""Whether the version is stateless → method → its implementation; of any other, ``_answer_about_resources``."""


def _server_info() -> Mapping[str, Any]:
    from toolfold.protocol import public_documents  # not for tools/list, the first request of many clients

    return {**SERVER_INFO, **public_documents.ABOUT}


@lru_cache(maxsize=32)
def _with_app(tools: bytes) -> JsonText:
    """Return a list of tools, in JSON, in which those whose answers the app shows name it.

    Every list names it: without sessions, it is not known whether a client of a handshake version shows apps, and one
    that shows none ignores ``_meta``.
    """
    listed = json.loads(tools)
    for tool in listed:
        if tool["name"] not in _WITHOUT_APP:
            tool["_meta"] = {**tool.get("_meta", {}), "ui": {"resourceUri": versions.APP_URI}}
    return JsonText(dumps_compact(listed).encode())


def is_plain(catalog: Catalog, settings: Settings) -> bool:
    """Return whether the path without a profile shows the meta-tools and the whole catalog."""
    modes = {settings.mode, settings.connector_mode, settings.database_mode, settings.mcp_mode, settings.skill_mode}
    return modes <= {"", "progressive"} and "default" not in catalog.profile_names


def exposed_catalog(catalog_store: Callable[[], Catalog], settings: Settings) -> Catalog:
    """Return what the path without a profile exposes of the catalog."""
    catalog = catalog_store()
    if is_plain(catalog, settings):
        return catalog
    from toolfold.exposure.profiles import resolve_profile, view_of

    return catalog.memoize("default view", lambda: view_of(catalog, resolve_profile(catalog, "default", settings)))


def _loggable(name: str) -> str:
    return name if _LOGGABLE.fullmatch(name) else "?"
