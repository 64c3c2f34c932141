"""Harmful responses: an error for the caller, and neither memory nor time. Over real HTTP."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.support.local_server import Handler, LocalServer
from toolfold.meta_tools.dispatcher import MetaTools

MakeTools = Callable[..., MetaTools]


@contextmanager
def upstream(body: bytes, **headers: str) -> Iterator[str]:
    """The address of a server that answers every GET with ``body``."""

    class Hostile(Handler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            with suppress(OSError):  # the client has had enough
                self.wfile.write(body)

    with LocalServer(Hostile) as server:
        yield f"http://127.0.0.1:{server.server_port}/query"


def code(make_tools: MakeTools, address: str) -> str:
    tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=address)
    result = tools.call("TOOL_CALL", {"tool_name": "CPI", "arguments": {}})
    assert result.is_error
    return str(result.structured["error"]["code"])


def test_a_bomb_takes_no_memory(make_tools: MakeTools) -> None:
    bomb = gzip.compress(b'{"data":"' + b"0" * 100_000_000 + b'"}')
    with upstream(bomb, content_encoding="gzip", content_length=str(len(bomb))) as address:
        code(make_tools, address)  # imports what a first call imports
        tracemalloc.start()
        assert code(make_tools, address) == "UPSTREAM_ERROR"
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20_000_000  # the limit on an answer is 2.5 MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_not_compressed_as_declared_is_an_error(make_tools: MakeTools, encoding: str) -> None:
    with upstream(b"timestamp,value\n2026-01-01,1", content_encoding=encoding) as address:
        assert code(make_tools, address) == "UPSTREAM_ERROR"


def test_a_binary_body_is_an_error(make_tools: MakeTools) -> None:
    with upstream(bytes(range(256)) * 10) as address:
        assert code(make_tools, address) == "UPSTREAM_ERROR"
