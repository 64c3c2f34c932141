"""A client of the three tools, as a model has one: requests over the protocol, in this process, over the mock API."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.agent.raw_data import RawData
from tests.support.mcp_requests import message, request
from tests.support.meta_tools import tokens
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings

PREMIUM_KEY = "mock-key-for-journeys"


@dataclass(frozen=True)
class Answer:
    """What a client receives for a call.

    Attributes:
        text: what the model reads.
        structured: the same as data; of a protocol error an object with its message.
        is_error: whether the call failed.
    """

    text: str
    structured: Mapping[str, Any]
    is_error: bool

    @property
    def advice(self) -> str:
        """What the error says, without its details; of other answers the notes."""
        if not self.is_error:
            return "\n".join(line for line in self.text.splitlines() if line.startswith("#"))
        error = self.structured["error"]
        return f"{error.get('message', '')} {error.get('suggestion', '')}"

    @property
    def has_notes(self) -> bool:
        """Whether the answer says something about itself that a reader must know."""
        return bool({"preview", "notes", "late"} & set(self.structured)) or self.text.startswith("#")


@dataclass(frozen=True)
class Client:
    """Calls with one API key.

    Attributes:
        tokens: of all answers, as ``text`` and as ``data``: some clients show their model the one, some the other.
    """

    server: Server
    key: str = PREMIUM_KEY
    tokens: Counter[str] = field(default_factory=Counter, compare=False)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool and return what the client shows its model."""
        body = message("tools/call", {"name": name, "arguments": dict(arguments)})
        sent = request(body, mcp_protocol_version="2025-11-25", x_api_key=self.key)
        received = json.loads(self.server.handle_http(sent).body)
        if "error" in received:
            error = received["error"]
            return Answer(str(error["message"]), {"error": error}, True)
        result = received["result"]
        text = "\n".join(part["text"] for part in result["content"])
        structured = result.get("structuredContent") or json.loads(text)
        self.tokens.update(text=tokens(text), data=tokens(structured))
        return Answer(text, structured, bool(result.get("isError")))


@contextmanager
def over_mock_api() -> Iterator[tuple[Client, RawData]]:
    """Yield a client of the whole catalog over a new mock API, and its raw data."""
    os.environ.pop("ALPHA_VANTAGE_API_KEY", None)
    with MockApi() as mock_api:
        environment = {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_CACHE": "memory",
            "TOOLFOLD_OFFLOAD": "off",
        }
        settings = Settings.from_environment(environment)
        tools = MetaTools(FileStore(bundled_path()), ToolExecutor(settings))
        yield Client(Server(tools)), RawData(mock_api.url)
