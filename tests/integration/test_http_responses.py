"""Any bytes that a server may send lead to a response or an error of toolfold, in time; and the next call works."""

import gzip
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.byte_server import OK, ByteServer, Pieces
from tests.support.examples import examples
from tests.support.http import KEY, Send
from tests.support.upstream import CSV
from toolfold.errors import CallError
from toolfold.models import UpstreamResponse
from toolfold.sources.base import ConnectionFailed

WITHIN_S = 0.3
LATE_S = 4.0
"""How much later an error may come on a machine that does other things as well: before the server gives up."""

GZIPPED = gzip.compress(CSV.encode(), mtime=0)
"""Without the time: tests are named by their bytes, and every worker must know them by the same name."""


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


status_lines = st.one_of(
    st.sampled_from(
        [
            *(b"HTTP/1.1 %d X" % status for status in (100, 101, 103, 200, 204, 302, 304, 407, 429, 500, 999)),
            *(
                b"HTTP/1.0 200 OK",
                b"HTTP/0.9 200",
                b"HTTP/2 200",
                b"HTTP/1.1",
                b"HTTP/1.1 -1 X",
                b"HTTP/1.1 2e2",
                b"ICY",
            ),
        ]
    ),
    st.binary(max_size=30),
)
lengths = st.sampled_from([b"0", b"5", b"99999999", b"-1", b"+5", b"5, 5", b"0x5", b"", b"5" * 5000, b"\xb2"])
header_lines = st.one_of(
    lengths.map(lambda value: b"Content-Length: " + value),
    st.sampled_from([b"chunked", b"Chunked", b"gzip, chunked", b"x"]).map(lambda value: b"Transfer-Encoding: " + value),
    st.sampled_from([b"gzip", b"deflate", b"gzip,deflate", b"br", b"gzip;q=1"]).map(
        lambda v: b"Content-Encoding: " + v
    ),
    st.sampled_from([b"close", b"keep-alive", b"Close, x"]).map(lambda value: b"Connection: " + value),
    st.sampled_from([b"1", b"-1", b"soon", b"9" * 5000, b"\xb2"]).map(lambda value: b"Retry-After: " + value),
    st.sampled_from(
        [b"multipart/x; boundary*=a; boundary*0=b", b"multipart/x; boundary=a", b"text/csv; charset=\xff"]
    ).map(lambda value: b"Content-Type: " + value),
    st.sampled_from([b"a=b", b"a=b; expires=Thu, 99 Foo 99999", b"=;" * 999, b'a="\\']).map(
        lambda value: b"Set-Cookie: " + value
    ),
    st.sampled_from([b"http://[", b"//\xff", b"/a b"]).map(lambda value: b"Location: " + value),
    st.binary(max_size=40),
    st.just(b"X: " + b"y" * 20_000),
)
sizes = st.sampled_from([b"5", b"5;x=y", b"0", b"-5", b"0x5", b"5_0", b"ffffffffffffffff", b"", b"zz", b"f" * 70_000])
chunks = st.tuples(sizes, st.binary(max_size=8)).map(lambda chunk: chunk[0] + b"\r\n" + chunk[1] + b"\r\n")
bodies = st.one_of(
    st.just(CSV.encode()),
    st.binary(max_size=60),
    st.lists(chunks, max_size=4).map(b"".join),
    st.sampled_from([GZIPPED, zlib.compress(b"1" * 500_000), b"5\r\nhello\r\n0\r\n\r\n"]),
)
replies = st.tuples(
    status_lines, st.lists(header_lines, max_size=4), st.sampled_from([b"\r\n", b"\n"]), bodies, st.integers(0, 10)
).map(lambda made: made[2].join([made[0], *made[1], b"", made[3]])[: None if made[4] else -5])


@given(st.lists(replies, min_size=1, max_size=2).map(b"".join), st.data())
@examples(250, many=5_000, slow_to_make=True)
@pytest.mark.slow
def test_any_bytes_are_a_response_or_an_error(ask: Ask, content: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=3)))
    pauses = data.draw(st.lists(st.sampled_from([0.0, 0.0, 0.01, 0.05]), min_size=4, max_size=4))
    pieces = [
        (content[start:end], pause)
        for start, end, pause in zip([0, *cuts], [*cuts, len(content)], pauses, strict=False)
    ]
    ask(pieces, data.draw(st.sampled_from([True, True, True, False])))
    after = ask([(OK, 0.0)], True, 2.0)
    assert isinstance(after, UpstreamResponse)
    assert after.body == CSV


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
