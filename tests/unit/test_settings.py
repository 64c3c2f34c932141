"""Environment variables as settings."""

import os
from typing import Any

import pytest

from toolfold.cli.serve import check_settings
from toolfold.cli.settings import setting_meanings
from toolfold.errors import SettingsError
from toolfold.protocol.http import OriginPolicy, refuse_caller
from toolfold.settings import VARIABLES, Settings

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOLFOLD_TIMEOUT_S", "soon"),
        ("TOOLFOLD_BREAKER_FAILURES", "0.5"),
        ("TOOLFOLD_OFFLOAD", "ftp://host"),
        ("TOOLFOLD_PRESIGNED_URL_TTL_S", "86401"),
        ("TOOLFOLD_LOG_LEVEL", "LOUD"),
        ("TOOLFOLD_TRACE", "perhaps"),
        ("TOOLFOLD_ALLOWED_ORIGINS", "null"),
        ("TOOLFOLD_ACCESS", "everyone"),
        ("TOOLFOLD_ORIGIN_SECRET_SHA256", "hunter2"),
    ],
)
def test_an_error_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be "):
        Settings.from_environment({name: value})


def test_every_origin_is_every_origin_but_null() -> None:
    settings = Settings.from_environment({"TOOLFOLD_ALLOWED_ORIGINS": "*"})
    policy = OriginPolicy(settings.allowed_origins)
    assert refuse_caller((("origin", "https://example.com"),), policy) is None
    refused = refuse_caller((("origin", "null"),), policy)
    assert refused is not None
    assert refused.body == b"This origin is not allowed; it belongs to any page.\n"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"ACCESS": "oauth"}, "TOOLFOLD_ACCESS=oauth needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "iam", **ISSUER}, "TOOLFOLD_OAUTH_ISSUER needs TOOLFOLD_ACCESS=oauth"),
        ({"OAUTH_ISSUER": "https://issuer.example.com"}, "TOOLFOLD_PUBLIC_URL must be set"),
        ({"OAUTH_AUDIENCE": "tools"}, "TOOLFOLD_OAUTH_AUDIENCE needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "open", "OAUTH_CLIENT_IDS": "a"}, "TOOLFOLD_OAUTH_CLIENT_IDS needs TOOLFOLD_OAUTH_ISSUER"),
        ({"ACCESS": "open", "CALLS_PER_DAY": "0"}, "TOOLFOLD_ACCESS=open needs limits"),
        ({"OAUTH_COGNITO_CLIENT": "x"}, "TOOLFOLD_OAUTH_COGNITO_CLIENT needs TOOLFOLD_OAUTH_ISSUER"),
        ({**ISSUER, "OAUTH_COGNITO_CLIENT": "a"}, "must be set together"),
        ({**ISSUER, "OAUTH_REDIRECT_URIS": "https://client.example.com/callback"}, "must be set together"),
    ],
)
def test_settings_that_contradict_each_other_are_an_error(environment: dict[str, str], sentence: str) -> None:
    named = {f"TOOLFOLD_{name.removeprefix('TOOLFOLD_')}": value for name, value in environment.items()}
    with pytest.raises(SettingsError, match=sentence):
        Settings.from_environment(named)


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


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("http://localhost:3334/oauth/callback, http://127.0.0.1/callback", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", True),
        ("http://client.example.com/callback", False),
        ("http://localhost.example.com/callback", False),
        ("https://*.example.com/callback", False),
        ("https://client.example.com/callback#part", False),
    ],
)
def test_redirect_uris_are_exact(value: str, accepted: bool) -> None:
    environment = {**ISSUER, "TOOLFOLD_OAUTH_COGNITO_CLIENT": "client", "TOOLFOLD_OAUTH_REDIRECT_URIS": value}
    if accepted:
        assert len(Settings.from_environment(environment).oauth_redirect_uris) == len(value.split(","))
    else:
        with pytest.raises(SettingsError, match="TOOLFOLD_OAUTH_REDIRECT_URIS must be URIs"):
            Settings.from_environment(environment)


@pytest.mark.parametrize("value", ['{"crm": "CANARYKEY"}', "CANARYKEY", "arn:aws:s3:::CANARYKEY", "ssm:/CANARYKEY#crm"])
def test_keys_of_sources_are_a_reference_and_another_value_is_not_shown(value: str) -> None:
    with pytest.raises(SettingsError, match="must be the ARN of a secret or parameter") as caught:
        Settings.from_environment({"TOOLFOLD_SOURCE_KEYS": value})
    assert "CANARY" not in str(caught.value)
