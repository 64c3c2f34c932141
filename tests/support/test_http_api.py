"""The imitation of API Gateway converts requests and results as API Gateway does."""

from __future__ import annotations

import base64

import pytest

from tests.support.http_api import Request, event_for, response_from


def post(body: bytes, *headers: tuple[str, str], target: str = "/mcp") -> Request:
    return Request("POST", target, headers, body, "203.0.113.7")


def test_the_event_describes_the_request() -> None:
    event = event_for(post(b"", ("Host", "abc.example.com:443"), ("User-Agent", "probe/1")))

    assert event["version"] == "2.0"
    assert event["requestContext"]["http"] == {
        "method": "POST",
        "path": "/mcp",
        "protocol": "HTTP/1.1",
        "sourceIp": "203.0.113.7",
        "userAgent": "probe/1",
    }
    assert event["requestContext"]["domainName"] == "abc.example.com"
    assert event["headers"]["x-forwarded-for"] == "203.0.113.7"


def test_header_names_are_lower_case_and_repeated_headers_joined() -> None:
    headers = event_for(post(b"", ("Mcp-Method", "a"), ("MCP-METHOD", "b"), ("Connection", "keep-alive")))["headers"]

    assert headers["mcp-method"] == "a,b"
    assert "connection" not in headers


def test_cookies_move_to_their_own_list() -> None:
    event = event_for(post(b"", ("Cookie", "a=1; b=2")))

    assert event["cookies"] == ["a=1", "b=2"]
    assert "cookie" not in event["headers"]


def test_the_query_is_kept_as_sent_and_decoded_beside_it() -> None:
    event = event_for(post(b"", target="/mcp?a=1&a=2&empty=&text=x%20y"))

    assert event["rawPath"] == "/mcp"
    assert event["rawQueryString"] == "a=1&a=2&empty=&text=x%20y"
    assert event["queryStringParameters"] == {"a": "1,2", "empty": "", "text": "x y"}


def test_absent_parts_have_no_key() -> None:
    assert {"body", "cookies", "queryStringParameters"}.isdisjoint(event_for(post(b"")))


@pytest.mark.parametrize(
    ("body", "content_type", "is_base64"),
    [
        (b"{}", "application/json", False),
        ("äöü".encode(), "Application/JSON; charset=utf-8", False),
        (b"\xff\xfe", "application/json", True),
        (b"{}", "application/octet-stream", True),
        (b"{}", "", True),
    ],
)
def test_a_body_is_text_for_text_types_and_base64_otherwise(body: bytes, content_type: str, is_base64: bool) -> None:
    event = event_for(post(body, ("content-type", content_type)))

    assert event["isBase64Encoded"] is is_base64
    assert (base64.b64decode(event["body"]) if is_base64 else event["body"].encode()) == body


def test_a_response_has_status_headers_cookies_and_body() -> None:
    response = response_from(
        {"statusCode": 202, "headers": {"x-a": "1"}, "cookies": ["c=2"], "body": "aGk=", "isBase64Encoded": True}
    )

    assert (response.status, response.body) == (202, b"hi")
    assert response.headers == [("x-a", "1"), ("set-cookie", "c=2")]


def test_a_value_without_a_status_is_a_200_with_that_json() -> None:
    assert response_from({"a": 1}).body == b'{"a": 1}'
    assert response_from("text").status == 200
