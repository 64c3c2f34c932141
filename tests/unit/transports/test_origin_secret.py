"""A deployment behind a firewall refuses what did not pass it: deploy/waf.yaml."""

import hashlib
from typing import Any

import pytest

from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import message
from toolfold.protocol.http import Request, Response

OLD, NEW = "a secret of 2025", "a secret of 2026"
HASHES = ",".join(hashlib.sha256(secret.encode()).hexdigest() for secret in (OLD, NEW))


def respond(headers: dict[str, str], path: str = "/mcp", method: str = "POST", hashes: str = HASHES) -> dict[str, Any]:
    return make_handler({"TOOLFOLD_ORIGIN_SECRET_SHA256": hashes})(http_event(message("ping"), headers, path, method))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Origin-Secret": OLD}, 200),
        ({"x-origin-secret": NEW}, 200),
        ({}, 403),
        ({"x-origin-secret": ""}, 403),
        ({"x-origin-secret": "a guess"}, 403),
        ({"x-origin-secret": f"{OLD},{NEW}"}, 403),
        ({"x-origin-secret": HASHES.split(",")[0]}, 403),
        ({"x-origin-secret": "\ud800"}, 403),
    ],
)
def test_only_requests_with_one_of_the_secrets_are_answered(headers: dict[str, str], status: int) -> None:
    response = respond(headers)
    assert response["statusCode"] == status
    if status == 403:
        assert response["body"] == "Requests must come through the firewall of this server: use its URL.\n"


@pytest.mark.parametrize(("path", "method"), [("/health", "GET"), ("/mcp/trading", "POST"), ("/register", "POST")])
def test_no_path_is_reached_around_the_firewall(path: str, method: str) -> None:
    assert respond({}, path, method)["statusCode"] == 403


def test_no_secret_is_required_without_a_firewall() -> None:
    assert respond({}, hashes="")["statusCode"] == 200


@pytest.mark.parametrize(
    ("hashes", "forwarded", "address"),
    [
        (HASHES, "203.0.113.9, 130.176.0.1", "203.0.113.9"),
        (HASHES, "10.9.8.7, 203.0.113.9,130.176.0.1", "203.0.113.9"),  # the client sends the first
        (HASHES, "130.176.0.1", "130.176.0.1"),
        ("", "203.0.113.9, 130.176.0.1", "130.176.0.1"),
    ],
)
def test_limits_apply_to_the_address_that_the_firewall_saw(
    monkeypatch: pytest.MonkeyPatch, hashes: str, forwarded: str, address: str
) -> None:
    handler = make_handler({"TOOLFOLD_ORIGIN_SECRET_SHA256": hashes})
    seen: list[Request] = []

    def handle(request: Request) -> Response:
        seen.append(request)
        return Response(200)

    monkeypatch.setattr(handler.server, "handle_http", handle)
    headers = {"x-origin-secret": OLD, "x-forwarded-for": forwarded}
    handler(http_event({}, headers, address="130.176.0.1"))
    assert [request.source_address for request in seen] == [address]
