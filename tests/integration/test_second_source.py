"""Sources that the package does not know, in one catalog with Alpha Vantage, over real HTTP.

Everything about them is in ``tests/fixtures/sources``: YAML, and an adapter that is given by name.
"""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.sources.weather.adapter import WeatherAdapter
from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.threads import run_concurrently
from tests.support.upstream import Upstream
from toolfold.build.compiler import compile_folder
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.errors import ApprovalRequired, CatalogUnavailable, RateLimited, UpstreamError
from toolfold.execution.call import CallContext, CallLog, CallResult
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings
from toolfold.sources import base

CALLERS_KEY, WEATHER_KEY, DEPLOYMENTS_KEY = "CALLERSKEY012345", "WEATHERKEY012345", "DEPLOYMENTKEY012"
FORECAST = (200, {}, b'{"days": [{"date": "2026-01-14", "rain": 3}]}')
REPORT = (200, {}, b'{"report": 17}')
BUSY = (503, {}, b"")
CLOSED = (0, {}, b"")
EACH_KIND = [
    RequestCredentials(bearer=CALLERS_KEY),
    RequestCredentials(x_api_key=CALLERS_KEY),
    RequestCredentials(query=CALLERS_KEY),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Alpha Vantage and the sources of the tests, compiled into one catalog."""
    folder = tmp_path_factory.mktemp("sources")
    for path in (Path("catalog/alpha_vantage"), *Path("tests/fixtures/sources").iterdir()):
        if (path / "source.yaml").exists():
            shutil.copytree(path, folder / path.name)
    return parse_catalog(compile_folder(folder, adapters=["alpha_vantage", "http_api", "weather"]).encode())


@pytest.fixture
def weather() -> Iterator[Upstream]:
    with Upstream(FORECAST) as running:
        yield running


class Calls:
    """Calls through one executor, by the name of the tool."""

    def __init__(self, catalog: Catalog, executor: ToolExecutor, clock: Clock, logs: list[CallLog]) -> None:
        self._catalog, self.executor, self.clock, self.logs = catalog, executor, clock, logs

    def __call__(
        self, name: str, credentials: RequestCredentials = EACH_KIND[0], bypass_cache: bool = False, **arguments: Any
    ) -> CallResult:
        tool = tool_of(self._catalog, name)
        if tool.needs_approval:
            with pytest.raises(ApprovalRequired) as required:
                run_call(self.executor, CallContext(self._catalog, tool, arguments, credentials))
            credentials = credentials._replace(approval_token=required.value.details["approval_token"])
        return run_call(
            self.executor, CallContext(self._catalog, tool, arguments, credentials, bypass_cache=bypass_cache)
        )


@pytest.fixture
def calls(
    sources: Catalog, alpha_vantage: Upstream, weather: Upstream, tides: Upstream, monkeypatch: pytest.MonkeyPatch
) -> Calls:
    monkeypatch.setenv("WEATHER_KEY", WEATHER_KEY)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", DEPLOYMENTS_KEY)
    settings = Settings.from_environment(
        {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": alpha_vantage.url,
            "TOOLFOLD_SOURCE_WEATHER_URL": weather.url,
            "TOOLFOLD_SOURCE_TIDES_URL": tides.url,
            "TOOLFOLD_KEY_VARIABLES": "WEATHER_KEY",
        }
    )
    clock, logs = Clock(), list[CallLog]()
    monkeypatch.setattr(base, "BUILT_IN", {**base.BUILT_IN, "weather": f"{WeatherAdapter.__module__}:WeatherAdapter"})
    return Calls(sources, ToolExecutor(settings, on_call=logs.append, clock=clock.clocks()), clock, logs)


def test_tools_of_every_source_can_be_called(calls: Calls, weather: Upstream, tides: Upstream) -> None:
    assert calls("CPI").kind == "csv"
    assert calls("FORECAST", station="Oslo").body == '{"days": [{"date": "2026-01-14", "rain": 3}]}'
    assert calls("HIGH_WATER", harbour="Bergen").kind == "json"
    assert weather.requests == [{"operation": "FORECAST"}]
    assert tides.requests == [{"operation": "HIGH_WATER", "harbour": "Bergen"}]
    assert [(log.source, log.tool, log.code) for log in calls.logs] == [
        ("alpha_vantage", "CPI", "OK"), ("weather", "FORECAST", "OK"), ("tides", "HIGH_WATER", "OK")
    ]  # fmt: skip


def test_format_parameter_of_one_source_is_an_ordinary_argument_of_another(
    calls: Calls, sources: Catalog, tides: Upstream
) -> None:
    arguments = {"harbour": "Bergen", "datatype": "predicted"}
    tools = MetaTools(lambda: sources, calls.executor)
    result = tools.call("TOOL_CALL", {"tool_name": "HIGH_WATER", "arguments": arguments})
    assert tides.requests == [{"operation": "HIGH_WATER", **arguments}]
    assert result.structured["result"]["rows"] == [["04:10", 1.2]]


def test_a_list_of_tools_says_which_of_their_sources_failed(calls: Calls, sources: Catalog, weather: Upstream) -> None:
    tools = MetaTools(lambda: sources, calls.executor)
    forecast = {"tool_name": "FORECAST", "arguments": {"station": "Oslo"}}

    def listed(**arguments: Any) -> str:
        result = tools.call("TOOL_LIST", arguments)
        notice = str(result.structured.get("notice", ""))
        assert notice in result.text
        return notice

    weather.replies = [BUSY] * 9
    assert tools.call("TOOL_CALL", forecast).is_error
    sentence = "Source weather could not serve the last call."
    assert listed() == listed(source="weather") == listed(query="rain forecast of a station") == sentence
    assert listed(source="tides") == ""
    assert listed(query=" ") == f"The query is blank, so nothing was searched for. {sentence}"

    weather.replies = [FORECAST]
    calls.clock.sleep(60)
    assert not tools.call("TOOL_CALL", forecast).is_error
    assert listed() == ""


def test_a_missing_adapter_is_an_error_that_names_it(sources: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tool_of(sources, "FORECAST")
    allowed = {"TOOLFOLD_KEY_VARIABLES": "WEATHER_KEY", "TOOLFOLD_ALLOWED_HOSTS": "weather.test"}
    executor = ToolExecutor(Settings.from_environment(allowed))
    monkeypatch.setenv("WEATHER_KEY", WEATHER_KEY)
    with pytest.raises(CatalogUnavailable, match="not installed") as caught:
        run_call(executor, CallContext(sources, tool, {"station": "Oslo"}))
    assert "adapter weather" in caught.value.suggestion


class TestEffects:
    @pytest.mark.parametrize(
        ("reply", "reads"), [(BUSY, 3), (CLOSED, 3), ((200, {}, b""), 3), ((429, {"retry-after": "1"}, b""), 0)]
    )
    def test_a_write_that_fails_is_not_retried(self, calls: Calls, weather: Upstream, reply: Any, reads: int) -> None:
        weather.replies = [reply]
        with pytest.raises((UpstreamError, RateLimited)):
            calls("REPORT_WEATHER", station="Oslo")
        assert len(weather.requests) == 1
        assert calls.clock.slept == []
        with pytest.raises((UpstreamError, RateLimited)):
            calls("FORECAST", station="Oslo")
        assert len(weather.requests) == 1 + reads

    def test_equal_writes_at_once_are_all_sent(self, calls: Calls, weather: Upstream) -> None:
        together = threading.Barrier(4, timeout=60)

        def reply(query: dict[str, str]) -> Any:
            together.wait()  # passes only when all four are under way
            return REPORT

        weather.replies = [reply]
        run_concurrently([lambda: calls("REPORT_WEATHER", station="Oslo")] * 4)
        assert len(weather.requests) == 4
        assert [(log.code, log.cache) for log in calls.logs] == [("OK", "bypass")] * 4
