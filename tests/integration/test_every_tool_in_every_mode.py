"""Every tool of the catalog, called in each mode as its clients do, has the same result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.exposure import app_of, call, listed
from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold.app import App
from toolfold.mock_api.server import MockApi

pytestmark = [pytest.mark.slow, pytest.mark.bulk]


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """Return an App whose source is the mock API, and that caches nothing."""
    with MockApi() as mock_api:
        yield app_of(
            TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url,
            TOOLFOLD_CACHE="off",
            TOOLFOLD_REQUESTS_PER_SECOND="10000",
        )


@pytest.fixture(scope="module")
def groups(app: App) -> Mapping[str, str]:
    """Return the name of a tool → the group that has it."""
    found = {}
    for one in listed(app, "/mcp/grouped"):
        for name in one["inputSchema"]["properties"].get("action", {}).get("enum", ()):
            found[name] = one["name"]
    return found


def result_of(answer: Mapping[str, Any]) -> Any:
    """Return what a call answered, without the date of the day in texts."""
    assert not answer["isError"], answer["content"]
    return answer["structuredContent"]["result"]


@pytest.fixture(scope="module")
def key() -> Iterator[None]:
    """Set the key of the mock API for the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", "mock-key")
        yield


@pytest.fixture(scope="module")
def expected(app: App, key: None) -> Mapping[str, Any]:
    """Return the name of each tool → its result at ``/mcp``."""
    return {
        name: result_of(call(app, "/mcp", "TOOL_CALL", {"tool_name": name, "arguments": arguments}))
        for name, arguments in EXAMPLES.items()
    }


@pytest.mark.parametrize("mode", ["lazy", "grouped", "direct", "kinds"])
def test_result_is_that_of_the_path_without_a_profile(
    app: App,
    groups: Mapping[str, str],
    expected: Mapping[str, Any],
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "mock-key")
    path = f"/mcp/{mode}"
    for name, arguments in EXAMPLES.items():
        connector = {"subcommand": "execute", "connector": "alpha_vantage", "action": name, "parameters": arguments}
        ways: dict[str, tuple[str, dict[str, Any]]] = {
            "grouped": (groups[name], {"action": name, **arguments}),
            "kinds": ("connector", connector),
            "direct": (name, arguments),
        }
        if mode == "lazy":
            batch = {"calls": [{"id": "a", "tool_name": name, "arguments": arguments}], "max_tokens": 8000}
            answer = call(app, path, "TOOL_BATCH", batch)["structuredContent"]["results"][0]
            assert answer["ok"], (name, answer)
            assert _undated(answer["result"]) == _undated(expected[name]), name
        else:
            assert _undated(result_of(call(app, path, *ways[mode]))) == _undated(expected[name]), name


def _undated(value: Any) -> Any:
    """Return a result without times of the day: those of a live rate change with each call."""
    return re.sub(r"\d\d:\d\d:\d\d", "", str(value))
