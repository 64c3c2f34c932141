"""Tokens are requested once, kept until shortly before their end, and requested again when they are refused."""

import base64
import json
import threading
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.support.threads import run_concurrently
from toolfold.catalog.entries import Auth, Source
from toolfold.errors import AuthRejected, CallError, RateLimited, UpstreamError, UpstreamTimeout
from toolfold.network.session import Response
from toolfold.sources.base import ConnectionFailed
from toolfold.sources.http_api.authentication import TokenProvider, token_request
from toolfold.sources.http_api.request import HttpRequest

KEY = "client-7:s3cret/+&"
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

    def get(self, key: str = KEY) -> str:
        return self.provider.get_token(key, self.now + 10)


def test_the_request_is_the_grant_of_rfc_6749() -> None:
    request = token_request({"token_url": URL, "scopes": ["read", "write"], "audience": "https://a.example/"}, KEY)
    assert request.url == URL
    fields = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    assert fields == {"grant_type": "client_credentials", "scope": "read write", "audience": "https://a.example/"}
    scheme, _, encoded = request.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(encoded).decode()) == ("Basic", "client-7:s3cret%2F%2B%26")
    assert "s3cret" not in repr(request)


def test_id_and_secret_can_be_sent_in_the_body() -> None:
    request = token_request({"token_url": URL, "client_authentication": "body"}, KEY)
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
        ({"expires_in": "soon"}, 269, 271),
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
    endpoint.provider.drop_token(KEY, first)
    assert endpoint.get() == "token-2"
    endpoint.provider.drop_token(KEY, first)  # of a thread that was slower
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
        (answer(403, f"<html>{KEY}</html>"), AuthRejected, "does not accept"),
        (answer(302, ""), UpstreamError, "302"),
        (answer(500, ""), UpstreamError, "500"),
        (answer(503, ""), ConnectionFailed, "503"),
        (answer(429, KEY), RateLimited, "The token endpoint of A is limiting calls."),
        (answer(200, ""), UpstreamError, "without an access token"),
        (answer(200, "[" * 100_000), UpstreamError, "without an access token"),
        (answer(200, '["access_token"]'), UpstreamError, "without an access token"),
        (answer(200, '{"access_token": 5}'), UpstreamError, "without an access token"),
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
        waiting.wait(5)
        deadline_of_others.wait(0.05)
        if fails:
            endpoint.requests.append(request)
            raise UpstreamError("down", "-")
        return send(request, deadline)

    def job() -> None:
        if not started.acquire(blocking=False):
            waiting.wait(5)
        try:
            outcomes.append(provider.get_token(KEY, 1010.0))
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
        ends.wait(5)
        raise UpstreamError("down", "-")

    provider = TokenProvider(source(), slow, lambda: 1000.0)

    def job() -> None:
        with pytest.raises(UpstreamError):
            provider.get_token(KEY, 1010.0)

    thread = threading.Thread(target=job)
    thread.start()
    is_sent.wait(5)
    with pytest.raises(UpstreamTimeout):
        provider.get_token(KEY, 1000.0)
    ends.set()
    thread.join()
