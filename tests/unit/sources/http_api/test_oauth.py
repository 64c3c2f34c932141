"""Keys are sent where ``auth`` says; tokens are requested once, and again shortly before their end or when refused."""

import base64
import json
import threading
from typing import Any
from urllib.parse import parse_qs

import pytest
from pydantic import ValidationError

from tests.support.tables import accepted
from tests.support.threads import run_concurrently
from toolfold.build.schema import Auth as AuthModel
from toolfold.catalog.contract import check_head
from toolfold.catalog.entries import Auth, Sections, Source
from toolfold.errors import AuthRejected, CallError, RateLimited, UpstreamError, UpstreamTimeout
from toolfold.network.session import Response
from toolfold.redaction import Redactor
from toolfold.sources.base import ConnectionFailed
from toolfold.sources.http_api.oauth import TokenProvider, token_request
from toolfold.sources.http_api.request import HttpRequest, credentials_to_send, secrets_of

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
    return {**head, "sections": {name: [] for name in Sections.__required_keys__}}


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


CLIENT = "client-7:s3cret/+&"
URL = "https://auth.example/token"


def source(**oauth2: Any) -> Source:
    auth = Auth("TOOLFOLD_SOURCE_A_KEY", oauth2={"token_url": URL, **oauth2})
    return Source("a", "A", "http_api", "https://a.example", "", auth, {}, "-", (), ())


def answer(status: int, body: str) -> Response:
    return Response(status, {}, body.encode())


class Endpoint:
    """A token endpoint: issues ``token-1``, ``token-2``, …"""

    def __init__(self, *responses: Response | CallError, **fields: Any) -> None:
        self.requests: list[HttpRequest] = []
        self.responses, self.fields, self.now = list(responses), fields, 1000.0
        self.provider = TokenProvider(source(), self.send, lambda: self.now)

    def send(self, request: HttpRequest, deadline: float) -> Response:
        self.requests.append(request)
        if self.responses:
            response = self.responses.pop(0)
            if isinstance(response, CallError):
                raise response
            return response
        body = {"access_token": f"token-{len(self.requests)}", "token_type": "Bearer", "expires_in": 3600}
        return answer(200, json.dumps({**body, **self.fields}))

    def get(self, key: str = CLIENT) -> str:
        return self.provider.get_token(key, self.now + 10)


def test_the_request_is_the_grant_of_rfc_6749() -> None:
    request = token_request({"token_url": URL, "scopes": ["read", "write"], "audience": "https://a.example/"}, CLIENT)
    assert request.url == URL
    fields = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    assert fields == {"grant_type": "client_credentials", "scope": "read write", "audience": "https://a.example/"}
    scheme, _, encoded = request.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(encoded).decode()) == ("Basic", "client-7:s3cret%2F%2B%26")
    assert "s3cret" not in repr(request)


def test_id_and_secret_can_be_sent_in_the_body() -> None:
    request = token_request({"token_url": URL, "client_authentication": "body"}, CLIENT)
    fields = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    assert (fields["client_id"], fields["client_secret"]) == ("client-7", "s3cret/+&")
    assert "Authorization" not in request.headers


def test_a_token_is_kept_until_shortly_before_its_end() -> None:
    rows = [
        ({"expires_in": 3600}, 3569, 3571),
        ({"expires_in": "3600"}, 3569, 3571),
        ({"expires_in": 40}, 19, 21),
        ({"expires_in": None}, 269, 271),
        ({"expires_in": 0}, 269, 271),
        ({"expires_in": -5}, 269, 271),
        ({"expires_in": 10**12}, 86_369, 86_371),
        ({"expires_in": float("inf")}, 269, 271),
    ]
    for fields, kept_s, over_s in rows:
        endpoint = Endpoint(**fields)
        assert endpoint.get() == "token-1"
        endpoint.now += kept_s
        assert endpoint.get() == "token-1", fields
        endpoint.now += over_s - kept_s
        assert endpoint.get() == "token-2", fields


def test_a_refused_token_is_requested_again_once_for_all_threads() -> None:
    endpoint = Endpoint()
    first = endpoint.get()
    endpoint.provider.drop_token(CLIENT, first)
    assert endpoint.get() == "token-2"
    endpoint.provider.drop_token(CLIENT, first)  # of a thread that was slower
    assert endpoint.get() == "token-2"


def test_credentials_do_not_share_a_token() -> None:
    endpoint = Endpoint()
    assert [endpoint.get("a:1"), endpoint.get("b:2"), endpoint.get("a:1")] == ["token-1", "token-2", "token-1"]
    for number in range(100):
        endpoint.get(f"caller-{number}:x")
    assert len(endpoint.provider._tokens) <= 64


def test_what_is_no_token_is_an_error_without_the_secret() -> None:
    rows = [
        (answer(401, '{"error": "invalid_client"}'), AuthRejected, "(invalid_client)"),
        (answer(400, '{"error": "invalid_scope", "error_description": "s3cret"}'), AuthRejected, "scope"),
        (answer(403, f"<html>{CLIENT}</html>"), AuthRejected, "does not accept"),
        (answer(302, ""), UpstreamError, "302"),
        (answer(500, ""), UpstreamError, "500"),
        (answer(503, ""), ConnectionFailed, "503"),
        (answer(429, CLIENT), RateLimited, "The token endpoint of A is limiting calls."),
        (answer(200, ""), UpstreamError, "without an access token"),
        (answer(200, "[" * 100_000), UpstreamError, "without an access token"),
        (answer(200, '["access_token"]'), UpstreamError, "without an access token"),
        (answer(200, '{"access_token": ""}'), UpstreamError, "without an access token"),
        (answer(200, '{"access_token": "a\\r\\nX-Evil: 1"}'), UpstreamError, "without an access token"),
        (answer(200, '{"access_token": "a b"}'), UpstreamError, "without an access token"),
        (answer(200, json.dumps({"access_token": "a" * 20_000})), UpstreamError, "without an access token"),
        (answer(200, '{"access_token": "a", "token_type": "mac"}'), UpstreamError, "another type"),
    ]
    for response, error, text in rows:
        endpoint = Endpoint(response)
        with pytest.raises(error) as caught:
            endpoint.get()
        assert text in caught.value.message
        assert "s3cret" not in json.dumps(caught.value.as_dict())
        assert endpoint.get() == "token-2"  # an error is not kept


@pytest.mark.parametrize("fails", [False, True])
def test_threads_that_wait_for_one_request_share_its_outcome(fails: bool) -> None:
    endpoint, waiting, outcomes = Endpoint(), threading.Barrier(6), list[str]()
    send = endpoint.send

    def slow(request: HttpRequest, deadline: float) -> Response:
        waiting.wait(60)
        deadline_of_others.wait(0.05)
        if fails:
            endpoint.requests.append(request)
            raise UpstreamError("down", "-")
        return send(request, deadline)

    def job() -> None:
        if not started.acquire(blocking=False):
            waiting.wait(60)
        try:
            outcomes.append(provider.get_token(CLIENT, 1010.0))
        except UpstreamError as error:
            outcomes.append(error.message)

    started, deadline_of_others = threading.Semaphore(1), threading.Event()
    provider = TokenProvider(source(), slow, lambda: 1000.0)
    run_concurrently([job] * 6)
    assert outcomes == (["down"] if fails else ["token-1"]) * 6
    assert len(endpoint.requests) == 1


def test_a_call_does_not_wait_for_a_token_beyond_its_deadline() -> None:
    is_sent, ends = threading.Event(), threading.Event()

    def slow(request: HttpRequest, deadline: float) -> Response:
        is_sent.set()
        ends.wait(60)
        raise UpstreamError("down", "-")

    provider = TokenProvider(source(), slow, lambda: 1000.0)

    def job() -> None:
        with pytest.raises(UpstreamError):
            provider.get_token(CLIENT, 1010.0)

    thread = threading.Thread(target=job)
    thread.start()
    is_sent.wait(60)
    with pytest.raises(UpstreamTimeout):
        provider.get_token(CLIENT, 1000.0)
    ends.set()
    thread.join()
