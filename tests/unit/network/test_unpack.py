"""Packed bodies: what is packed comes out as it was; whatever else comes is an error, and soon."""

from __future__ import annotations

import gzip
import random
import time
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.network.unpack import TooLarge, Undecodable, unpack

TEXT = b"timestamp,value\n" + b"".join(b"2026-01-%02d,%d\n" % (day % 28, day * 7919) for day in range(20_000))
LIMIT = 25_000_000


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("X-GZIP", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw),
    ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data))),
    ("deflate,gzip", lambda data: gzip.compress(raw(data))),
    ("identity", bytes),
    ("", bytes),
    ("utf-8", bytes),
]


def opened(body: bytes, encodings: str, limit: int = LIMIT, within_s: float = 5.0) -> bytes:
    return bytes(unpack(bytearray(body), encodings, limit, time.monotonic() + within_s))


@pytest.mark.parametrize(("encodings", "pack"), PACKED)
@pytest.mark.parametrize("data", [TEXT, b"x", b"a" * 65536, b"a" * 131072, random.Random(1).randbytes(200_000)])
def test_what_was_packed_comes_out(encodings: str, pack: Callable[[bytes], bytes], data: bytes) -> None:
    assert opened(pack(data), encodings) == data


@pytest.mark.parametrize("encodings", ["gzip", "deflate", "gzip, deflate"])
def test_nothing_unpacks_to_nothing(encodings: str) -> None:
    assert opened(b"", encodings) == b""


@pytest.mark.parametrize("cut", [1, 2, 9, 10, 100, -9, -8, -1])
@pytest.mark.parametrize(("encodings", "pack"), PACKED[:6])
def test_what_was_cut_off_is_an_error(encodings: str, pack: Callable[[bytes], bytes], cut: int) -> None:
    with pytest.raises(Undecodable):
        opened(pack(TEXT)[:cut], encodings)


def test_a_changed_byte_is_an_error() -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-6] ^= 1  # of the checksum
    with pytest.raises(Undecodable):
        opened(body, "gzip")


@pytest.mark.parametrize("size", [10, 65536, 131072 - 20])
def test_parts_after_each_other_are_one(size: int) -> None:
    data = random.Random(2).randbytes(size)
    assert opened(gzip.compress(data) * 3, "gzip") == data * 3


@pytest.mark.parametrize("rest", [b"\0", b"\0" * 70_000, b"rubbish"])
def test_what_follows_the_end_is_left(rest: bytes) -> None:
    assert opened(gzip.compress(TEXT) + rest, "gzip") == TEXT


def test_a_second_part_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(Undecodable):
        opened(gzip.compress(TEXT) + gzip.compress(TEXT)[:-1], "gzip")


def test_more_than_the_limit_is_too_large() -> None:
    assert opened(gzip.compress(TEXT), "gzip", len(TEXT)) == TEXT
    with pytest.raises(TooLarge) as caught:
        opened(gzip.compress(TEXT), "gzip", len(TEXT) - 1)
    assert not caught.value.harmful


@pytest.mark.parametrize("encodings", ["gzip", "gzip, gzip", "deflate, gzip, gzip"])
def test_much_more_than_its_size_explains_does_harm(encodings: str) -> None:
    body = zlib.compress(b"0" * 30_000_000) if "deflate" in encodings else gzip.compress(b"0" * 30_000_000)
    for _ in range(encodings.count("gzip") - ("deflate" not in encodings)):
        body = gzip.compress(body)
    with pytest.raises(TooLarge) as caught:
        opened(body, encodings)
    assert caught.value.harmful


def test_six_layers_are_not_opened() -> None:
    body = TEXT
    for _ in range(6):
        body = gzip.compress(body)
    assert opened(body, "gzip," * 5) != TEXT
    with pytest.raises(Undecodable):
        opened(body, "gzip," * 6)


def test_time_passes_in_it_too() -> None:
    empty = gzip.compress(b"") * 400_000  # each a part of its own, and none of them brings anything
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        opened(empty, "gzip", within_s=0.1)
    assert time.monotonic() - started < 1.0


@given(st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "", "identity"]), max_size=3))
def test_whatever_it_is_there_are_these_errors(body: bytes, encodings: list[str]) -> None:
    try:
        opened(body, ",".join(encodings))
        opened(gzip.compress(body)[:-3] + body, ",".join(encodings))
    except (Undecodable, TooLarge):
        pass
