"""The key of a source is sent where its ``auth`` says, and its parts are known to the redaction."""

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.tables import accepted
from toolfold.build.schema import Auth as AuthModel
from toolfold.catalog.contract import check_head
from toolfold.catalog.entries import Auth
from toolfold.redaction import Redactor
from toolfold.sources.http_api.authentication import credentials_to_send, secrets_of

KEY = "k&y=1/2+3"


@pytest.mark.parametrize("key", ["user:pass:word", "user", ":secret"])
def test_basic_credentials_are_user_and_password(key: str) -> None:
    auth = Auth("TOOLFOLD_SOURCE_X_KEY", basic=True)
    scheme, _, encoded = credentials_to_send(auth, key).headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(encoded).decode()) == ("Basic", key if ":" in key else f"{key}:")


@pytest.mark.parametrize("auth", [{"basic": True}, {"oauth2": {"token_url": "https://a.example/token"}}])
def test_each_secret_part_of_a_key_is_redacted(auth: dict[str, Any]) -> None:
    key = "client-7:correct horse battery"
    redactor = Redactor((key, *secrets_of(Auth("TOOLFOLD_SOURCE_X_KEY", **auth), key)))
    for text in ("correct horse battery", "correct%20horse%20battery", base64.b64encode(key.encode()).decode()):
        assert redactor.redact_text(f"a {text} b") == "a [key] b"


def test_auth_that_cannot_be_meant_does_not_compile() -> None:
    rows = [
        {"bearer": True, "basic": True},
        {"query_key": "a", "header": "B"},
        {"header": "A B"},
        {"header": "A\r\nB"},
        {"header": "A:"},
        {"cookie": "a;b"},
        {"cookie": "a=b"},
        {"prefix": "Token"},
        {"header": "A", "prefix": "B c"},
        {"oauth2": {}},
        {"oauth2": {"token_url": "http://a.example/token"}},
        {"oauth2": {"token_url": "https://user@a.example/token"}},
        {"oauth2": {"token_url": "https://a.example/token", "scopes": ["a b"]}},
        {"oauth2": {"token_url": "https://a.example/token", "secret": "x"}},
        {"password": "x"},
        {"environment": "lower"},
    ]
    assert accepted(AuthModel.model_validate, rows, ValidationError) == []


def head_with(auth: dict[str, Any]) -> dict[str, Any]:
    """Return the head of a catalog with one source that has ``auth``."""
    source = {
        "title": "A", "description": "A.", "kind": "http_api", "base_url": "https://a.example", "function_key": "",
        "auth": auth, "freshness": {"default": 60}, "no_data": "-", "faults": [], "unknown_notice": [],
    }  # fmt: skip
    counts: dict[str, Any] = {"tags": {}, "access": {}, "effect": {}, "source": {}}
    head = {"count": 0, "sources": {"a": source}, "categories": [], "counts": counts}
    return {**head, "listing": "", "sections": {}}


@pytest.mark.parametrize(
    "auth",
    [
        {"header": "A\r\nX-Evil: 1"},
        {"header": 1},
        {"header": "A", "prefix": "B\nC"},
        {"bearer": True, "basic": True},
        {"oauth2": {"token_url": "https://a.example/token"}, "bearer": True},
        {"oauth2": {"token_url": "file:///etc/passwd"}},
        {"oauth2": {"token_url": "https://a.example/token", "extra": 1}},
        {"secret": "x"},
    ],
)
def test_a_catalog_with_other_auth_is_refused(auth: dict[str, Any]) -> None:
    check_head(head_with({"environment": "TOOLFOLD_SOURCE_A_KEY", "header": "X-Key", "prefix": "Token"}))
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        check_head(head_with({"environment": "TOOLFOLD_SOURCE_A_KEY", **auth}))
