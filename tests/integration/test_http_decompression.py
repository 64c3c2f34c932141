"""Compressed responses: the content as it was, or an error; bounded in size, memory and time. Over real sockets."""

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

from tests.support.cpu_time import ends_within
from tests.support.examples import examples
from tests.support.http import fetch
from tests.support.tables import accepted
from tests.support.upstream import Upstream
from toolfold.network.errors import (
    ConnectionBroken,
    DecompressionBomb,
    InvalidResponse,
    ReadTimeout,
    ResponseTooLarge,
)
from toolfold.network.session import HttpClient

TEXT = b"timestamp,value\n" + b"".join(b"2026-01-%02d,%d\n" % (day % 28, day * 7919) for day in range(20_000))
LIMIT = 25_000_000


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

    def get(self, body: bytes, encoding: str, max_bytes: int = LIMIT, within_s: float = 10.0) -> bytes:
        self.body, self.encoding = body, encoding
        return fetch(self._upstream.url, self.client, within_s=within_s, max_bytes=max_bytes).body


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def test_content_is_decompressed(server: Server) -> None:
    for data in (TEXT, b"x", b"a" * 65536, b"a" * 131072, random.Random(1).randbytes(200_000)):
        for encoding, compress in ENCODINGS:
            assert server.get(compress(data), encoding) == data
    assert server.get(b"", "gzip") == b""


def test_content_that_was_cut_off_is_an_error(server: Server) -> None:
    whole = gzip.compress(TEXT)
    cut = [*(whole[:at] for at in (9, 10, 100, -9, -8, -1)), whole + whole[:-1]]
    assert accepted(lambda body: server.get(body, "gzip"), cut, ConnectionBroken) == []


def test_a_wrong_checksum_is_an_error(server: Server) -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-6] ^= 1
    with pytest.raises(InvalidResponse):
        server.get(bytes(body), "gzip")


def test_several_gzip_members_are_one_content(server: Server) -> None:
    for size in (10, 65536, 131072 - 20):
        data = random.Random(2).randbytes(size)
        assert server.get(gzip.compress(data) * 3, "gzip") == data * 3


@pytest.mark.parametrize("rest", [b"\0" * 20, b"\0" * 70_000])
def test_zeros_after_the_end_mark_are_padding(server: Server, rest: bytes) -> None:
    assert server.get(gzip.compress(TEXT) + rest, "gzip") == TEXT


# R18
def test_damage_after_the_first_part_is_an_error(server: Server) -> None:
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
    assert accepted(lambda row: server.get(row[1], row[0]), rows, InvalidResponse) == []


# A body is in memory once, and once more while it grows.
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_memory_is_at_most_three_times_the_body(server: Server, encoding: str) -> None:
    content = (TEXT * 15)[:5_000_000]
    body = gzip.compress(content, 1) if encoding == "gzip" else content
    server.get(b"", encoding)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    assert len(server.get(body, encoding)) == len(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before < 3 * len(content)


def test_the_limit_is_of_decompressed_bytes(server: Server) -> None:
    assert server.get(gzip.compress(TEXT), "gzip", len(TEXT)) == TEXT
    with pytest.raises(ResponseTooLarge) as caught:
        server.get(gzip.compress(TEXT), "gzip", len(TEXT) - 1)
    assert not isinstance(caught.value, DecompressionBomb)


def test_content_a_hundred_times_its_size_is_a_bomb(server: Server) -> None:
    body = gzip.compress(bytes(40_000_000))
    server.get(b"", "gzip")
    tracemalloc.start()
    with pytest.raises(DecompressionBomb):
        server.get(body, "gzip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def blocks_without_content() -> bytes:
    """Return gzip data with empty blocks of deflate: time passes, and no byte comes out."""
    packer = zlib.compressobj(wbits=31)
    return packer.flush(zlib.Z_FULL_FLUSH) + b"\0\0\0\xff\xff" * 9_000_000 + packer.flush()


@pytest.mark.parametrize(
    "body", [blocks_without_content, lambda: gzip.compress(b"") * 1_000_000, lambda: gzip.compress(TEXT) + bytes(9**8)]
)
def test_decompression_ends_at_the_deadline(server: Server, body: Callable[[], bytes]) -> None:
    sent = body()
    with ends_within(0.1), pytest.raises(ReadTimeout):
        server.get(sent, "gzip", LIMIT * 4, within_s=0.1)


@given(st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "", "identity"]), max_size=3))
@examples(30, many=1_000)
def test_any_bytes_are_content_or_an_error(server: Server, body: bytes, encodings: list[str]) -> None:
    for sent in (body, gzip.compress(body)[:-3] + body):
        with suppress(ConnectionBroken, ResponseTooLarge):
            server.get(sent, ",".join(encodings))
