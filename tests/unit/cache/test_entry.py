"""Cached responses as bytes; damaged, foreign and stale ones are misses."""

import zlib

import pytest

from toolfold.cache import response_cache
from toolfold.cache.response_cache import Entry, decode, encode
from toolfold.errors import InvalidArguments

LIMIT = 1_000_000
ENTRY = Entry("csv", "timestamp,open\n2026-01-13,1.0\nzażółć", 1000.0, 2000.0)


def test_an_entry_is_decoded_until_it_expires() -> None:
    blob = encode(ENTRY, "name")
    assert decode(blob, "name", 1000.0, LIMIT) == ENTRY
    assert decode(blob, "name", 1999.9, LIMIT) == ENTRY
    assert decode(blob, "name", 2000.0, LIMIT) is None


def test_an_entry_from_the_future_is_a_miss() -> None:
    blob = encode(ENTRY, "name")
    assert decode(blob, "name", 990.0, LIMIT) == ENTRY  # clocks differ a little
    assert decode(blob, "name", 100.0, LIMIT) is None


def test_an_entry_with_one_flipped_bit_is_a_miss() -> None:
    blob = encode(ENTRY, "name")
    for place in range(len(blob)):
        assert decode(blob[:place] + bytes([blob[place] ^ 1]) + blob[place + 1 :], "name", 1000.0, LIMIT) is None


@pytest.mark.parametrize("content", [b"no zlib", zlib.compress(b"no head"), zlib.compress(b'["csv", 1]\nx')])
def test_an_entry_with_a_valid_hash_and_malformed_content_is_a_miss(content: bytes) -> None:
    assert decode(response_cache._digest("name", content) + content, "name", 1000.0, LIMIT) is None


def test_an_entry_that_decompresses_beyond_the_limit_is_a_miss() -> None:
    blob = encode(Entry("csv", "0" * 5_000_000, 1000.0, 2000.0), "name")
    assert len(blob) < 1_000_000
    assert decode(blob, "name", 1000.0, LIMIT) is None


def test_an_error_keeps_its_fields() -> None:
    said = InvalidArguments("No.", "Look.", problems=[{"parameter": "a"}])
    entry = decode(encode(Entry.from_error(said, 1000.0, 2000.0), "name"), "name", 1000.0, LIMIT)
    assert entry is not None
    assert type(entry.to_error()) is InvalidArguments
    assert entry.to_error().as_dict() == said.as_dict()
