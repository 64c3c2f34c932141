"""Clients of the SDKs authorize themselves, unattended, with an authorization server over HTTP."""

import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.helpers import (
    FOLDER,
    TOOLFOLD,
    check_listing,
    check_quote,
    node,
    output,
    start_server,
)
from tests.support.authorization_server import AuthorizationServer, CognitoServer
from tests.support.local_server import Handler, HttpService, LocalServer, as_json
from tests.support.ports import free_port
from tests.support.tls import server_context, write_certificate
from toolfold.mock_api.server import MockApi

pytestmark = pytest.mark.clients

REDIRECT_URI = "http://localhost:3334/oauth/callback"
EXPIRES_SOON_S, PAUSE_S = -54, "6.5"
"""The end of a token that is accepted for six more seconds, because clocks may differ by a minute; and more of them."""

CLIENTS = {
    "Python, handshake": [sys.executable, str(FOLDER / "oauth_steps.py"), "legacy"],
    "Python, stateless": [sys.executable, str(FOLDER / "oauth_steps.py"), "auto"],
    "TypeScript v1": ["node", str(FOLDER / "oauth_steps.mjs"), "v1"],
    "TypeScript v2": ["node", str(FOLDER / "oauth_steps.mjs"), "v2"],
}

Serve = Callable[..., "tuple[str, Path]"]


@pytest.fixture
def serve(environment: Mapping[str, str], tmp_path: Path) -> Iterator[Serve]:
    """Start ``toolfold serve`` for an issuer; returns its URL and its log."""
    with ExitStack() as running:

        def start(issuer: str, port: int, public_url: str = "", **settings: str) -> tuple[str, Path]:
            log = tmp_path / f"log-{port}"
            url = f"http://127.0.0.1:{port}/mcp"
            variables = {"TOOLFOLD_OAUTH_ISSUER": issuer, "TOOLFOLD_PUBLIC_URL": public_url or url, **settings}
            command = [TOOLFOLD, "serve", "--port", str(port)]
            assert running.enter_context(start_server(command, env={**environment, **variables}, log=log)) == url
            return public_url or url, log

        yield start


def run(client: str, environment: Mapping[str, str], folder: Path, *arguments: str, **variables: str) -> Any:
    """Run a client to its end and check what it received; return what it printed."""
    command = [node() if part == "node" else part for part in CLIENTS[client]]
    answers = output([*command, *arguments], env={**environment, **variables}, cwd=folder)
    for step, check in zip(answers["steps"], (check_listing, check_quote), strict=True):
        assert not step.get("isError")
        check(step["structuredContent"])
    return answers


def check_no_token_left(server: AuthorizationServer, log: Path, mock_api: MockApi) -> None:
    """Check that no token reached the log or the upstream."""
    written, sent = log.read_text(), str(mock_api.requests)
    assert server.issued
    assert '"caller"' in written
    for token in server.issued:
        for text in (written, sent):
            assert token not in text
            assert token.rpartition(".")[2] not in text  # the signature alone


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_discovers_registers_authorizes_and_refreshes(
    client: str, serve: Serve, environment: Mapping[str, str], mock_api: MockApi, tmp_path: Path
) -> None:
    mock_api.clear_requests()
    port = free_port()
    with AuthorizationServer(f"http://127.0.0.1:{port}/mcp") as server:
        server.lifetimes = [EXPIRES_SOON_S]
        url, log = serve(server.url, port)
        run(client, environment, tmp_path, url, PAUSE_S, REDIRECT_URI)
        assert server.kinds() == ["register", "authorize", "authorization_code", "refresh_token"]
        asked = server.events[1][1]
        assert (asked["resource"], asked["scope"]) == (url, "tools:read tools:call")
        assert asked["code_challenge_method"] == "S256"
        check_no_token_left(server, log, mock_api)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_asks_for_the_scope_that_a_call_needs(
    client: str, serve: Serve, environment: Mapping[str, str], tmp_path: Path
) -> None:
    port = free_port()
    with AuthorizationServer(f"http://127.0.0.1:{port}/mcp") as server:
        server.granted_at_first = "tools:read"
        server.issues_refresh_tokens = False  # TypeScript's v1 refreshes instead, which cannot add a scope
        url, _ = serve(server.url, port)
        run(client, environment, tmp_path, url, "0", REDIRECT_URI)
        assert server.kinds()[-2:] == ["authorize", "authorization_code"]
        asked = [parameters["scope"].split() for kind, parameters in server.events if kind == "authorize"]
        assert len(asked) == 2
        assert set(asked[1]) == {"tools:read", "tools:call"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_known_by_its_metadata_document(
    client: str, serve: Serve, environment: Mapping[str, str], tmp_path: Path
) -> None:
    certificate = write_certificate(tmp_path / "documents.pem", "127.0.0.1")
    port, documents = free_port(), HttpService(context=server_context(certificate))
    client_id = f"https://127.0.0.1:{documents.server_port}/client.json"
    documents.answer = as_json({"client_name": "oauth-steps", "redirect_uris": [REDIRECT_URI], "client_id": client_id})
    with documents, AuthorizationServer(f"http://127.0.0.1:{port}/mcp") as server:
        server.documents = ssl.create_default_context(cafile=str(certificate))
        url, _ = serve(server.url, port)
        answers = run(client, environment, tmp_path, url, "0", REDIRECT_URI, client_id)
        assert answers["client_id"] == client_id
        assert server.kinds() == ["document", "authorize", "authorization_code"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_finds_the_metadata_without_the_header(
    client: str, serve: Serve, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Function URLs rename WWW-Authenticate."""
    port = free_port()

    class Proxy(Handler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream = HTTPConnection("127.0.0.1", port, timeout=60)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            left_out = ("www-authenticate", "connection", "date", "content-length")
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in left_out}
            self.reply(answer.status, headers, content)

        do_GET = do_POST = do_DELETE = do_OPTIONS = forward

    with LocalServer(Proxy) as front:
        public_url = f"http://127.0.0.1:{front.server_port}/mcp"
        with AuthorizationServer(public_url) as server:
            url, _ = serve(server.url, port, public_url)
            run(client, environment, tmp_path, url, "0", REDIRECT_URI)
            assert server.kinds() == ["register", "authorize", "authorization_code"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_uses_cognito_through_the_metadata_of_this_server(
    client: str, serve: Serve, environment: Mapping[str, str], mock_api: MockApi, tmp_path: Path
) -> None:
    mock_api.clear_requests()
    with CognitoServer("toolfold", REDIRECT_URI) as pool:
        pool.lifetimes = [EXPIRES_SOON_S]
        settings = {
            "TOOLFOLD_OAUTH_COGNITO_CLIENT": pool.client_id,
            "TOOLFOLD_OAUTH_REDIRECT_URIS": REDIRECT_URI,
            "TOOLFOLD_OAUTH_SCOPE_PREFIX": "toolfold/",
        }
        url, log = serve(pool.url, free_port(), **settings)
        answers = run(client, environment, tmp_path, url, PAUSE_S, REDIRECT_URI)
        assert answers["client_id"] == pool.client_id
        assert pool.kinds() == ["authorize", "authorization_code", "refresh_token"]
        check_no_token_left(pool, log, mock_api)


@pytest.mark.parametrize("client", [name for name in CLIENTS if name.startswith("Python")])
def test_a_machine_calls_with_client_credentials(
    client: str, serve: Serve, environment: Mapping[str, str], tmp_path: Path
) -> None:
    port = free_port()
    with AuthorizationServer(f"http://127.0.0.1:{port}/mcp") as server:
        server.clients["machine"] = {"client_secret": "secret-of-the-machine"}
        url, _ = serve(server.url, port)
        secret = {"CLIENT_ID": "machine", "CLIENT_SECRET": "secret-of-the-machine"}
        run(client, environment, tmp_path, url, "0", "", "client_credentials", **secret)
        assert server.kinds() == ["client_credentials"]
