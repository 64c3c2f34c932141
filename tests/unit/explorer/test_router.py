"""Which path is answered by what, and what every answer has."""

import json

import pytest

from tests.support.explorer import ask, make_page
from toolfold.explorer.page import SECURITY_HEADERS
from toolfold.explorer.router import MAX_BODY_BYTES

PAGE = make_page()


@pytest.mark.parametrize("path", ["/ui/api/", "/ui/api/nothing", "/ui/api/start/", "/ui/api/__init__", "/ui/api/os"])
def test_an_unknown_resource_is_404_with_an_error(path: str) -> None:
    response = ask(PAGE, path)

    assert response.status == 404
    assert json.loads(response.body)["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", ["/", "/ui/nothing.js", "/ui/api/start", "/ui/api/nothing"])
def test_every_answer_has_the_security_headers(path: str) -> None:
    assert set(SECURITY_HEADERS) <= set(ask(PAGE, path).headers)
    assert set(SECURITY_HEADERS) <= set(ask(PAGE, path, "POST").headers)


@pytest.mark.parametrize("path", ["/", "/ui/app.js", "/ui/api/start"])
def test_another_method_is_405(path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        response = ask(PAGE, path, method)
        assert (response.status, dict(response.headers)["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/evil:x", "/%0d%0ax", "/a b", "/\\evil", "//", "/é"])
def test_no_other_path_is_in_a_redirect(path: str) -> None:
    assert "location" not in dict(ask(PAGE, path).headers)


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json; charset=utf-8", '{"texts": ["a"]}', 200),
        ("text/plain", '{"texts": ["a"]}', 415),
        ("application/x-www-form-urlencoded", "texts=a", 415),
        ("", '{"texts": ["a"]}', 415),
        ("application/json", "[" * 50_000, 400),
        ("application/json", "", 400),
        ("application/json", " " * (MAX_BODY_BYTES + 1), 413),
    ],
    ids=range(7),
)
def test_bodies_are_json_of_limited_size(content_type: str, body: str, status: int) -> None:
    headers = (("content-type", content_type),) if content_type else ()
    assert ask(PAGE, "/ui/api/tokens", "POST", headers, body).status == status
