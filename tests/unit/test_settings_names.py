"""Misspelt names of environment variables."""

import pytest

from tests.support.commands import CommandLine
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.catalog.store import open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.settings import Settings
from toolfold.settings.model import unknown_names

URL = "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TOOLFOLD_CACH", "TOOLFOLD_CACHE"),
        ("TOOLFOLD_TIMEOUT", "TOOLFOLD_TIMEOUT_S"),
        ("TOOLFOLD_SOURCE_ALPHA_VANTAGE", URL),
        ("TOOLFOLD_API_KEY", "ALPHA_VANTAGE_API_KEY"),
        ("TOOLFOLD_ALPHA_VANTAGE_API_KEY", "ALPHA_VANTAGE_API_KEY"),
        ("TOOLFOLD_HOSTS", "TOOLFOLD_ALLOWED_HOSTS"),
        ("TOOLFOLD_UNRELATED_WORDS", ""),
    ],
)
def test_misspelt_variable_is_an_error_with_the_closest_name(name: str, meant: str) -> None:  # N9
    assert (f"Did you mean {meant}?" in unknown_names({name: "x"})[name]) == bool(meant)
    with pytest.raises(SettingsError, match=f"^{name} is not a setting of toolfold. .*{meant}"):
        Settings.from_environment({name: "x"})


@pytest.mark.parametrize(
    "name",
    ["MY_TOOLFOLD_CACHE", "TOOLFOLDER", "toolfold_cache"],
)
def test_variables_of_other_programs_are_no_mistakes(name: str) -> None:
    assert unknown_names({name: "x"}) == {}


def test_variables_can_be_ignored() -> None:
    variables = {"TOOLFOLD_CI_RUN": "1", "TOOLFOLD_PORT": "x", "TOOLFOLD_SOURCE_OLD_URL": "https://x.test"}
    settings = Settings.from_environment(
        {**variables, "TOOLFOLD_IGNORED_VARIABLES": "TOOLFOLD_CI_*, TOOLFOLD_PORT,TOOLFOLD_SOURCE_OLD_URL"}
    )
    assert settings.source_urls == {}
    assert len(unknown_names(variables)) == 2


def test_a_variable_that_may_hold_a_key_is_known() -> None:
    environment = {"TOOLFOLD_KEY_VARIABLES": "weather=TOOLFOLD_WEATHER_TOKEN", "TOOLFOLD_WEATHER_TOKEN": "k"}
    assert unknown_names(environment) == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "TOOLFOLD_SOURCE_ALFA_VANTAGE_URL",
            "TOOLFOLD_SOURCE_ALFA_VANTAGE_URL names a source that the catalog does not have. "
            "Did you mean TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL?",
        ),
        (
            "TOOLFOLD_SOURCE_AV_URL",
            "TOOLFOLD_SOURCE_AV_URL names a source that the catalog does not have. It has alpha_",
        ),
        ("TOOLFOLD_SOURCE_ALPHA_VANTAGE_BASE_URL", "Did you mean TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL?"),
        ("TOOLFOLD_SOURCE_ALPHAVANTAGE_KEY", "Did you mean TOOLFOLD_SOURCE_ALPHA_VANTAGE_KEY?"),
        ("TOOLFOLD_SOURCE_ALPHA_VANTAGE_KEY", "is not read: the key of Alpha Vantage is ALPHA_VANTAGE_API_KEY."),
    ],
)
def test_variable_of_an_unknown_source_never_lets_the_real_service_be_called(name: str, sentence: str) -> None:  # N9
    with pytest.raises(CatalogUnavailable) as raised:
        open_store(Settings.from_environment({name: "http://127.0.0.1:9/query"}))()
    assert sentence in raised.value.message


@pytest.mark.parametrize(("ids", "said"), [((), "It has no source."), (("weather", "atlas"), "It has atlas, weather.")])
def test_sources_of_the_catalog_are_named_and_no_others(ids: tuple[str, ...], said: str) -> None:
    allow_list = AllowList(Settings.from_environment({"TOOLFOLD_SOURCE_PRICES_KEY": "k"}))
    with pytest.raises(CatalogUnavailable) as raised:
        allow_list.check_all([Source(id_, id_.title(), "skills", "", "", None, {}, "", (), ()) for id_ in ids])
    assert raised.value.message == f"TOOLFOLD_SOURCE_PRICES_KEY names a source that the catalog does not have. {said}"


def test_a_command_ends_with_the_mistake(monkeypatch: pytest.MonkeyPatch, command_line: CommandLine) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALFA_VANTAGE_URL", "http://127.0.0.1:9/query")
    for command in (["call", "GLOBAL_QUOTE", "symbol=IBM"], ["serve", "--port", "0"], ["stdio"], ["catalog", "list"]):
        assert "Did you mean TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL?" in command_line(*command, code=1).err
