"""A catalog names no environment variable and no host that neither code nor the operator's settings allow."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import BUNDLED_TOOLS, tool_of
from tests.support.commands import CommandLine
from tests.support.hostile_catalogs import with_head
from toolfold.app import build_app
from toolfold.catalog.store import FileStore, bundled_path, open_store
from toolfold.catalog.text_checks import host_of
from toolfold.errors import CatalogUnavailable
from toolfold.execution.call import CallContext
from toolfold.execution.pipeline import run_call
from toolfold.settings import Settings

SOURCE = "alpha_vantage"
Change = Callable[[dict[str, Any]], None]


def environment(name: str) -> Change:
    return lambda head: head["sources"][SOURCE]["auth"].update(environment=name)


def base_url(url: str) -> Change:
    return lambda head: head["sources"][SOURCE].update(base_url=url)


def moved(source_id: str, **fields: Any) -> Change:
    """Give the source another id, and change ``fields`` of it."""

    def change(head: dict[str, Any]) -> None:
        head["sources"] = {source_id: {**head["sources"][SOURCE], **fields}}
        for category in head["categories"]:
            category["source"] = source_id

    return change


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Change], Path]:
    def write_catalog(change: Change) -> Path:
        path = tmp_path / "catalog.json"
        path.write_bytes(with_head(bundled_path().read_bytes(), change))
        return path

    return write_catalog


REFUSED: list[tuple[Change, str]] = [
    # R9
    (environment("AWS_SECRET_ACCESS_KEY"), "TOOLFOLD_KEY_VARIABLES"),
    (environment("TOOLFOLD_KEY_SALT"), "TOOLFOLD_KEY_VARIABLES"),
    (environment("TOOLFOLD_SOURCE_OTHER_KEY"), "TOOLFOLD_KEY_VARIABLES"),
    (environment("alpha_vantage_api_key"), "TOOLFOLD_KEY_VARIABLES"),
    (moved("other", base_url="https://www.alphavantage.co/query"), "TOOLFOLD_KEY_VARIABLES"),
    (base_url("https://evil.example/query"), "TOOLFOLD_ALLOWED_HOSTS"),
    (base_url("https://www.alphavantage.co.evil.example/query"), "TOOLFOLD_ALLOWED_HOSTS"),
    (base_url("https://www.alphavantage.co:8443/query"), "TOOLFOLD_ALLOWED_HOSTS"),
    (base_url("https://169.254.169.254/latest"), "TOOLFOLD_ALLOWED_HOSTS"),
    (base_url("http://127.0.0.1:9001/"), "TOOLFOLD_ALLOWED_HOSTS"),
    (base_url("https://www.alphavantage.co@evil.example/"), "base_url"),
    (base_url("https://www.alphavantage.co\n.evil.example/"), "base_url"),
    (base_url(""), "base_url"),
]


@pytest.mark.parametrize(("change", "named"), REFUSED)
def test_a_catalog_that_names_what_is_not_allowed_is_refused_as_a_whole(
    write: Callable[[Change], Path], change: Change, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(Settings.from_environment({"TOOLFOLD_CATALOG": str(write(change))}))
    with caplog.at_level(logging.ERROR), pytest.raises(CatalogUnavailable) as caught:
        store()
    assert "not allowed" in caught.value.message
    assert named in caplog.text
    assert "evil" not in json.dumps(caught.value.as_dict())


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        (environment("TOOLFOLD_SOURCE_ALPHA_VANTAGE_KEY"), {}),
        (environment("OTHER_KEY"), {"TOOLFOLD_KEY_VARIABLES": "FIRST, OTHER_KEY"}),
        (environment("OTHER_KEY"), {"TOOLFOLD_KEY_VARIABLES": "alpha_vantage=OTHER_KEY"}),
        (base_url("https://mirror.example:8443/q"), {"TOOLFOLD_ALLOWED_HOSTS": "alpha_vantage=Mirror.example:8443"}),
        (base_url("https://evil.example/q"), {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": "https://mirror.example/q"}),
        (
            moved("other", base_url="https://other.example/", auth=None),
            {"TOOLFOLD_ALLOWED_HOSTS": "third.example,other.example"},
        ),
        (
            moved("other", base_url="http://localhost:8000/", auth={"environment": "TOOLFOLD_SOURCE_OTHER_KEY"}),
            {"TOOLFOLD_ALLOWED_HOSTS": "localhost:8000"},
        ),
    ],
)
def test_settings_allow_a_variable_or_a_host(
    write: Callable[[Change], Path], change: Change, settings: dict[str, str]
) -> None:
    assert (
        len(open_store(Settings.from_environment({"TOOLFOLD_CATALOG": str(write(change)), **settings}))())
        == BUNDLED_TOOLS
    )


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        # The key of one source to the host of another.
        (base_url("https://weather.example/"), {"TOOLFOLD_ALLOWED_HOSTS": "weather.example"}),
        (base_url("https://weather.example/"), {"TOOLFOLD_ALLOWED_HOSTS": "weather=weather.example"}),
        (environment("WEATHER_KEY"), {"TOOLFOLD_KEY_VARIABLES": "weather=WEATHER_KEY"}),
        (
            moved("weather", auth={"environment": "ALPHA_VANTAGE_API_KEY"}, base_url="https://weather.example/"),
            {"TOOLFOLD_ALLOWED_HOSTS": "weather.example"},
        ),
        (
            moved("maps", auth={"environment": "MAPS_KEY"}, base_url="https://weather.example/"),
            {"TOOLFOLD_ALLOWED_HOSTS": "weather=weather.example", "TOOLFOLD_KEY_VARIABLES": "maps=MAPS_KEY"},
        ),
    ],
)
def test_the_key_of_a_source_is_not_sent_to_the_host_of_another(
    write: Callable[[Change], Path], change: Change, settings: dict[str, str]
) -> None:
    with pytest.raises(CatalogUnavailable):
        open_store(Settings.from_environment({"TOOLFOLD_CATALOG": str(write(change)), **settings}))()


def test_the_executor_checks_a_catalog_that_was_opened_without_settings(
    write: Callable[[Change], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "THEFUNCTIONSSECRET")
    catalog = FileStore(write(environment("AWS_SECRET_ACCESS_KEY")))()
    app = build_app(Settings.from_environment({"TOOLFOLD_CACHE": "off"}))
    tool = tool_of(catalog, "CPI")
    with pytest.raises(CatalogUnavailable, match="environment variable"):
        run_call(app.executor, CallContext(catalog, tool, {}))


def test_a_refused_source_does_not_end_the_warm_up_of_others() -> None:
    executor = build_app(Settings.from_environment({})).executor
    source = FileStore(bundled_path())().source("alpha_vantage")
    executor.warm_up([source._replace(id="other", base_url="https://evil.example/"), source])
    assert list(executor.services.circuit_states()) == [source.id]


def test_the_command_line_names_the_setting(
    write: Callable[[Change], Path],
    monkeypatch: pytest.MonkeyPatch,
    command_line: CommandLine,
) -> None:
    monkeypatch.setenv("TOOLFOLD_CATALOG", str(write(base_url("https://evil.example/"))))
    shown = command_line("catalog", "list", code=1)
    assert "TOOLFOLD_ALLOWED_HOSTS" in shown.out + shown.err


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://WWW.Weather.example/a?b", "www.weather.example"),
        ("https://weather.example:443", "weather.example"),
        ("https://weather.example:8443?x", "weather.example:8443"),
        ("https://[2001:DB8::1]:8/", "[2001:db8::1]:8"),
        ("http://127.0.0.1:80/", "127.0.0.1"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://weather.example/", ""),
        ("HTTPS://weather.example/", ""),
        ("https://user@weather.example/", ""),
        ("https://weather.example:/", ""),
        ("https://weather.example:99999999999/", ""),
        ("https://weather.example\t/", ""),
        ("https://weather.example/#top", ""),
        ("https://wéather.example/", ""),
        ("https://weather%2eexample/", ""),
        ("https:///path", ""),
        ("https://evil.example\\@weather.example/", ""),
        ("file:///etc/passwd", ""),
        ("weather.example", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host
