"""Settings: their values, names that are misspelt, and where a process of one user keeps its files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.catalog.store import open_store
from toolfold.cli.serve import check_settings
from toolfold.cli.settings import setting_meanings
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.local_defaults import user_folder, with_local_defaults
from toolfold.protocol.http import OriginPolicy, refuse_caller
from toolfold.settings import VARIABLES, Settings
from toolfold.settings.model import unknown_names

ISSUER = {
    "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
    "TOOLFOLD_PUBLIC_URL": "https://tools.example.com/mcp",
}


def test_every_variable_is_a_field_with_a_meaning() -> None:
    named = {name.removeprefix("TOOLFOLD_").lower() for name in VARIABLES}
    assert set(Settings.__annotations__) == named | {"source_urls", "keyed_sources"}
    assert set(setting_meanings()) == {*VARIABLES, "TOOLFOLD_SOURCE_<ID>_URL", "TOOLFOLD_SOURCE_<ID>_KEY"}


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("TOOLFOLD_CATALOG", " s3://bucket/prefix ", "catalog", "s3://bucket/prefix"),
        ("TOOLFOLD_TIMEOUT_S", "2.5", "timeout_s", 2.5),
        ("TOOLFOLD_CACHE_MEMORY_BYTES", "1e6", "cache_memory_bytes", 1_000_000),
        ("TOOLFOLD_REQUESTS_PER_DAY", "", "requests_per_day", None),
        ("TOOLFOLD_REQUESTS_PER_SECOND", "0.5", "requests_per_second", 0.5),
        ("TOOLFOLD_LOG_LEVEL", "warning", "log_level", "WARNING"),
        ("TOOLFOLD_ALLOW_KEY_IN_QUERY", "Yes", "allow_key_in_query", True),
        ("TOOLFOLD_ALLOWED_ORIGINS", "https://A.test, ,*", "allowed_origins", ("https://a.test", "*")),
        ("TOOLFOLD_CACHE", "dynamodb://table-1", "cache", "dynamodb://table-1"),
    ],
)
def test_a_value_is_parsed(name: str, value: str, field: str, expected: Any) -> None:
    assert getattr(Settings.from_environment({name: value}), field) == expected


@pytest.mark.parametrize(
    ("cache", "table", "file"),
    [
        ("", "", ""), ("memory", "", ""), ("off", "", ""), ("No", "", ""), ("dynamodb://answers", "answers", ""),
        ("~/cache.sqlite", "", "~/cache.sqlite"),
    ],
)  # fmt: skip
def test_a_cache_is_a_table_a_file_or_neither(cache: str, table: str, file: str) -> None:
    settings = Settings.from_environment({"TOOLFOLD_CACHE": cache})
    assert (settings.cache_table, settings.cache_file) == (table, file)


def test_a_source_can_have_another_url() -> None:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": "http://127.0.0.1:1/query", "TOOLFOLD_SOURCE_X_URL": " "}
    assert Settings.from_environment(environment).source_urls == {"alpha_vantage": "http://127.0.0.1:1/query"}


COGNITO = {**ISSUER, "TOOLFOLD_OAUTH_COGNITO_CLIENT": "client"}
OF_CLIENTS = "https://claude.ai/api/mcp/auth_callback, http://localhost:3334/oauth/callback, http://127.0.0.1/callback"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TIMEOUT_S": "soon"}, "^TOOLFOLD_TIMEOUT_S must be "),
        ({"BREAKER_FAILURES": "0.5"}, "^TOOLFOLD_BREAKER_FAILURES must be "),
        ({"OFFLOAD": "ftp://host"}, "^TOOLFOLD_OFFLOAD must be "),
        ({"PRESIGNED_URL_TTL_S": "86401"}, "^TOOLFOLD_PRESIGNED_URL_TTL_S must be "),
        ({"LOG_LEVEL": "LOUD"}, "^TOOLFOLD_LOG_LEVEL must be "),
        ({"TRACE": "perhaps"}, "^TOOLFOLD_TRACE must be "),
        ({"ALLOWED_ORIGINS": "null"}, "^TOOLFOLD_ALLOWED_ORIGINS must be "),
        ({"ACCESS": "everyone"}, "^TOOLFOLD_ACCESS must be "),
        ({"ORIGIN_SECRET_SHA256": "hunter2"}, "^TOOLFOLD_ORIGIN_SECRET_SHA256 must be "),
        ({"ACCESS": "oauth"}, "TOOLFOLD_ACCESS=oauth needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "iam", **ISSUER}, "TOOLFOLD_OAUTH_ISSUER needs TOOLFOLD_ACCESS=oauth"),
        ({"OAUTH_ISSUER": "https://issuer.example.com"}, "TOOLFOLD_PUBLIC_URL must be set"),
        ({"OAUTH_AUDIENCE": "tools"}, "TOOLFOLD_OAUTH_AUDIENCE needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "open", "OAUTH_CLIENT_IDS": "a"}, "TOOLFOLD_OAUTH_CLIENT_IDS needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "open", "CALLS_PER_DAY": "0"}, "TOOLFOLD_ACCESS=open needs limits"),
        ({"OAUTH_COGNITO_CLIENT": "x"}, "TOOLFOLD_OAUTH_COGNITO_CLIENT needs TOOLFOLD_OAUTH_ISSUER"),
        (COGNITO, "must be set together"),
        ({**ISSUER, "OAUTH_REDIRECT_URIS": "https://client.example.com/callback"}, "must be set together"),
        *(({**COGNITO, "OAUTH_REDIRECT_URIS": uri}, "TOOLFOLD_OAUTH_REDIRECT_URIS must be URIs")
          for uri in ("http://client.example.com/callback", "http://localhost.example.com/callback",
                      "https://*.example.com/callback", "https://client.example.com/callback#part")),
        # Keys of sources are a reference, and another value is not shown.
        *(({"SOURCE_KEYS": keys}, "must be the ARN of a secret or parameter")
          for keys in ('{"crm": "CANARYKEY"}', "CANARYKEY", "arn:aws:s3:::CANARYKEY", "ssm:/CANARYKEY#crm")),
    ],
)  # fmt: skip
def test_values_that_are_wrong_or_contradict_each_other_are_an_error(
    environment: dict[str, str], sentence: str
) -> None:
    named = {f"TOOLFOLD_{name.removeprefix('TOOLFOLD_')}": value for name, value in environment.items()}
    with pytest.raises(SettingsError, match=sentence) as caught:
        Settings.from_environment(named)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("value", [OF_CLIENTS, "cursor://anysphere.cursor-mcp/oauth/callback"])
def test_redirect_uris_of_clients_are_accepted(value: str) -> None:
    settings = Settings.from_environment({**COGNITO, "TOOLFOLD_OAUTH_REDIRECT_URIS": value})
    assert len(settings.oauth_redirect_uris) == len(value.split(","))


def test_every_origin_is_every_origin_but_null() -> None:
    settings = Settings.from_environment({"TOOLFOLD_ALLOWED_ORIGINS": "*"})
    policy = OriginPolicy(settings.allowed_origins)
    assert refuse_caller((("origin", "https://example.com"),), policy) is None
    refused = refuse_caller((("origin", "null"),), policy)
    assert refused.body == b"This origin is not allowed; it belongs to any page.\n"


@pytest.mark.parametrize(
    ("access", "limits"), [("", (None, None)), ("iam", (None, None)), ("open", (60, 500)), ("OPEN", (60, 500))]
)
def test_a_deployment_for_everyone_has_limits_by_default(access: str, limits: tuple[int | None, ...]) -> None:
    settings = Settings.from_environment({"TOOLFOLD_ACCESS": access})
    assert (settings.calls_per_minute, settings.calls_per_day) == limits


def test_salt_and_secrets_are_not_printed() -> None:
    names = [name for name in VARIABLES if name.endswith(("_SECRET", "_SALT"))]
    assert len(names) == 3
    assert "pepper" not in repr(Settings.from_environment(dict.fromkeys(names, "pepper" * 8)))


def test_a_key_for_everyone_must_be_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tests/integration/test_operator_keys.py`` has which keys these are."""
    key = {"ALPHA_VANTAGE_API_KEY": "k"}
    monkeypatch.setattr(os, "environ", key)
    check_settings("127.0.0.1")
    with pytest.raises(SettingsError, match="Anyone who reaches this server would use the key in "):
        check_settings("192.0.2.7")
    for guard in ({"TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}, ISSUER, {"TOOLFOLD_ACCESS": "iam"}):
        monkeypatch.setattr(os, "environ", key | guard)
        check_settings("192.0.2.7")


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
            "TOOLFOLD_SOURCE_AV_URL",
            "TOOLFOLD_SOURCE_AV_URL names a source that the catalog does not have. It has alpha_",
        ),
        ("TOOLFOLD_SOURCE_ALPHA_VANTAGE_BASE_URL", "_BASE_URL names a source that the catalog does not have."),
        ("TOOLFOLD_SOURCE_ALPHAVANTAGE_KEY", "It has alpha_vantage."),
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
        assert "It has alpha_vantage." in command_line(*command, code=1).err


def test_settings_that_are_given_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    settings = Settings.from_environment({"TOOLFOLD_CACHE": "memory"})
    assert with_local_defaults(settings).cache == "memory"
    assert with_local_defaults(settings).offload == "/c/toolfold"
    given = Settings.from_environment({"TOOLFOLD_CACHE": "off", "TOOLFOLD_OFFLOAD": "off"})
    assert with_local_defaults(given) is given


@pytest.mark.parametrize("value", ["", "./cache", "~/cache"])
def test_a_relative_xdg_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert user_folder("cache") == "/home/somebody/.cache/toolfold"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become an unknown user")
@pytest.mark.parametrize("home", [None, "relative"])
def test_without_a_home_folder_nothing_is_written_and_one_warning_logged(tmp_path: Path, home: str | None) -> None:
    program = (
        "import logging, os\n"
        "from toolfold.local_defaults import with_local_defaults\n"
        "from toolfold.settings import Settings\n"
        "import platformdirs.unix\n"  # files of the test's user are not readable by the other one
        "logging.basicConfig(format='%(message)s')\n"
        "os.setuid(54321)\n"
        "found = with_local_defaults(Settings.from_environment())\n"
        "print(found.cache, found.offload)\n"
    )
    environment = {"PATH": os.environ["PATH"], **({} if home is None else {"HOME": home})}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "memory off\n"
    assert done.stderr.splitlines() == [
        "This user has no home folder: responses are cached in memory, long answers are not saved"
    ]
    assert list(tmp_path.iterdir()) == []
