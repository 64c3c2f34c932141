"""A response is what was framed and compressed, or an error; bounded in size, memory and time. Over real sockets."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within, ends_within
from tests.support.examples import examples
from tests.support.http import OUT_OF_TIME, fetch
from tests.support.raw_http import ByteServer, Pieces
from tests.support.tables import accepted, differences
from tests.support.upstream import Upstream
from toolfold.network.errors import (
    ConnectionBroken,
    DecompressionBomb,
    InvalidResponse,
    ResponseTooLarge,
)
from toolfold.network.session import HttpClient, Response

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LIMIT = 100_000


def with_length(value: str, body: bytes = b"hello") -> bytes:
    return HEAD + b"Content-Length: " + value.encode("latin-1") + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def server() -> Iterator[ByteServer]:
    with ByteServer() as running:
        yield running


Get = Callable[..., Response]


@pytest.fixture(scope="module")
def get(server: ByteServer) -> Get:
    """Send a request that is answered with these pieces."""
    client = HttpClient()

    def send(pieces: Pieces, hangs_up: bool = True, method: str = "GET", within_s: float = 60) -> Response:
        server.pieces, server.hangs_up = pieces, hangs_up
        try:
            return fetch(server.url, client, method, within_s, max_bytes=LIMIT)
        finally:
            client.close()

    return send


UNCERTAIN = [
    with_length("4"),
    with_length("0"),
    with_length("5\r\nContent-Length: 4"),
    with_length("5, 4"),
    *(with_length(value) for value in ("-5", "-0", "+5", "6_2", " 5 5", "0x5", "5.0", "", "\xb2", "5" * 5_000)),
    *(with_length(value) for value in ("5,", ",5", "5, ,5", "5;5", "05x", "5\xa0", '"5"')),
    with_length("5\r\nTransfer-Encoding: chunked"),
    with_length("5\r\nTransfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n"),
    *(
        HEAD + b"Transfer-Encoding: " + coding + b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        for coding in (b"gzip, chunked", b"chunked, chunked", b"chunked;q=1", b"identity", b"\xa0chunked", b"")
    ),
    HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    *(
        CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n"
        for size in (b"-5", b"+5", b"0x5", b"5_0", b" 5", b"", b"f" * 5_000, b"5,5", b"5\r", b"5=a")
    ),
    CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"6\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5\nhello\n0\n\n",
    CHUNKED + b"5\r\nhello\r\n0\r\nno field\r\n\r\n",
    CHUNKED + b"5\r\nhello\r\n0\r\n\r\n0\r\n\r\n",
    CHUNKED + b"0\r\n" + b"X: y\r\n" * 90_000 + b"\r\n",
    *(
        HEAD + line + b"\r\nContent-Length: 5\r\n\r\nhello"
        for line in (
            *(b"a : b", b" a: b", b"a b: c", b"a(b): c", b"\xe9: x", b": x", b"a: \0", b"a: b\rc: d", b"no colon"),
        )
    ),
    HEAD + b"a: b\r\n" * 101 + b"\r\n",
    HEAD + b"a: b\r\n" * 99_999 + b"\r\n",
    HEAD + b"a: " + b"b" * 16_384 + b"\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000 + with_length("5"),
    *(
        line + b"\r\n\r\nhello"
        for line in (b"HTTP/0.9 200 OK", b"HTTP/2 200", b"HTTP/1.10 200 OK", b"ICY 200 OK", b"HTTP/1.1 200OK", b"")
    ),
    *(b"HTTP/1.1 %s OK\r\n\r\nhello" % status for status in (b"20", b"2000", b"+20", b"2_0", b"\xb200", b"200 O\0K")),
    b"hello",
    b"\r\n" + with_length("5"),
]


# R18
@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_body_whose_end_is_not_certain_is_an_error(get: Get, hangs_up: bool) -> None:
    def sent(content: bytes) -> Response:
        return get([(content, 0.0)], hangs_up, within_s=60 if hangs_up else 0.2)

    errors = (ConnectionBroken,) if hangs_up else (InvalidResponse, *OUT_OF_TIME)
    assert accepted(sent, UNCERTAIN, *errors) == []


FRAMED = [
    (with_length("5"), b"hello"),
    (with_length("5\r\ncontent-length: 5"), b"hello"),
    (with_length("5, 5"), b"hello"),
    (with_length("0", b""), b""),
    (HEAD + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    (HEAD + b"X: a\r\n b\r\nContent-Length:\r\n 5\r\n\r\nhello", b"hello"),
    (b"HTTP/1.7 200\nContent-Length: 5\n\nhello", b"hello"),
    (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    (CHUNKED + b"2;a=b\r\nhe\r\n003\r\nllo\r\n00\r\nX: y\r\n\r\n", b"hello"),
    (b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n" * 3 + with_length("5"), b"hello"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + with_length("5"), b"hello"),
    (with_length("5").replace(b"\r\n", b"\n"), b"hello"),
    (HEAD + b"X: " + b"y" * 16_000 + b"\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
]


# R18
@pytest.mark.parametrize("cut", [0, 1, 20, -6, -1])
def test_a_body_is_what_was_framed(get: Get, cut: int) -> None:
    def received(content: bytes) -> bytes:
        return get([(content[:cut], 0.01), (content[cut:], 0.0)], hangs_up=False).body

    assert differences(received, FRAMED) == {}


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_a_body_without_a_length_ends_with_the_connection(get: Get, version: bytes) -> None:
    assert get([(version + b" 200 OK\r\n\r\n", 0.0), (b"hel", 0.01), (b"lo", 0.0)]).body == b"hello"


def test_a_response_that_ends_too_early_is_an_error(get: Get) -> None:
    rows = [
        b"",
        b"HTTP/1.1 200 OK",
        HEAD,
        HEAD + b"Content-Length: 9\r\n",
        CHUNKED,
        CHUNKED + b"5\r\nhel",
        with_length("9"),
    ]
    assert accepted(lambda content: get([(content, 0.0)]), rows, ConnectionBroken) == []


@pytest.mark.parametrize("status", [999, 600, 504, 1000])
def test_a_status_is_passed_on_as_it_is_or_is_an_error(get: Get, status: int) -> None:
    content = b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status
    if status > 999:
        with pytest.raises(InvalidResponse):
            get([(content, 0.0)])
    else:
        assert get([(content, 0.0)]).status == status


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_response_to_head_has_no_body(get: Get, method: str) -> None:
    content = with_length("5", b"")
    if method == "HEAD":
        assert get([(content, 0.0)], hangs_up=False, method="HEAD").body == b""
    else:
        with pytest.raises(ConnectionBroken):
            get([(content, 0.0)])


def test_the_limit_is_of_what_is_sent_also_where_no_byte_comes_out(get: Get) -> None:
    sent = gzip.compress(b"") * LIMIT
    head = HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(sent)
    with pytest.raises(ResponseTooLarge):
        get([(head + sent + b"\r\n0\r\n\r\n", 0.0)])


DRIPS = [b"", b"H", HEAD + b"X: y", HEAD + b"Content-Length: 99\r\n\r\n", HEAD + b"\r\n"]


@pytest.mark.parametrize(("drips", "drop"), [*((drips, b"y") for drips in DRIPS), (HEAD, b"\r\nX: y")])
def test_a_dripping_response_ends_at_the_deadline(get: Get, drips: bytes, drop: bytes) -> None:
    with pytest.raises((InvalidResponse, *OUT_OF_TIME)):
        get([(drips, 0.0), *[(drop, 0.1)] * 100], within_s=0.4)


@pytest.mark.parametrize("rows", [1, 60])
def test_a_malformed_header_takes_little_time(get: Get, rows: int) -> None:
    # The parser of e-mail takes four times as long for twice as much of this, and has no deadline.
    line = b'Content-Type: multipart/x; a="' + b"\r\n ".join([b";" * (16_000 // rows)] * rows)
    assert get([(HEAD + line + b"\r\n\r\nhello", 0.0)], within_s=20).body == b"hello"
    with pytest.raises(InvalidResponse):
        get([(HEAD + line * 5 + b"\r\n\r\nhello", 0.0)])


TEXT = b"timestamp,value\n" + b"".join(b"2026-01-%02d,%d\n" % (day % 28, day * 7919) for day in range(20_000))
MAX_BYTES = 25_000_000


ENCODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("X-GZIP", gzip.compress),
    ("identity", bytes),
    ("utf-8", bytes),
]


class Server:
    """Answers every request with ``encoding`` and ``body``."""

    def __init__(self) -> None:
        self.encoding, self.body = "", b""
        self.client = HttpClient()
        self._upstream = Upstream(lambda _: (200, {"content-encoding": self.encoding}, self.body))

    def __enter__(self) -> Server:
        self._upstream.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._upstream.__exit__()

    def get(self, body: bytes, encoding: str, max_bytes: int = MAX_BYTES, within_s: float = 10.0) -> bytes:
        self.body, self.encoding = body, encoding
        return fetch(self._upstream.url, self.client, within_s=within_s, max_bytes=max_bytes).body


@pytest.fixture(scope="module")
def packed() -> Iterator[Server]:
    with Server() as running:
        yield running


def test_content_is_decompressed(packed: Server) -> None:
    for data in (TEXT, b"x", b"a" * 65536, b"a" * 131072, random.Random(1).randbytes(200_000)):
        for encoding, compress in ENCODINGS:
            assert packed.get(compress(data), encoding) == data
    assert packed.get(b"", "gzip") == b""


def test_content_that_was_cut_off_is_an_error(packed: Server) -> None:
    whole = gzip.compress(TEXT)
    cut = [*(whole[:at] for at in (9, 10, 100, -9, -8, -1)), whole + whole[:-1]]
    assert accepted(lambda body: packed.get(body, "gzip"), cut, ConnectionBroken) == []


def test_a_wrong_checksum_is_an_error(packed: Server) -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-6] ^= 1
    with pytest.raises(InvalidResponse):
        packed.get(bytes(body), "gzip")


def test_several_gzip_members_are_one_content(packed: Server) -> None:
    for size in (10, 65536, 131072 - 20):
        data = random.Random(2).randbytes(size)
        assert packed.get(gzip.compress(data) * 3, "gzip") == data * 3


@pytest.mark.parametrize("rest", [b"\0" * 20, b"\0" * 70_000])
def test_zeros_after_the_end_mark_are_padding(packed: Server, rest: bytes) -> None:
    assert packed.get(gzip.compress(TEXT) + rest, "gzip") == TEXT


# R18
def test_damage_after_the_first_part_is_an_error(packed: Server) -> None:
    rows = [
        ("gzip", gzip.compress(TEXT) + b"rubbish"),
        ("gzip", gzip.compress(TEXT) + b"\0" * 20 + b"rubbish"),
        ("gzip", gzip.compress(TEXT) + gzip.compress(TEXT).replace(b"\x1f\x8b", b"\x1f\x8c", 1)),
        ("gzip", gzip.compress(TEXT) + gzip.compress(TEXT)[:-8] + bytes(8)),
        ("deflate", zlib.compress(TEXT)),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("br", TEXT),
        ("zstd", TEXT),
        ("gzip;q=1", gzip.compress(TEXT)),
    ]
    assert accepted(lambda row: packed.get(row[1], row[0]), rows, InvalidResponse) == []


# A body is in memory once, and once more while it grows.
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_memory_is_at_most_three_times_the_body(packed: Server, encoding: str) -> None:
    content = (TEXT * 15)[:5_000_000]
    body = gzip.compress(content, 1) if encoding == "gzip" else content
    packed.get(b"", encoding)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    assert len(packed.get(body, encoding)) == len(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before < 3 * len(content)


def test_the_limit_is_of_decompressed_bytes(packed: Server) -> None:
    assert packed.get(gzip.compress(TEXT), "gzip", len(TEXT)) == TEXT
    with pytest.raises(ResponseTooLarge) as caught:
        packed.get(gzip.compress(TEXT), "gzip", len(TEXT) - 1)
    assert not isinstance(caught.value, DecompressionBomb)


def test_content_a_hundred_times_its_size_is_a_bomb(packed: Server) -> None:
    body = gzip.compress(bytes(40_000_000))
    packed.get(b"", "gzip")
    tracemalloc.start()
    with pytest.raises(DecompressionBomb):
        packed.get(body, "gzip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def blocks_without_content() -> bytes:
    """Return gzip data with empty blocks of deflate: time passes, and no byte comes out."""
    packer = zlib.compressobj(wbits=31)
    return packer.flush(zlib.Z_FULL_FLUSH) + b"\0\0\0\xff\xff" * 9_000_000 + packer.flush()


@pytest.mark.parametrize(
    "body",
    [
        blocks_without_content,
        lambda: gzip.compress(b"") * 1_000_000,
        lambda: gzip.compress(b"1") * 1_000_000,
        lambda: gzip.compress(TEXT) + bytes(9**8),
    ],
)
def test_data_that_hold_far_less_than_their_size_are_an_error(packed: Server, body: Callable[[], bytes]) -> None:
    sent = body()
    with cpu_within(2), pytest.raises(InvalidResponse):
        packed.get(sent, "gzip", MAX_BYTES * 4)


def test_decompression_ends_at_the_deadline(packed: Server) -> None:
    sent = gzip.compress(random.Random(3).randbytes(60)) * 400_000
    with ends_within(0.1), pytest.raises(OUT_OF_TIME):
        packed.get(sent, "gzip", MAX_BYTES * 4, within_s=0.1)


@given(st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "", "identity"]), max_size=3))
@examples(30, many=1_000)
def test_any_bytes_are_content_or_an_error(packed: Server, body: bytes, encodings: list[str]) -> None:
    for sent in (body, gzip.compress(body)[:-3] + body):
        with suppress(ConnectionBroken, ResponseTooLarge):
            packed.get(sent, ",".join(encodings))
