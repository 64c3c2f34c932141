"""Which responses have a known end, and where it is."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from toolfold.network.errors import InvalidResponse
from toolfold.network.framing import (
    MAX_FIELDS,
    BodyEnd,
    StatusLine,
    body_end,
    is_last_response,
    parse_chunk_size,
    parse_fields,
    parse_status_line,
)

OK = StatusLine(11, 200, "OK")


class TestStatusLine:
    @pytest.mark.parametrize(
        ("line", "parts"),
        [
            (b"HTTP/1.1 200 OK\r\n", (11, 200, "OK")),
            (b"HTTP/1.1 200 OK\n", (11, 200, "OK")),
            (b"HTTP/1.0 404 Not Found\r\n", (10, 404, "Not Found")),
            (b"HTTP/1.1 200 \r\n", (11, 200, "")),
            (b"HTTP/1.1 200\r\n", (11, 200, "")),
            (b"HTTP/1.7 200 OK\r\n", (11, 200, "OK")),
            (b"HTTP/1.1 999 \xe9\r\n", (11, 999, "é")),
        ],
    )
    def test_a_status_line_has_three_parts(self, line: bytes, parts: tuple[int, int, str]) -> None:
        assert parse_status_line(line) == parts

    @pytest.mark.parametrize(
        "text",
        [
            *("", "hello", "ICY 200 OK", "http/1.1 200 OK", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200 OK"),
            *("HTTP/0.9 200 OK", "HTTP/2 200", "HTTP/2.0 200 OK", "HTTP/11.1 200 OK", "HTTP/1.10 200 OK"),
            *("HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 2_0 OK"),
            *("HTTP/1.1 000 OK", "HTTP/1.1 099 OK", "HTTP/1.1 ²00 OK", "HTTP/1.1 200OK", "HTTP/1.1\t200 OK"),
            *("HTTP/1.1 200 O\0K", "HTTP/1.1 200 O\rK", "HTTP/1.1 200 \x1b[2J", " HTTP/1.1 200 OK"),
        ],
    )
    def test_anything_else_is_an_error(self, text: str) -> None:
        with pytest.raises(InvalidResponse):
            parse_status_line(text.encode("latin-1") + b"\r\n")


class TestFields:
    def test_names_values_and_line_breaks_inside_values(self) -> None:
        lines = [b"A:1\r\n", b"b-C:\t two words \t\r\n", b"d:\r\n", b"E: x\r\n", b" y\n", b"\t z\r\n", b"A: \xff\r\n"]
        assert parse_fields(lines) == [("A", "1"), ("b-C", "two words"), ("d", ""), ("E", "x y z"), ("A", "ÿ")]

    @pytest.mark.parametrize(
        "line",
        [
            *(b"no colon\r\n", b": x\r\n", b"a b: x\r\n", b"a : x\r\n", b"a\t: x\r\n", b" a: x\r\n", b"\xe9: x\r\n"),
            *(b"a\0: x\r\n", b"a: x\0y\r\n", b"a: x\ry\r\n", b"a: \x1b[2J\r\n", b"a: \x7f\r\n", b"a(b): x\r\n"),
        ],
    )
    def test_a_line_that_is_no_field_is_an_error(self, line: bytes) -> None:
        with pytest.raises(InvalidResponse):
            parse_fields([line])

    def test_the_number_of_fields_is_bounded(self) -> None:
        assert len(parse_fields([b"a: x\r\n"] * MAX_FIELDS)) == MAX_FIELDS
        with pytest.raises(InvalidResponse):
            parse_fields(b"a: x\r\n" for _ in iter(int, 1))

    @pytest.mark.parametrize(
        "line", [b" " * 16_000 + b"\0\r\n", b"a:" + b" " * 16_000 + b"\0\r\n", b"a: x" + b" \t" * 8_000 + b"\x01\r\n"]
    )
    def test_time_grows_linearly(self, line: bytes) -> None:
        started = time.thread_time()
        for first in (line, b"a: x\r\n" + line):
            with suppress(InvalidResponse):
                parse_fields([first, line])
        assert time.thread_time() - started < 0.5


class TestBodyEnd:
    # R18
    @pytest.mark.parametrize(
        "value",
        [
            *(
                "6_2",
                "+5",
                "-1",
                "-0",
                " 5 5",
                "5 5",
                "0x5",
                "5.0",
                "5e0",
                "",
                ",",
                "5,",
                ",5",
                "5, ,5",
                "5;5",
                "²",
                "٥",
            ),
            *("5" * 19, "5" * 5_000, "0" * 5_000 + "5", "5, 6", "5, 5, 6", "05x", "5\xa0", "five", '"5"'),
        ],
    )
    def test_a_length_that_is_no_number_is_an_error(self, value: str) -> None:
        with pytest.raises(InvalidResponse):
            body_end("GET", OK, [("Content-Length", value)])

    # R18
    @pytest.mark.parametrize(
        ("method", "status", "fields", "end"),
        [
            ("GET", 200, [("content-length", "5")], 5),
            ("GET", 200, [("Content-Length", "5"), ("CONTENT-LENGTH", "5")], 5),
            ("GET", 200, [("Content-Length", "5 ,\t5")], 5),
            ("GET", 200, [("Content-Length", "005")], 5),
            ("GET", 200, [], BodyEnd.CLOSE),
            ("GET", 200, [("Transfer-Encoding", "Chunked")], BodyEnd.CHUNKS),
            ("HEAD", 200, [("Content-Length", "5")], 0),
            ("GET", 204, [("Content-Length", "5")], 0),
            ("GET", 304, [("Content-Length", "5")], 0),
            ("GET", 304, [("Transfer-Encoding", "chunked")], 0),
        ],
    )
    def test_the_end_by_length_chunks_or_close(
        self, method: str, status: int, fields: list[tuple[str, str]], end: int | BodyEnd
    ) -> None:
        assert body_end(method, OK._replace(status=status), fields) == end

    # R18
    @pytest.mark.parametrize(
        "fields",
        [
            [("Content-Length", "5"), ("Content-Length", "6")],
            [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
            [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
            *([("Transfer-Encoding", value)] for value in ("gzip, chunked", "chunked, gzip", "identity", "x", "")),
            *(
                [("Transfer-Encoding", value)]
                for value in ("chunked, chunked", "chunked;q=1", "chun ked", "\xa0chunked")
            ),
        ],
    )
    def test_a_head_that_contradicts_itself_is_an_error(self, fields: list[tuple[str, str]]) -> None:
        with pytest.raises(InvalidResponse):
            body_end("GET", OK, fields)

    def test_chunks_of_http_1_0_are_an_error(self) -> None:
        with pytest.raises(InvalidResponse):
            body_end("GET", OK._replace(version=10), [("Transfer-Encoding", "chunked")])


@pytest.mark.parametrize(
    ("version", "connection", "last"),
    [
        (11, None, False),
        (11, "keep-alive", False),
        (11, "close", True),
        (11, "x, Close", True),
        (11, "not-close", False),
        (10, None, True),
        (10, "Keep-Alive", False),
        (10, "keep-alive, close", True),
    ],
)
def test_which_response_is_the_last_of_its_connection(version: int, connection: str | None, last: bool) -> None:
    fields = [] if connection is None else [("Connection", connection)]
    assert is_last_response(OK._replace(version=version), fields) is last


class TestChunkSize:
    @pytest.mark.parametrize(
        ("line", "size"),
        [
            *((b"5\r\n", 5), (b"a\r\n", 10), (b"FF\r\n", 255), (b"0\r\n", 0), (b"000\r\n", 0), (b"0005\r\n", 5)),
            *((b"5;a=b\r\n", 5), (b"5 ; a=b\r\n", 5), (b'5;a="\xe9"\r\n', 5), (b"5 \r\n", 5)),
            (b"f" * 15 + b"\r\n", 16**15 - 1),
        ],
    )
    def test_a_size_in_hexadecimal_digits(self, line: bytes, size: int) -> None:
        assert parse_chunk_size(line).size == size

    # R18
    @pytest.mark.parametrize(
        "text",
        [
            *("", "\r\n", "5", "5\n", "-5\r\n", "+5\r\n", "0x5\r\n", "5_0\r\n", " 5\r\n", "g\r\n", ";a\r\n", "5 5\r\n"),
            *(
                "5,5\r\n",
                "²\r\n",
                "5;\0\r\n",
                "5;a\rb\r\n",
                "5\r\r\n",
                "f" * 16 + "\r\n",
                "f" * 5_000 + "\r\n",
                "5=a\r\n",
            ),
        ],
    )
    def test_anything_else_is_an_error(self, text: str) -> None:
        with pytest.raises(InvalidResponse):
            parse_chunk_size(text.encode("latin-1"))


@given(st.lists(st.binary(max_size=60), max_size=5), st.sampled_from([b"", b"\n", b"\r\n"]))
@examples(200, many=20_000)
def test_any_bytes_are_parsed_or_invalid(lines: list[bytes], end: bytes) -> None:
    for parse in (parse_status_line, parse_chunk_size):
        for line in lines:
            with suppress(InvalidResponse):
                parse(line + end)
    with suppress(InvalidResponse):
        fields = parse_fields([line + end for line in lines])
        body_end("GET", OK, fields)
        is_last_response(OK, fields)
