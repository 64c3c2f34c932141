"""The HTTP server: persistent connections, logging, and faults of connections."""

import http.client
import io
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.support.cpu_time import ends_within
from toolfold.mock_api import MockApi

QUOTE = "/query?function=GLOBAL_QUOTE&symbol=IBM&apikey=SECRETKEY"

Connection = http.client.HTTPConnection


@pytest.fixture
def mock_api() -> Iterator[MockApi]:
    with MockApi() as running:
        yield running


@pytest.fixture
def connection(mock_api: MockApi) -> Iterator[Connection]:
    connection = connect(mock_api)
    yield connection
    connection.close()


def connect(mock_api: MockApi, timeout: float = 20) -> Connection:
    return Connection("127.0.0.1", mock_api.port, timeout=timeout)


def get(connection: Connection, path: str, method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
    connection.request(method, path, body=b"x" if method == "POST" else None)
    response = connection.getresponse()
    return response, response.read()


def fault(name: str, **more: str) -> str:
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    return f"/query?function=TIME_SERIES_DAILY&symbol=FAULT.{name}&apikey=any{rest}"


def test_a_response_has_content_type_and_length(connection: Connection) -> None:
    response, body = get(connection, QUOTE)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Length"] == str(len(body))
    assert "Global Quote" in json.loads(body)
    response, body = get(connection, QUOTE + "&datatype=csv")
    assert response.headers["Content-Type"] == "application/x-download"
    assert body.startswith(b"symbol,open,")


def test_requests_are_recorded_in_order_with_repeats_and_keys(mock_api: MockApi, connection: Connection) -> None:
    for path in (QUOTE, "/query?RANGE=a&RANGE=b&empty="):
        get(connection, path)
    assert mock_api.requests == [
        [("function", "GLOBAL_QUOTE"), ("symbol", "IBM"), ("apikey", "SECRETKEY")],
        [("RANGE", "a"), ("RANGE", "b"), ("empty", "")],
    ]
    mock_api.clear_requests()
    assert mock_api.requests == []


def test_concurrent_requests(mock_api: MockApi) -> None:
    def fetch(_: int) -> bytes:
        with closing(connect(mock_api)) as connection:
            return get(connection, QUOTE)[1]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(fetch, range(16)))) == 1
    assert len(mock_api.requests) == 16


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/other", 404), ("POST", "/query", 405)])
def test_other_paths_and_methods_are_refused(
    mock_api: MockApi, connection: Connection, method: str, path: str, status: int
) -> None:
    response, body = get(connection, path, method)
    assert (response.status, b"<" in body, mock_api.requests) == (status, False, [])


def test_truncated_sends_less_than_content_length(connection: Connection) -> None:
    with pytest.raises(http.client.IncompleteRead):
        get(connection, fault("TRUNCATED"))


def test_reset_closes_without_a_response(connection: Connection) -> None:
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        get(connection, fault("RESET"))


def test_slow_waits_before_the_first_byte(mock_api: MockApi, connection: Connection) -> None:
    started = time.monotonic()
    connection.request("GET", fault("SLOW.0.3"))
    assert connection.getresponse().status == 200
    assert time.monotonic() - started >= 0.3
    short_timeout = connect(mock_api, timeout=0.2)
    short_timeout.request("GET", fault("SLOW.60"))
    with pytest.raises(TimeoutError):
        short_timeout.getresponse()
    short_timeout.close()


def test_drip_sends_the_body_slowly(connection: Connection) -> None:
    started = time.monotonic()
    connection.request("GET", fault("DRIP.0.4"))
    assert json.loads(connection.getresponse().read())["data"]
    assert time.monotonic() - started >= 0.3
    with ends_within(0):
        connection.request("GET", fault("DRIP.60"))
        assert connection.getresponse().read1(1) == b"{"


def test_close_does_not_wait_for_slow_responses_or_idle_connections() -> None:
    with ends_within(0), MockApi() as mock_api:
        idle, slow = connect(mock_api), connect(mock_api)
        get(idle, QUOTE)
        slow.request("GET", fault("SLOW.60"))
        time.sleep(0.1)
    with pytest.raises(ConnectionRefusedError):
        connect(mock_api).connect()
    idle.close()
    slow.close()


def test_the_log_has_function_and_status_and_never_a_key(capfd: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    with MockApi(log=log) as mock_api:
        connection = connect(mock_api)
        for path in (QUOTE, "/query?function=SECRETKEY&apikey=any", fault("HTTP503")):
            get(connection, path)
        connection.close()
    assert log.getvalue() == "GLOBAL_QUOTE 200\n? 200\nTIME_SERIES_DAILY 503\n"
    assert capfd.readouterr() == ("", "")


def test_a_taken_port_is_an_error_and_a_server_that_never_served_can_be_closed() -> None:
    mock_api = MockApi()
    with pytest.raises(OSError, match="in use"):
        MockApi(port=mock_api.port)
    mock_api.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", mock_api.port)) != 0
