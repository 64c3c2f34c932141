"""The HTTP server: persistent connections, logging, and faults of connections."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from toolfold.mock_api import MockApi

QUOTE = "/query?function=GLOBAL_QUOTE&symbol=IBM&apikey=SECRETKEY"


@pytest.fixture
def mock_api() -> Iterator[MockApi]:
    with MockApi() as running:
        yield running


def connect(mock_api: MockApi, timeout: float = 5) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", mock_api.port, timeout=timeout)


def fault(name: str, **more: str) -> str:
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    return f"/query?function=TIME_SERIES_DAILY&symbol=FAULT.{name}&apikey=any{rest}"


def test_many_requests_share_one_connection(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    connection.connect()
    first = connection.sock
    for path in (QUOTE, fault("HTTP503"), "/nowhere", QUOTE):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert response.version == 11
        assert connection.sock is first
    connection.close()


def test_a_response_has_content_type_and_length(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    connection.request("GET", QUOTE)
    response = connection.getresponse()
    body = response.read()
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Length"] == str(len(body))
    assert "Global Quote" in json.loads(body)
    connection.request("GET", QUOTE + "&datatype=csv")
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "application/x-download"
    assert response.read().startswith(b"symbol,open,")
    connection.close()


def test_requests_are_recorded_in_order_with_repeats_and_keys(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    for path in (QUOTE, "/query?RANGE=a&RANGE=b&empty="):
        connection.request("GET", path)
        connection.getresponse().read()
    assert mock_api.requests == [
        [("function", "GLOBAL_QUOTE"), ("symbol", "IBM"), ("apikey", "SECRETKEY")],
        [("RANGE", "a"), ("RANGE", "b"), ("empty", "")],
    ]
    mock_api.clear_requests()
    assert mock_api.requests == []
    connection.close()


def test_concurrent_requests(mock_api: MockApi) -> None:
    def get(_: int) -> bytes:
        connection = connect(mock_api)
        connection.request("GET", QUOTE)
        body = connection.getresponse().read()
        connection.close()
        return body

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(get, range(40)))) == 1
    assert len(mock_api.requests) == 40


def test_the_root_path_describes_the_server_and_other_paths_are_404(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    connection.request("GET", "/")
    response = connection.getresponse()
    text = response.read().decode()
    assert (response.status, "mock API" in text, "<" in text) == (200, True, False)
    connection.request("GET", "/other")
    response = connection.getresponse()
    assert (response.status, b"<" in response.read()) == (404, False)
    connection.request("POST", "/query", body=b"x")
    response = connection.getresponse()
    assert (response.status, b"<" in response.read()) == (405, False)
    connection.close()
    assert mock_api.requests == []


def test_truncated_sends_less_than_content_length(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    connection.request("GET", fault("TRUNCATED"))
    response = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    connection.close()


def test_reset_closes_without_a_response(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    connection.request("GET", fault("RESET"))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    connection.close()


def test_slow_waits_before_the_first_byte(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    started = time.monotonic()
    connection.request("GET", fault("SLOW.0.3"))
    assert connection.getresponse().status == 200
    assert 0.3 <= time.monotonic() - started < 3
    connection.close()
    short_timeout = connect(mock_api, timeout=0.2)
    short_timeout.request("GET", fault("SLOW.60"))
    with pytest.raises(TimeoutError):
        short_timeout.getresponse()
    short_timeout.close()


def test_drip_sends_the_body_slowly(mock_api: MockApi) -> None:
    connection = connect(mock_api)
    started = time.monotonic()
    connection.request("GET", fault("DRIP.1.2"))
    response = connection.getresponse()
    early = time.monotonic() - started
    assert json.loads(response.read())["data"]
    assert early < 0.6 <= time.monotonic() - started
    connection.close()


def test_huge_and_redirect_and_retry_after_over_http(mock_api: MockApi) -> None:
    connection = connect(mock_api, timeout=20)
    connection.request("GET", fault("HUGE", datatype="csv"))
    assert len(connection.getresponse().read()) > 19_000_000
    connection.request("GET", fault("REDIRECT"))
    response = connection.getresponse()
    response.read()
    assert urlsplit(response.headers["Location"]).hostname == "elsewhere.example"
    connection.request("GET", fault("HTTP429"))
    response = connection.getresponse()
    response.read()
    assert response.headers["Retry-After"] == "7"
    connection.close()


def test_close_does_not_wait_for_slow_responses_or_idle_connections() -> None:
    mock_api = MockApi().__enter__()
    idle = connect(mock_api)
    idle.request("GET", QUOTE)
    idle.getresponse().read()
    slow = connect(mock_api)
    slow.request("GET", fault("SLOW.60"))
    time.sleep(0.1)
    started = time.monotonic()
    mock_api.close()
    assert time.monotonic() - started < 2
    with pytest.raises(ConnectionRefusedError):
        connect(mock_api).connect()
    idle.close()
    slow.close()


def test_the_log_has_function_and_status_and_never_a_key(capfd: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    with MockApi(log=log) as mock_api:
        connection = connect(mock_api)
        for path in (QUOTE, "/query?function=SECRETKEY&apikey=any", fault("HTTP503")):
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()
    assert log.getvalue() == "GLOBAL_QUOTE 200\n? 200\nTIME_SERIES_DAILY 503\n"
    assert capfd.readouterr() == ("", "")


def test_serve_forever_serves_from_the_calling_thread() -> None:
    mock_api = MockApi()
    thread = threading.Thread(target=mock_api.serve_forever)
    thread.start()
    connection = connect(mock_api)
    connection.request("GET", QUOTE)
    assert connection.getresponse().status == 200
    connection.close()
    mock_api.close()
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_a_taken_port_is_an_error_and_a_server_that_never_served_can_be_closed() -> None:
    mock_api = MockApi()
    with pytest.raises(OSError, match="in use"):
        MockApi(port=mock_api.port)
    mock_api.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", mock_api.port)) != 0
