"""Requests that servers read differently: each is refused, its connection is closed, and no body becomes a request."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES

from tests.support.examples import examples
from tests.support.raw_http import PING, answers_honestly, connect, exchange, post, read_all
from toolfold.protocol.http import MAX_BODY_BYTES
from toolfold.settings import Settings
from toolfold.transports.local_http import connection
from toolfold.transports.local_http.connection import MAX_HEAD_BYTES
from toolfold.transports.local_http.server import LocalServer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, LocalServer(Settings.from_environment({})) as server:
        patch.setattr(connection, "REFUSED_TIMEOUT_S", 0.3)
        yield server.url


@pytest.fixture(autouse=True)
def _unharmed(url: str, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Check after each test that the server answers a correct request, and wrote no traceback."""
    yield
    assert answers_honestly(url)
    assert "Traceback" not in capfd.readouterr().err


def statuses(received: bytes) -> list[int]:
    """Return the status of each response in ``received``."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


HOST = "127.0.0.1:PPPPP"
"""Stands for the server's address, of the same length."""


def head(*lines: str, host: str = HOST, method: str = "POST", target: str = "/mcp", version: str = "HTTP/1.1") -> bytes:
    return "\r\n".join([f"{method} {target} {version}", f"Host: {host}", *lines, "", ""]).encode("latin-1")


CHUNKED = "Transfer-Encoding: chunked"
JSON = "Content-Type: application/json"
HIDDEN = head(JSON, f"Content-Length: {len(PING)}") + PING
"""A request that would be answered with 200 if it were taken for one."""

LENGTH = f"Content-Length: {len(HIDDEN)}"

REFUSED: dict[str, tuple[int, bytes]] = {
    # R5
    "unread body of another path": (404, head(JSON, LENGTH, target="/x") + HIDDEN),
    "unread body of a foreign host": (421, head(JSON, LENGTH, host="evil.test") + HIDDEN),
    "unread body of a foreign origin": (403, head(JSON, LENGTH, "Origin: https://evil.test") + HIDDEN),
    "unread body that is too large": (413, head(JSON, "Content-Length: 99999999") + HIDDEN),
    "body of an upgrade": (404, head(JSON, LENGTH, "Connection: upgrade", "Upgrade: h2c", target="/") + HIDDEN),
    "unread body in chunks": (
        404, head(JSON, CHUNKED, target="/x") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
    ),
    "bytes after chunks": (400, head(CHUNKED) + b"zz\r\n" + HIDDEN),
    "length and transfer coding": (400, head(JSON, "Content-Length: 5", CHUNKED) + b"0\r\n\r\n" + HIDDEN),
    "transfer coding list": (400, head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n" + HIDDEN),
    "transfer coding with a space": (400, head("Transfer-Encoding : chunked") + b"0\r\n\r\n" + HIDDEN),
    "two equal lengths": (400, head(LENGTH, LENGTH) + HIDDEN),
    "list of lengths": (400, head(f"{LENGTH}, {len(HIDDEN)}") + HIDDEN),
    # R17
    "superscript length": (400, head("Content-Length: \xb2") + HIDDEN),
    "length of 5,000 digits": (400, head("Content-Length: " + "9" * 5_000) + HIDDEN),
    "absolute target without a host": (404, head(LENGTH, target="http://[") + HIDDEN),
    "negative length": (400, head("Content-Length: -1") + HIDDEN),
    "length with an underscore": (400, head("Content-Length: 6_2") + HIDDEN),
    "empty length": (400, head("Content-Length: ") + HIDDEN),
    "absolute target of another host": (404, head(LENGTH, target="http://evil.test/mcp") + HIDDEN),
    "authority target": (404, head(method="CONNECT", target="evil.test:443") + HIDDEN),
    "HTTP/0.9": (400, b"GET /mcp\r\n\r\n" + HIDDEN),
    "preface of HTTP/2": (421, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN),
    "folded header": (400, head("X: a", " Content-Length: 3") + HIDDEN),
    "header folded with a tab": (400, head("X: a", "\tb") + HIDDEN),
    "one bare line feed": (400, head("X: a\nContent-Length: 5") + HIDDEN),
    "bare carriage return": (400, head("X: a\rContent-Length: 5") + HIDDEN),
    "NUL in a name": (400, head("X\0: a") + HIDDEN),
    "control character": (400, head("X: \x01") + HIDDEN),
    "escape sequence": (400, head("X: \x1b[2J") + HIDDEN),
    "name that is no token": (400, head("Con(tent: 5") + HIDDEN),
    "leading blank line": (400, b"\r\n" + head(LENGTH) + HIDDEN),
    "no host": (400, b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + HIDDEN),
    "no host in HTTP/1.0": (421, b"POST /mcp HTTP/1.0\r\nContent-Length: 0\r\n\r\n" + HIDDEN),
    "two hosts": (400, head("Host: evil.test") + HIDDEN),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)),
    "head that is too large": (431, head("X: " + "a" * MAX_HEAD_BYTES) + HIDDEN),
    "head that never ends": (431, b"POST /mcp HTTP/1.1\r\n" + b"X: a\r\n" * 100_000),
    "target that is too long": (431, head(target="/" + "a" * MAX_HEAD_BYTES) + HIDDEN),
    "chunk size that is no number": (400, head(CHUNKED) + b"-1\r\n" + HIDDEN),
    "chunk that is too large": (413, head(JSON, CHUNKED) + b"fffffffff\r\n" + b" " * (MAX_BODY_BYTES + 1)),
    "chunks of one byte": (413, head(JSON, CHUNKED) + b"1\r\n \r\n" * 100_000),
    "chunk size without a line": (431, head(CHUNKED) + b"1;" + b"a" * 70_000),
    "chunk without its end": (400, head(CHUNKED) + b"1\r\nab\r\n0\r\n\r\n" + HIDDEN),
    "bare line feeds in chunks": (400, head(CHUNKED) + b"1\na\n0\n\n" + HIDDEN),
    "trailers without end": (431, head(CHUNKED) + b"0\r\n" + b"X: a\r\n" * 20_000),
}  # fmt: skip


def located(data: bytes, url: str) -> bytes:
    return data.replace(b"PPPPP", b"%d" % (urlsplit(url).port or 0))


@pytest.mark.parametrize("what", REFUSED)
def test_ambiguous_request_is_refused_and_its_connection_closed(url: str, what: str) -> None:  # R5 R17
    status, data = REFUSED[what]
    received = exchange(url, located(data, url))
    assert statuses(received) == [status]
    assert received.startswith(b"HTTP/1.1 %d %s\r\ndate: " % (status, STATUS_PHRASES[status]))
    assert b"\r\nconnection: close\r\n" in received.lower()


@pytest.mark.parametrize("what", ["chunk extension", "trailer", "no trailer"])
def test_bytes_after_a_chunked_body_are_no_request(url: str, what: str) -> None:  # R5
    size, trailer = {
        "chunk extension": (b"%x;a=b", b""),
        "trailer": (b"%x", b"Content-Length: 5\r\n"),
        "no trailer": (b"%x", b""),
    }[what]
    body = size % len(PING) + b"\r\n" + PING + b"\r\n0\r\n" + trailer + b"\r\n"
    received = exchange(url, located(head(JSON, CHUNKED) + body + HIDDEN, url))
    assert statuses(received) == [200]
    assert b"\r\nconnection: close\r\n" in received


def test_every_method_and_path_checks_host_and_origin_first(url: str) -> None:  # R24
    for method in ("POST", "GET", "OPTIONS", "HEAD", "DELETE", "PUT", "BREW"):
        for target in ("/mcp", "/", "/no-such", "/mcp/../x", "//evil.test/mcp", "/%6dcp"):
            for refusal, lines in ((421, ("Host: evil.test",)), (403, (f"Host: {HOST}", "Origin: null"))):
                request = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "Content-Length: 9999999", "", ""])
                with connect(url) as client:
                    client.sendall(located(request.encode(), url))
                    client.shutdown(1)
                    received = read_all(client)
                assert statuses(received) == [refusal], (method, target)
                assert b"access-control-allow-origin" not in received


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_loopback_names_are_accepted_with_the_port(url: str, host: str) -> None:
    port = urlsplit(url).port
    assert statuses(exchange(url, post(url, PING, "Connection: close", host=f"{host}:{port}"))) == [200]
    assert statuses(exchange(url, post(url, PING, host=host))) == [421]
    assert statuses(exchange(url, post(url, PING, host=f"{host}.:{port}"))) == [421]
    assert statuses(exchange(url, post(url, PING, host=f"evil@{host}:{port}"))) == [421]


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    bodies = [PING.replace(b'"id": 1', b'"id": %d' % number) for number in range(20)]
    data = b"".join(post(url, body) for body in bodies) + post(url, PING, "Connection: close")
    received = exchange(url, data)
    assert [int(id_) for id_ in re.findall(rb'"id":(\d+)', received)] == [*range(20), 1]


def test_http_1_0_is_answered_and_closed(url: str) -> None:
    received = exchange(url, post(url).replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n" + HIDDEN)
    assert statuses(received) == [200]


def test_client_waits_for_100_before_it_sends_a_body(url: str) -> None:
    request = post(url, PING, "Expect: 100-continue", "Connection: close")
    with connect(url) as client:
        client.sendall(request[: -len(PING)])
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(PING)
        assert statuses(read_all(client)) == [200]
    too_large = post(url, PING, "Expect: 100-continue").replace(b"Content-Length: ", b"Content-Length: 99999")
    assert statuses(exchange(url, too_large[: -len(PING)])) == [413]


def test_head_has_headers_only(url: str) -> None:
    for target, status in (("/mcp", 405), ("/x", 404)):
        request = head("Connection: close", method="HEAD", target=target)
        received = exchange(url, located(request, url))
        assert statuses(received) == [status]
        assert received.endswith(b"\r\n\r\n")
        assert int(re.findall(rb"content-length: (\d+)", received)[0]) > 0


PIECES = st.sampled_from(
    [
        b"POST /mcp HTTP/1.1\r\n", b"GET / HTTP/1.0\r\n", b"Content-Length: 5\r\n", b"\r\n", b"\n",
        f"Host: {HOST}\r\n".encode(),
        b"Transfer-Encoding: chunked\r\n", b"Connection: keep-alive\r\n", b"Connection: close\r\n", b"5\r\n", b"0\r\n",
        b"Expect: 100-continue\r\n", b"Content-Type: application/json\r\n", b"Upgrade: websocket\r\n", PING, HIDDEN,
        b"Origin: null\r\n", b"Content-Length: %d\r\n" % len(PING), b" ", b"\0", b"\xff", b":",
    ]
)  # fmt: skip


@examples(60, many=3_000)
@given(st.lists(PIECES | st.binary(max_size=20), max_size=12))
@example([b"POST /mcp HTTP/1.1\r\n", f"Host: {HOST}\r\n".encode(), b"Connection: close\r\n", b"\r\n", b"\0"])
def test_no_bytes_harm_the_server(url: str, pieces: list[bytes]) -> None:
    with connect(url) as client:
        client.sendall(located(b"".join(pieces), url))
        client.shutdown(1)
        received = read_all(client)
    assert received == b"" or received.startswith(b"HTTP/1.1 ")
    assert not {status for status in statuses(received) if status >= 500}
    assert answers_honestly(url)
