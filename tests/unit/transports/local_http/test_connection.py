"""The strict parser as a function of bytes: however they arrive in parts, the same requests come out."""

from itertools import pairwise

import h11
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.raw_http import PING, post
from toolfold.transports.local_http.connection import StrictConnection

URL = "http://127.0.0.1:8080/mcp"
GOOD = post(URL)
CHUNKED = GOOD[: -len(PING)].replace(b"Content-Length: %d" % len(PING), b"Transfer-Encoding: chunked") + (
    b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
)
DAMAGED = [
    GOOD.replace(b"\r\n", b"\n"), GOOD.replace(b"Length: ", b"Length: +"), GOOD.replace(b"POST", b"P\0ST"),
    GOOD.replace(b"Host", b" Host"), GOOD.replace(b"Content-Type", b"Content-Length: 5\r\nContent-Type"),
]  # fmt: skip


def events(parts: list[bytes]) -> list[object]:
    """Return what is parsed from ``parts``: the body of each request, and None for a refusal."""
    connection, found, body = StrictConnection(h11.SERVER), list[object](), b""
    for part in parts:
        connection.receive_data(part)
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                return [*found, None]
            if event in (h11.NEED_DATA, h11.PAUSED):
                break
            if isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                found.append(body)
                body = b""
                connection.send(h11.Response(status_code=204, headers=[]))
                connection.send(h11.EndOfMessage())
                connection.start_next_cycle()
    return found


@examples(200, many=5_000)
@given(st.lists(st.sampled_from([GOOD, CHUNKED, *DAMAGED]), max_size=4), st.lists(st.integers(0, 1_500), max_size=8))
def test_parts_of_the_bytes_do_not_matter(requests: list[bytes], cuts: list[int]) -> None:
    data = b"".join(requests)
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    parts = [data[start:end] for start, end in pairwise(ends)]
    expected: list[object] = []
    for request in requests:
        if request in DAMAGED:
            expected.append(None)
            break
        expected.append(PING)
    assert events([part for part in parts if part]) == expected
