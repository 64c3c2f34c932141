"""Any bytes that a server may send lead to a response or an error of toolfold, in time; and the next call works."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.support.byte_server import OK, ByteServer, Pieces
from tests.support.http import KEY, Send
from tests.support.upstream import CSV
from toolfold.errors import CallError
from toolfold.models import UpstreamResponse
from toolfold.sources.base import ConnectionFailed

WITHIN_S = 0.3
LATE_S = 4.0
"""How much later an error may come on a machine that does other things as well: before the server gives up."""


Ask = Callable[..., UpstreamResponse | CallError]


@pytest.fixture(scope="module")
def server() -> Iterator[ByteServer]:
    running = ByteServer()
    yield running
    running.close()


@pytest.fixture(scope="module")
def ask(server: ByteServer) -> Ask:
    """Call a tool that is answered with these pieces; raise everything except errors of toolfold."""
    from toolfold.catalog.store import FileStore, bundled_path

    send = Send(FileStore(bundled_path())())

    def asked(pieces: Pieces, hangs_up: bool = True, within_s: float = WITHIN_S) -> UpstreamResponse | CallError:
        server.pieces, server.hangs_up = pieces, hangs_up
        started = time.monotonic()
        try:
            return send(server.url, within_s=within_s, limit=100_000)
        except CallError as error:
            caught = error
        finally:
            assert time.monotonic() - started < within_s + LATE_S
            send.http_client.close()  # the server hangs up without notice
        assert KEY not in repr(caught.as_dict())
        return caught

    return asked


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("drips", [b"", b"H", HEAD + b"X: y", HEAD + b"Content-Length: 99\r\n\r\n", HEAD + b"\r\n"])
@pytest.mark.parametrize("drop", [b"y", b"\r\nX: y"])
def test_a_dripping_response_ends_at_the_deadline(ask: Ask, drips: bytes, drop: bytes) -> None:
    result = ask([(drips, 0.0), *[(drop, 0.1)] * 100])
    assert isinstance(result, CallError)
    assert result.code in {"UPSTREAM_TIMEOUT", "UPSTREAM_ERROR"}


@pytest.mark.parametrize("rows", [1, 60])
def test_a_malformed_header_takes_little_time(ask: Ask, rows: int) -> None:
    # The parser of e-mail takes four times as long for twice as much of this, and has no deadline.
    line = b'Content-Type: multipart/x; a="' + b"\r\n ".join([b";" * (16_000 // rows)] * rows)
    assert isinstance(ask([(HEAD + line + b"\r\n\r\n" + CSV.encode(), 0.0)], within_s=5.0), UpstreamResponse)
    assert isinstance(ask([(HEAD + line * 5 + b"\r\n\r\n" + CSV.encode(), 0.0)]), ConnectionFailed)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"7", 7), (b"9" * 5000, 86_400), (b"\xb2", None), (b"-1", None), (b"soon", None), (b"", None)],
)
def test_retry_after_is_digits_of_at_most_a_day(ask: Ask, value: bytes, seconds: int | None) -> None:
    reply = ask([(OK.replace(b"\r\n", b"\r\nRetry-After: " + value + b"\r\n", 1), 0.0)])
    assert isinstance(reply, UpstreamResponse)
    assert reply.retry_after_s == seconds
