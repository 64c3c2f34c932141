"""Tools that a profile does not expose are named by nothing that its clients read, in any mode."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.exposure import call, listed
from toolfold.app import App
from toolfold.catalog.profiles import MODES
from toolfold.exposure.profiles import select

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,}")


def texts(value: Any, *, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield key and text of everything in a structure."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield at, str(key)
            yield from texts(inner, at=str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, at=at)
    elif isinstance(value, str):
        yield at, value


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["some", "related"])
def test_no_answer_names_a_tool_that_a_profile_hides(app: App, kind: str, mode: str) -> None:
    path = f"/mcp/{kind}_{mode}"
    view = select(app.server.tools, f"{kind}_{mode}").catalog()
    hidden = {name.lower() for name in view.base} - {name.lower() for name in view}
    visible = [name for name in view if name.startswith(("levels__", "TIME", "FX", "GLOBAL"))]
    assert visible
    answers: list[Any] = [
        *listed(app, path),
        call(app, path, "TOOL_LIST", {"query": "water levels of a place, share prices, symbols", "detail": "medium"}),
    ]
    for detail in ("full", "medium", "minimal"):
        answers += [call(app, path, "TOOL_GET", {"tool_name": name, "detail": detail}) for name in visible]
    answers += [call(app, path, "TOOL_CALL", {"tool_name": name, "arguments": {"symbol": 1}}) for name in visible]
    for answer in answers:
        for key, text in texts(json.loads(json.dumps(answer))):
            if key == "description" or (key == "text" and kind == "some"):
                continue  # prose of a person, who may compare a tool with any other
            named = {word.lower() for word in NAME.findall(text)} & hidden
            assert not named, (key, text[:300])


def test_hints_that_name_hidden_tools_are_left_out(app: App) -> None:
    whole = app.server.tools.catalog()
    view = select(app.server.tools, "some_progressive").catalog()
    for name in view:
        tool, own = whole.get(name), view.get(name)
        assert tool is not None
        assert own is not None
        hints = json.dumps(dict(own.hints))
        assert not {"SYMBOL_SEARCH", "TIME_SERIES_DAILY", "FX_DAILY"} & set(NAME.findall(hints)), hints
        assert set(own.hints) <= set(tool.hints)
    daily = view.get("TIME_SERIES_DAILY_ADJUSTED")
    assert daily is not None
    assert "free_instead" in whole.get("TIME_SERIES_DAILY_ADJUSTED").hints  # type: ignore[union-attr]
    assert "free_instead" not in daily.hints
