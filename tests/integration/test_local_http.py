"""The local HTTP server."""

import base64
import hashlib
import http.client
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.mcp_requests import message
from toolfold import __version__
from toolfold.catalog.store import bundled_path
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler
from toolfold.transports.local_http.server import LocalServer

JSON = {"content-type": "application/json", "accept": "application/json"}


@pytest.fixture(scope="module")
def gateway(mock_api: MockApi) -> Iterator[LocalServer]:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ALLOW_KEY_IN_QUERY": "true"}
    with LocalServer(Settings.from_environment(environment)) as running:
        yield running


@pytest.fixture
def connection(gateway: LocalServer) -> Iterator[http.client.HTTPConnection]:
    connected = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=60)
    yield connected
    connected.close()


def ask(
    connection: http.client.HTTPConnection, body: bytes, path: str = "/mcp", method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    connection.request(method, path, body, {**JSON, **{name.replace("_", "-"): text for name, text in headers.items()}})
    response = connection.getresponse()
    return response.status, response.read()


PING = json.dumps(message("ping")).encode()


def test_the_state_of_the_server_has_its_version_and_its_catalog(connection: http.client.HTTPConnection) -> None:
    status, answer = ask(connection, b"", path="/health", method="GET")
    content = bundled_path().read_bytes()
    catalog = {"sha256": hashlib.sha256(content).hexdigest(), "tools": BUNDLED_TOOLS}
    assert status == 200
    assert json.loads(answer) == {
        "status": "ok",
        "version": __version__,
        "catalog": catalog,
        "sources": {"alpha_vantage": {"circuit_breaker": "closed"}},
    }
    assert ask(connection, b"", path="/health", method="HEAD") == (200, b"")
    assert ask(connection, b"", path="/health", method="POST")[0] == 405
    assert ask(connection, b"", path="/health", method="GET", host="evil.test")[0] == 421
    assert ask(connection, b"", path="/health", method="GET", origin="https://evil.test")[0] == 403


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"])
@pytest.mark.parametrize("abruptly", [False, True])
def test_an_aborted_connection_causes_no_traceback(
    gateway: LocalServer,
    connection: http.client.HTTPConnection,
    capfd: pytest.CaptureFixture[str],
    sent: bytes,
    abruptly: bool,
) -> None:
    parts = urlsplit(gateway.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as client:
        client.sendall(sent)
        if abruptly:  # no lingering: the connection is reset, not closed
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(connection, PING)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


EVENTS = {path.stem: json.loads(path.read_text()) for path in sorted(Path("events").glob("*.json"))}


@pytest.mark.parametrize("name", EVENTS)
def test_answer_is_that_of_the_lambda_handler(
    gateway: LocalServer, connection: http.client.HTTPConnection, name: str
) -> None:
    event = EVENTS[name]
    headers = {**event["headers"], "host": urlsplit(gateway.url).netloc}
    headers.pop("content-length", None)
    handler = gateway.handler
    expected = LambdaHandler(handler.app, configure(handler.app.settings))({**event, "headers": headers})
    body = (event.get("body") or "").encode()
    if event.get("isBase64Encoded"):
        body = base64.b64decode(body)
    connection.request(event["requestContext"]["http"]["method"], "/mcp", body, headers)
    response = connection.getresponse()
    answer = response.read().decode()
    assert response.status == expected["statusCode"]
    own = {"date", "content-length", "connection"}  # a refused request ends its connection
    assert {key.lower(): value for key, value in response.getheaders() if key.lower() not in own} == expected["headers"]
    if name.startswith("tool-call"):  # its notes say how old the answer is
        assert json.loads(answer)["result"].keys() == json.loads(expected["body"])["result"].keys()
    else:
        assert answer == expected["body"]
