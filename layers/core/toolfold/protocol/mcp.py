"""The methods of MCP, for both eras: versions that open with ``initialize``, and the stateless 2026-07-28.

A tools-only server without sessions: every request is answered from itself alone.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold import __version__
from toolfold.execution.credentials import RequestCredentials
from toolfold.meta_tools import dispatcher
from toolfold.protocol import http, jsonrpc, versions
from toolfold.protocol.http import ANYONE
from toolfold.protocol.jsonrpc import JsonRpcError, Message, RawJson

if TYPE_CHECKING:
    _Method = Callable[["Server", http.Request, Message, dict[str, str]], dict[str, Any]]

SERVER_INFO = {"name": "toolfold", "title": "toolfold", "version": __version__}

LIST_TTL_MS = 3_600_000
"""How long a client may keep ``tools/list``: the three tools change with a release, not with a request."""

_CAPABILITIES: Mapping[str, Any] = {"tools": {}}
_LOGGED_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_LOGGED_METHOD = re.compile(r"[A-Za-z0-9._/-]{1,64}\Z")
_BASE64 = re.compile(r"=\?base64\?(.*)\?=\Z")


class Server:
    """Answers requests. ``access`` says who may call from where."""

    def __init__(self, tools: dispatcher.MetaTools, access: http.OriginPolicy = ANYONE) -> None:
        self.tools, self.access = tools, access

    def respond(self, request: http.Request) -> http.Response:
        """The response to one request. Never raises for anything a client can send."""
        stateless = request.header("mcp-protocol-version") in versions.STATELESS
        response = http.check(request, self.access, stateless) or self._answer(request, stateless)
        return http.with_cors(request, response, self.access)

    def _answer(self, request: http.Request, stateless: bool) -> http.Response:
        try:
            message = jsonrpc.parse_message(request.body)
            if message is None or message.id is None:
                return _taken_note_of(request, message)
        except JsonRpcError as rejected:
            return _rejection(rejected, 400, {})
        about = {"rpc": _loggable(message)}
        stateless = stateless or versions.META_VERSION in _meta(message)
        try:
            _check_envelope(request, message, stateless)
            value = self._value(request, message, stateless, about)
        except JsonRpcError as rejected:
            rejected.id = message.id
            status = versions.STATELESS_STATUS if stateless else versions.HANDSHAKE_STATUS
            return _rejection(rejected, status.get(rejected.code, 200), about)
        return http.json_response(200, jsonrpc.result(message.id, value), about)

    def reply(self, message: Message) -> bytes:
        """The answer to a message that came without HTTP; nothing for a notification.

        No header says which era it is of: its ``_meta`` does, and ``initialize``, which is always a handshake. Never
        raises for anything a client can send.
        """
        if message.id is None:
            return b""
        stateless = versions.META_VERSION in _meta(message) and message.method != "initialize"
        try:
            if stateless:
                _check_complete(_meta(message))
                _check_served(_meta(message))
            return jsonrpc.result(message.id, self._value(_NO_HTTP, message, stateless, {}))
        except JsonRpcError as rejected:
            rejected.id = message.id
            return jsonrpc.error(rejected)

    def _value(
        self, request: http.Request, message: Message, stateless: bool, about: dict[str, str]
    ) -> Mapping[str, Any]:
        method = _METHODS[stateless].get(message.method)
        if method is None:
            raise JsonRpcError(versions.METHOD_NOT_FOUND, f"There is no method {message.method[:64]!r} here.")
        value = method(self, request, message, about)
        return {"resultType": "complete", **value, "_meta": {versions.META_SERVER: SERVER_INFO}} if stateless else value

    def _initialize(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        wanted = message.params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in versions.HANDSHAKE else versions.FALLBACK_VERSION,
            "capabilities": _CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": self.tools.instructions(),
        }

    def _ping(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        return {}

    def _discover(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        return {
            "supportedVersions": list(versions.STATELESS),
            "capabilities": _CAPABILITIES,
            "instructions": self.tools.instructions(),
            **_CACHE_HINTS,
        }

    def _list(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        if message.params.get("cursor") is not None:
            raise JsonRpcError(versions.INVALID_PARAMS, "This cursor is not one of ours: the list has a single page.")
        return {"tools": self.tools.definitions()}

    def _list_cacheable(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        return {**self._list(request, message, about), **_CACHE_HINTS}

    def _call(self, request: http.Request, message: Message, about: dict[str, str]) -> dict[str, Any]:
        name, arguments = message.params.get("name"), message.params.get("arguments")
        if name not in dispatcher.NAMES:
            known = ", ".join(dispatcher.NAMES)
            raise JsonRpcError(versions.INVALID_PARAMS, f"Unknown tool {str(name)[:64]!r}. There are {known}.")
        if arguments is not None and not isinstance(arguments, dict):
            raise JsonRpcError(versions.INVALID_PARAMS, "arguments must be an object.")
        about["tool"] = name
        inner = (arguments or {}).get("tool_name")
        if isinstance(inner, str) and _LOGGED_NAME.match(inner):
            about["inner_tool"] = inner
        result = self.tools.call(name, arguments or {}, _request_credentials(request), request.deadline)
        if result.is_error:
            about["error"] = result.structured["error"]["code"]
        structured, text = result.as_json()
        return {
            "content": RawJson(f'[{{"type":"text","text":{text}}}]'),
            "structuredContent": RawJson(structured),
            "isError": _TRUE if result.is_error else _FALSE,
        }


_NO_HTTP = http.Request("", (), b"")
_TRUE, _FALSE = RawJson("true"), RawJson("false")

_CACHE_HINTS: Mapping[str, Any] = {"ttlMs": LIST_TTL_MS, "cacheScope": "public"}

_METHODS: Mapping[bool, Mapping[str, _Method]] = {
    False: {
        "initialize": Server._initialize,
        "ping": Server._ping,
        "tools/list": Server._list,
        "tools/call": Server._call,
    },
    True: {
        "server/discover": Server._discover,
        "tools/list": Server._list_cacheable,
        "tools/call": Server._call,
    },
}
"""Whether stateless → method → what answers it."""


def _rejection(rejected: JsonRpcError, status: int, about: Mapping[str, str]) -> http.Response:
    return http.json_response(status, jsonrpc.error(rejected), {**about, "rejected": str(rejected.code)})


def _taken_note_of(request: http.Request, message: Message | None) -> http.Response:
    """The answer to what asks for none: a notification, or a response (None).

    Raises:
        JsonRpcError: the version is not served, or is one in which clients send no responses.
    """
    version = request.header("mcp-protocol-version")
    handshake = version is None or version in versions.HANDSHAKE
    if message is None and not handshake:
        raise JsonRpcError(versions.INVALID_REQUEST, "A response was sent, but nothing was asked.")
    if version is not None and not handshake and version not in versions.STATELESS:
        raise _unsupported(version)
    return http.Response(202, about={"rpc": "response" if message is None else _loggable(message)})


def _loggable(message: Message) -> str:
    return message.method if _LOGGED_METHOD.match(message.method) else "?"


def _meta(message: Message) -> Mapping[str, Any]:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _check_envelope(request: http.Request, message: Message, stateless: bool) -> None:
    """What must hold before a method is looked up, in the order of the specification.

    Raises:
        JsonRpcError: with the code of the first check that fails.
    """
    sent = request.header("mcp-protocol-version")
    if not stateless:
        # initialize negotiates; its header, if any, is a guess.
        if sent is not None and sent not in versions.HANDSHAKE and message.method != "initialize":
            raise _unsupported(sent)
        return
    for name in versions.ROUTING_HEADERS:
        if sum(key == name for key, _ in request.headers) > 1:
            raise JsonRpcError(versions.HEADER_MISMATCH, f"The header {name} was sent more than once.")
    meta = _meta(message)
    _check_complete(meta)
    wanted = meta[versions.META_VERSION]
    mirrored = [("mcp-protocol-version", sent, wanted), ("mcp-method", request.header("mcp-method"), message.method)]
    named_by = versions.NAMED_BY.get(message.method)
    if named_by is not None and message.params.get(named_by) is not None:
        mirrored.append(("mcp-name", _decoded(request.header("mcp-name")), message.params[named_by]))
    for name, mirror, value in mirrored:
        if mirror != value or mirror is None:
            raise JsonRpcError(versions.HEADER_MISMATCH, f"The header {name} is missing, or not what the body says.")
    _check_served(meta)


def _check_complete(meta: Mapping[str, Any]) -> None:
    missing = [key for key in (versions.META_VERSION, versions.META_CAPABILITIES) if key not in meta]
    if missing:
        raise JsonRpcError(versions.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")


def _check_served(meta: Mapping[str, Any]) -> None:
    wanted = meta[versions.META_VERSION]
    if not isinstance(wanted, str):
        raise JsonRpcError(versions.INVALID_PARAMS, f"{versions.META_VERSION} must be a string.")
    if wanted not in versions.STATELESS:
        raise _unsupported(wanted)
    if not isinstance(meta[versions.META_CAPABILITIES], dict):
        raise JsonRpcError(versions.INVALID_PARAMS, f"{versions.META_CAPABILITIES} must be an object.")


def _unsupported(version: str) -> JsonRpcError:
    data = {"supported": list(versions.STATELESS), "requested": version}
    return JsonRpcError(versions.UNSUPPORTED_VERSION, "This protocol version is not served.", data)


def _decoded(value: str | None) -> str | None:
    """A header's value, with ``=?base64?…?=`` undone; None for one that is absent or broken."""
    match = None if value is None else _BASE64.match(value)
    if match is None:
        return value
    try:
        decoded = binascii.a2b_base64(match[1], strict_mode=True)
        # Only the spelling that an encoder makes: two headers that look different must not name the same tool.
        return decoded.decode() if binascii.b2a_base64(decoded, newline=False).decode() == match[1] else None
    except ValueError:  # no base64, no ASCII, no UTF-8
        return None


def _request_credentials(request: http.Request) -> RequestCredentials:
    """The API keys a request carries. The scheme's name is matched without regard to case (RFC 9110, 11.1)."""
    scheme, _, token = (request.header("authorization") or "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return RequestCredentials(bearer, request.header("x-api-key") or "", request.key_in_query)
