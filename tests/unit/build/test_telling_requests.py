"""The requests that the definition of a tool shows where clients search the list of tools."""

from __future__ import annotations

import pytest

from toolfold.build.telling_requests import TellingRequests

REQUESTS = {
    "WEATHER_FORECAST": ["how warm will it be", "will it rain", "forecast", "do i need an umbrella"],
    "TIDES": ["how high will it be", "high water", "when does the ebb begin"],
}


@pytest.mark.parametrize(
    ("name", "most", "expected"),
    [
        # Words that the tool alone has come first; those of the name and the text tell nothing.
        ("WEATHER_FORECAST", 64, "Weather of the next days. For: will it rain; how warm will it be"),
        ("TIDES", 40, "Sea level of today. For: high water"),
        ("TIDES", 20, "Sea level of today"),
    ],
)
def test_the_requests_that_tell_most_fit_into_the_description(name: str, most: int, expected: str) -> None:
    text = {"WEATHER_FORECAST": "Weather of the next days", "TIDES": "Sea level of today"}[name]
    assert TellingRequests(REQUESTS).describe(name, text, most) == expected


def test_a_tool_without_requests_keeps_its_text() -> None:
    assert TellingRequests(REQUESTS).describe("NEWS", "Headlines", 100) == "Headlines"
