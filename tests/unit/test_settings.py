"""Environment variables as settings."""

from __future__ import annotations

from typing import Any

import pytest

from toolfold.errors import SettingsError
from toolfold.protocol.http import OriginPolicy, refuse_caller
from toolfold.settings import Settings
from toolfold.settings.own_keys import check_key_is_guarded
from toolfold.settings.variables import VARIABLES


def test_every_variable_is_a_field() -> None:
    fields = set(Settings._fields)
    named = {name.removeprefix("TOOLFOLD_").lower() for name in VARIABLES if "<" not in name}
    assert fields == named | {"source_urls", "keyed_sources"}


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("TOOLFOLD_CATALOG", " s3://bucket/prefix ", "catalog", "s3://bucket/prefix"),
        ("TOOLFOLD_TIMEOUT_S", "2.5", "timeout_s", 2.5),
        ("TOOLFOLD_CACHE_MEMORY_BYTES", "1e6", "cache_memory_bytes", 1_000_000),
        ("TOOLFOLD_REQUESTS_PER_DAY", "", "requests_per_day", None),
        ("TOOLFOLD_REQUESTS_PER_DAY", "0", "requests_per_day", None),
        ("TOOLFOLD_REQUESTS_PER_SECOND", "0.5", "requests_per_second", 0.5),
        ("TOOLFOLD_RETRIES", "0", "retries", 0),
        ("TOOLFOLD_LOG_LEVEL", "warning", "log_level", "WARNING"),
        ("TOOLFOLD_ALLOW_KEY_IN_QUERY", "Yes", "allow_key_in_query", True),
        ("TOOLFOLD_ALLOWED_ORIGINS", "https://a.test/, ,*", "allowed_origins", ("https://a.test", "*")),
        ("TOOLFOLD_CACHE", "dynamodb://table-1", "cache", "dynamodb://table-1"),
    ],
)
def test_a_value_is_parsed(name: str, value: str, field: str, expected: Any) -> None:
    assert getattr(Settings.from_environment({name: value}), field) == expected


def test_a_source_can_have_another_url() -> None:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": "http://127.0.0.1:1/query", "TOOLFOLD_SOURCE_X_URL": " "}
    assert Settings.from_environment(environment).source_urls == {"alpha_vantage": "http://127.0.0.1:1/query"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOLFOLD_TIMEOUT_S", "soon"),
        ("TOOLFOLD_TIMEOUT_S", "inf"),
        ("TOOLFOLD_BREAKER_FAILURES", "0.5"),
        ("TOOLFOLD_CACHE", "dynamodb://"),
        ("TOOLFOLD_CACHE", "redis://host"),
        ("TOOLFOLD_OFFLOAD", "ftp://host"),
        ("TOOLFOLD_PRESIGNED_URL_TTL_S", "86401"),
        ("TOOLFOLD_LOG_LEVEL", "LOUD"),
        ("TOOLFOLD_TRACE", "perhaps"),
        ("TOOLFOLD_ALLOWED_ORIGINS", "example.com"),
        ("TOOLFOLD_ALLOWED_ORIGINS", "https://example.com/page"),
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
    with pytest.raises(SettingsError, match="cannot allow the origin null"):
        Settings.from_environment({"TOOLFOLD_ALLOWED_ORIGINS": "null"})


def test_the_salt_is_not_printed() -> None:
    assert "pepper" not in repr(Settings.from_environment({"TOOLFOLD_KEY_SALT": "pepper"}))


class TestKeyIsGuarded:
    @pytest.mark.parametrize(
        "key",
        [
            {"ALPHA_VANTAGE_API_KEY": "k"},
            {"ALPHA_VANTAGE_API_KEY": "arn:aws:ssm:eu-central-1:123456789012:parameter/key"},
            {"TOOLFOLD_SOURCE_WEATHER_KEY": "k"},
            {"TOOLFOLD_KEY_VARIABLES": "OTHER, weather=WEATHER_KEY", "WEATHER_KEY": "k"},
        ],
    )
    def test_a_key_for_everyone_must_be_confirmed(self, key: dict[str, str]) -> None:
        with pytest.raises(SettingsError, match="Anyone who reaches this server would use the key in "):
            check_key_is_guarded(Settings.from_environment(key), key)
        tokens = {"TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com", "TOOLFOLD_PUBLIC_URL": "https://x.example.com"}
        for guard in ({"TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}, tokens):
            check_key_is_guarded(Settings.from_environment({**key, **guard}), {**key, **guard})

    @pytest.mark.parametrize("environment", [{}, {"ALPHA_VANTAGE_API_KEY": " "}, {"OTHER_KEY": "k"}])
    def test_without_a_key_nothing_is_to_confirm(self, environment: dict[str, str]) -> None:
        check_key_is_guarded(Settings.from_environment(environment), environment)


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
        ("https://user@client.example.com/callback", False),
        ("callback", False),
    ],
)
def test_redirect_uris_are_exact(value: str, accepted: bool) -> None:
    environment = {
        "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
        "TOOLFOLD_PUBLIC_URL": "https://tools.example.com/mcp",
        "TOOLFOLD_OAUTH_COGNITO_CLIENT": "client",
        "TOOLFOLD_OAUTH_REDIRECT_URIS": value,
    }
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
