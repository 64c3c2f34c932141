"""A source at which its user signs in, an issuer of our own for it, and a browser that follows the links."""

import io
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.authorization_server import AuthorizationServer, Grant
from tests.support.local_server import Handler, HttpService, Received, Reply, as_json
from tests.support.mcp_sources import HttpServer
from toolfold.build.compiler import compile_folder

CLIENT = "app-7:0wn+s3cret/of-the-app"

_SOURCE = """
id: notes
kind: http_api
base_url: {service}
title: Notes
description: The notes of a user
auth:
  oauth2:
    grant: authorization_code
    authorization_url: {issuer}/authorize
    token_url: {issuer}/token
    revocation_url: {issuer}/revoke
    scopes: [notes]
    resource: {service}
tools:
  - {{name: find, summary: Notes of the user that match a text, path: /notes, parameters: {{q: string}}}}
  - {{name: add, summary: Add one more note to the others, method: POST, path: /notes, parameters: {{text: string}}}}
"""

_KEYED = """
id: keyed
kind: http_api
base_url: {service}
title: Keyed
description: The notes of a user, by key
auth: {{header: X-Key, caller_key: true}}
tools:
  - {{name: find, summary: Notes of the user that match a text, path: /notes, parameters: {{q: string}}}}
"""


class SignInServer(AuthorizationServer):
    """An authorization server that approves at once, accepts any loopback port, and revokes."""

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        client_id, _, secret = CLIENT.partition(":")
        self.clients[client_id] = {"client_secret": secret, "redirect_uris": _LoopbackPorts()}
        self.is_denied = False
        self.revoked: list[str] = []

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return status, headers and body of a response."""
        parts = urlsplit(path)
        if parts.path == "/tenant/authorize" and self.is_denied:
            query = dict(parse_qsl(parts.query))
            return 302, {"location": f"{query['redirect_uri']}?error=access_denied&state={query['state']}"}, b""
        if (method, parts.path) == ("POST", "/tenant/revoke"):
            self._authenticate(dict(parse_qsl(body.decode())), headers, needs_secret=True)
            self.revoked.append(dict(parse_qsl(body.decode()))["token"])
            self._refresh_tokens.pop(self.revoked[-1], None)
            return 200, {}, b""
        return super().handle(method, path, headers, body)

    def forget_users(self) -> None:
        """Revoke every refresh token, as a user does in the account."""
        self._refresh_tokens.clear()

    def claims(self, grant: Grant, *, is_machine: bool) -> dict[str, Any]:
        """Return the claims of an access token, which differ each time."""
        return {**super().claims(grant, is_machine=is_machine), "jti": str(len(self.events))}


class _LoopbackPorts:
    def __contains__(self, uri: object) -> bool:
        parts = urlsplit(str(uri))
        return (parts.scheme, parts.hostname, parts.path) == ("http", "127.0.0.1", "/callback")


class NotesService(HttpService):
    """An API that accepts ``keys``, and the tokens that the issuer has given out, but for ``refused``."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.issuer: SignInServer | None = None
        self.refused: set[str] = set()
        self.keys: set[str] = set()

    def _answer(self, request: Received) -> Reply:
        if request.headers.get("x-key", "") in self.keys:
            return as_json([{"id": 1, "text": "buy milk"}])
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.issuer is None or token not in self.issuer.issued or token in self.refused:
            return as_json({"message": f"no such token: {token}"}, 401)
        return as_json([{"id": 1, "text": "buy milk"}])

    def tokens(self) -> list[str]:
        """Return the token of each request."""
        return [request.headers.get("authorization", "").removeprefix("Bearer ") for request in self.received]


class GuardedMcpServer(HttpServer):
    """An MCP server that accepts the tokens that the issuer has given out, but for ``refused``."""

    def __init__(self) -> None:
        super().__init__()
        self.issuer: SignInServer | None = None
        self.refused: set[str] = set()
        self.tokens: list[str] = []
        self.heads: list[str] = []
        self.metadata_path, self.names_metadata = "/.well-known/oauth-protected-resource/mcp", False

    def answer(self, request: Handler) -> None:
        self.heads.append(f"{request.path}\n{request.headers}")
        self.tokens.append(request.headers.get("authorization", "").removeprefix("Bearer "))
        if self.issuer is None or self.tokens[-1] not in self.issuer.issued or self.tokens[-1] in self.refused:
            request.rfile.read(int(request.headers["content-length"]))
            named = self.url.replace("/mcp", self.metadata_path)
            challenge = f'Bearer error="invalid_token", resource_metadata="{named}"'
            request.reply(401, {"www-authenticate": challenge} if self.names_metadata else {}, b"")
            return
        super().answer(request)

    def answer_get(self, request: Handler) -> None:
        """Answer with the metadata of RFC 9728."""
        assert self.issuer is not None
        metadata = {"resource": self.url, "authorization_servers": [self.issuer.url], "scopes_supported": ["notes"]}
        request.reply(*as_json(metadata, 200 if request.path == self.metadata_path else 404))


def auth_of(issuer: SignInServer) -> dict[str, Any]:
    """Return the ``auth`` of a source whose users sign in at ``issuer``."""
    urls = {name: f"{issuer.url}/{path}" for name, path in _PATHS.items()}
    return {"oauth2": {"grant": "authorization_code", **urls, "scopes": ["notes"], "resource": issuer.resources[0]}}


_PATHS = {"authorization_url": "authorize", "token_url": "token", "revocation_url": "revoke"}


def write_catalog(folder: Path, service: HttpService, issuer: SignInServer) -> Path:
    """Return the file of the compiled catalog of the source."""
    for id_, text in (("notes", _SOURCE), ("keyed", _KEYED)):
        (folder / "catalog" / id_).mkdir(parents=True)
        (folder / "catalog" / id_ / "source.yaml").write_text(text.format(service=service.url, issuer=issuer.url))
    path = folder / "catalog.json"
    path.write_text(compile_folder(folder / "catalog"))
    return path


def variables(folder: Path, service: HttpService, issuer: SignInServer) -> dict[str, str]:
    """Return the variables of a process that uses the source."""
    hosts = ",".join(urlsplit(url).netloc for url in (service.url, issuer.url))
    return {
        "TOOLFOLD_CATALOG": str(write_catalog(folder, service, issuer)),
        "TOOLFOLD_ALLOWED_HOSTS": hosts,
        "TOOLFOLD_SOURCE_NOTES_KEY": CLIENT,
        "HOME": str(folder / "home"),
        "XDG_DATA_HOME": str(folder / "home/data"),
        "XDG_CACHE_HOME": str(folder / "home/cache"),
        "XDG_CONFIG_HOME": str(folder / "home/config"),
    }


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Browser:
    """Follow links, with cookies."""

    def __init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies, urllib.request.ProxyHandler({}), _Stay())

    def step(self, url: str) -> tuple[int, str, Mapping[str, str]]:
        """Return status, text and headers of the answer to one request; status 0 where nothing listens any more."""
        try:
            response = self._opener.open(url, timeout=60)
        except urllib.error.HTTPError as error:
            response = error
        except OSError:  # also a reset of a connection that was not accepted any more
            return 0, "", {}
        with response:
            return response.status, response.read().decode(), response.headers

    def leads_to(self, url: str) -> str:
        """Return where ``url`` redirects to."""
        status, _, headers = self.step(url)
        assert status in (302, 303)
        return headers["location"]

    def open(self, url: str) -> tuple[int, str, Mapping[str, str]]:
        """Return status, text and headers of the page to which ``url`` leads."""
        answer = self.step(url)
        while answer[0] in (302, 303):
            answer = self.step(answer[2]["location"])
        return answer


class Terminal(io.StringIO):
    """A terminal whose user opens each link."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for word in text.split():
            if word.startswith("http://"):
                threading.Thread(target=Browser().open, args=[word]).start()
        return super().write(text)
