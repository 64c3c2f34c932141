"""Who may read the page, which path is answered by what, and which files are sent."""

import gzip
import json
import logging
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.explorer import HOST, ask, make_closed_page, make_page
from toolfold.explorer.page import SECURITY_HEADERS
from toolfold.explorer.router import MAX_BODY_BYTES, LocalPage
from toolfold.protocol.http import Headers, OriginPolicy, is_from_page

PAGE = make_closed_page()
API = "/ui/api/start"


COOKIE = ("cookie", dict(ask(PAGE, f"/?token={PAGE.token}").headers)["set-cookie"].partition(";")[0])
TOKEN = ("authorization", f"Bearer {PAGE.token}")


class TestToken:
    def test_it_is_exchanged_for_a_cookie_by_a_redirect_without_it(self) -> None:
        response = ask(PAGE, f"/?token={PAGE.token}")
        headers = dict(response.headers)
        assert (response.status, headers["location"]) == (303, "./")
        assert headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
        assert headers["set-cookie"].startswith("toolfold-ui-8790=")
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert PAGE.token not in str(response.headers)

    def test_the_cookie_and_the_header_of_a_program_open_the_page_and_its_resources(self) -> None:
        for header in (COOKIE, TOKEN):
            assert ask(PAGE, "/", headers=(header,)).status in (200, 503)  # built or not
            assert ask(PAGE, API, headers=(header,)).status == 200

    def test_the_browser_gets_a_code_that_works_once(self) -> None:
        page = make_closed_page()
        code = page.url(once=True).partition("=")[2]
        assert code != page.token
        assert ask(page, API, headers=(("authorization", f"Bearer {code}"),)).status == 401
        assert [ask(page, f"/?token={code}").status for _ in range(3)] == [303, 403, 403]
        assert ask(page, f"/?token={page.token}").status == 303

    def test_it_is_long_and_new_in_each_process(self) -> None:
        assert len(PAGE.token) >= 40
        assert LocalPage().token != LocalPage().token

    def test_the_log_and_repr_have_none_of_it(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        response = ask(PAGE, f"/?token={PAGE.token}")
        assert PAGE.token not in str(response.log_fields) + repr(PAGE) + caplog.text


@pytest.mark.parametrize(
    "query",
    [
        "token=",
        "token=" + "x" * 43,
        "token={shorter}",
        "token={token}x",
        "token={other_case}",
        "token=wrong&token={token}",
        "token=%00{token}",
        "token=%ED%A0%80",
        "token=" + quote("тoken"),
        "Token={token}",
    ],
)
def test_another_token_sets_no_cookie(query: str) -> None:
    forms = {"token": PAGE.token, "shorter": PAGE.token[:-1], "other_case": PAGE.token.swapcase()}
    response = ask(PAGE, "/?" + query.format(**forms))
    assert response.status in (401, 403)
    assert "set-cookie" not in dict(response.headers)
    assert b"<script" not in response.body
    assert PAGE.token.encode() not in response.body


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("cookie", "toolfold-ui-8790=wrong"),),
        (("cookie", f"toolfold-ui-8790={PAGE.token}"),),
        (("cookie", COOKIE[1].replace("8790", "8791")),),
        (("cookie", COOKIE[1][:-1]),),
        (("cookie", COOKIE[1] + "é"),),
        (("authorization", PAGE.token),),
        (("authorization", f"Basic {PAGE.token}"),),
        (("authorization", "Bearer "),),
        (("authorization", f"Bearer {COOKIE[1].partition('=')[2]}"),),
        (("x-api-key", PAGE.token),),
    ],
)
def test_without_the_cookie_or_the_token_nothing_is_shown(headers: Headers) -> None:
    for path in ("/", API, f"{API}?token={PAGE.token}"):
        response = ask(PAGE, path, headers=headers)
        assert response.status == 401
        assert b"toolfold ui" in response.body


def test_cookies_of_other_programs_do_not_matter() -> None:
    given = ("cookie", f"a=b; toolfold-ui-8790=stale; {COOKIE[1]}; c")
    assert ask(PAGE, API, headers=(given,)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        (("origin", "null"),),
        (("origin", "https://evil.example"),),
        (("origin", "http://localhost:8790"),),
        (("origin", "http://127.0.0.1"),),
        (("origin", f"http://{HOST}.evil.example"),),
        (("origin", f"http://{HOST}@evil.example"),),
        (("origin", HOST),),
        (("origin", f"http://{HOST}/"),),
        (("origin", ""),),
        (("origin", f"http://{HOST}"), ("origin", "https://evil.example")),
        (("sec-fetch-site", "cross-site"),),
        (("sec-fetch-site", "same-site"),),
        (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")),
        (("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")),
    ],
)
def test_requests_of_other_pages_are_refused_with_the_cookie_too(headers: Headers) -> None:
    for method in ("GET", "POST"):
        response = ask(PAGE, API, method, (COOKIE, *headers), "{}")
        assert response.status == 403
        assert json.loads(response.body)["error"]["code"] == "ORIGIN_REFUSED"


def test_no_other_page_can_load_a_file_as_a_script_or_an_image() -> None:
    for site in ("cross-site", "same-site"):
        headers = (("sec-fetch-site", site), ("sec-fetch-mode", "no-cors"))
        assert [ask(PAGE, path, headers=headers).status for path in ("/ui/app.js", "/")] == [403, 403]


def test_a_link_on_another_page_may_lead_here() -> None:
    headers = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"))
    response = ask(PAGE, "/", headers=headers)
    assert response.status == 401  # the browser sends no strict cookie with it; the page has a link that does
    assert b'href="./"' in response.body
    assert ask(PAGE, f"/?token={PAGE.token}", headers=headers).status == 303


@pytest.mark.parametrize("origin", [f"http://{HOST}", f"HTTP://{HOST}", f"https://{HOST}"])
def test_the_page_itself_is_allowed(origin: str) -> None:
    headers = (COOKIE, ("origin", origin), ("sec-fetch-site", "same-origin"))
    assert ask(PAGE, API, headers=headers).status == 200


def test_a_proxy_in_front_may_have_another_host() -> None:
    page = make_closed_page(TOOLFOLD_PUBLIC_URL="https://tools.example.com/mcp")
    headers: Headers = (("authorization", f"Bearer {page.token}"), ("origin", "https://tools.example.com"))
    assert ask(page, API, headers=headers).status == 200
    assert ask(PAGE, API, headers=(TOKEN, *headers[1:])).status == 403


PROXY = "id.execute-api.us-east-1.amazonaws.com"
ORIGIN = ("origin", f"https://{PROXY}")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((("host", PROXY), ORIGIN), True),
        ((("host", PROXY.upper()), ORIGIN), True),
        ((("host", "other"), ("origin", "https://tools.example.com")), True),  # a proxy in front changes the host
        ((("host", PROXY),), False),
        ((ORIGIN,), False),
        ((("host", PROXY), ("host", "evil.example"), ORIGIN), False),
        ((("host", PROXY), ORIGIN, ("origin", "https://evil.example")), False),
        ((("host", ""), ("origin", "https://")), False),
        ((("host", "null"), ("origin", "null")), False),
        ((("host", PROXY), ("origin", f"ws://{PROXY}")), False),
    ],
)
def test_which_requests_are_from_the_page(headers: tuple[tuple[str, str], ...], expected: bool) -> None:
    policy = OriginPolicy(public_host="tools.example.com", has_page=True)
    assert is_from_page(headers, policy) == expected
    assert not is_from_page(headers, OriginPolicy())


OPEN_PAGE = make_page()


@pytest.mark.parametrize("path", ["/ui/api/", "/ui/api/nothing", "/ui/api/start/", "/ui/api/__init__", "/ui/api/os"])
def test_an_unknown_resource_is_404_with_an_error(path: str) -> None:
    response = ask(OPEN_PAGE, path)

    assert response.status == 404
    assert json.loads(response.body)["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", ["/", "/ui/nothing.js", "/ui/api/start", "/ui/api/nothing"])
def test_every_answer_has_the_security_headers(path: str) -> None:
    assert set(SECURITY_HEADERS) <= set(ask(OPEN_PAGE, path).headers)
    assert set(SECURITY_HEADERS) <= set(ask(OPEN_PAGE, path, "POST").headers)


@pytest.mark.parametrize("path", ["/", "/ui/app.js", "/ui/api/start"])
def test_another_method_is_405(path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        response = ask(OPEN_PAGE, path, method)
        assert (response.status, dict(response.headers)["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/evil:x", "/%0d%0ax", "/a b", "/\\evil", "//", "/é"])
def test_no_other_path_is_in_a_redirect(path: str) -> None:
    assert "location" not in dict(ask(OPEN_PAGE, path).headers)


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
    assert ask(OPEN_PAGE, "/ui/api/tokens", "POST", headers, body).status == status


SCRIPT = b"console.log(1);" * 50
NAME = "app-ABCD2345.js"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    (root / "secret.txt").write_text("secret")
    static = root / "static"
    (static / "sub").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>page</title>")
    (static / NAME).write_bytes(SCRIPT)
    (static / "style-components.css").write_text("a{}")
    (static / "sub" / "icon.svg").write_text("secret")
    (static / "image.png").write_bytes(b"secret")
    (static / "script.py").write_text("secret")
    (static / "noend").write_text("secret")
    (static / "link.txt").symlink_to(root / "secret.txt")
    (static / "folder").symlink_to(root)
    return static


@pytest.fixture(scope="module")
def page(folder: Path) -> LocalPage:
    return make_page(folder=folder)


def test_the_page_is_checked_each_time_and_hashed_files_never(page: LocalPage) -> None:
    index, script = dict(ask(page, "/").headers), dict(ask(page, f"/ui/{NAME}").headers)
    assert (index["content-type"], index["cache-control"]) == ("text/html; charset=utf-8", "no-cache")
    assert script["content-type"] == "text/javascript; charset=utf-8"
    assert ask(page, f"/ui/{NAME}").body == SCRIPT
    assert script["cache-control"] == "public, max-age=31536000, immutable"
    assert "immutable" not in dict(ask(page, "/ui/style-components.css").headers)["cache-control"]


def test_texts_are_compressed_for_browsers_that_read_it(page: LocalPage) -> None:
    script = ask(page, f"/ui/{NAME}", headers=(("accept-encoding", "gzip, br"),))
    assert (gzip.decompress(script.body), dict(script.headers)["content-encoding"]) == (SCRIPT, "gzip")


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../secret.txt",
        "/ui/%2e%2e/secret.txt",
        "/ui/..%2fsecret.txt",
        "/ui/%252e%252e%252fsecret.txt",
        "/ui/..\\secret.txt",
        "/ui/sub/../../secret.txt",
        "/ui//etc/passwd",
        "/ui/link.txt",
        "/ui/folder/secret.txt",
        "/ui/secret.txt",
        "/ui/script.py",
        "/ui/noend",
        "/ui/image.png",
        "/ui/" + NAME + "%00.png",
        "/ui/" + NAME.lower(),
        "/ui/sub/icon.svg",
        "/ui/",
        "/ui/" + "a" * 8000,
        "/ui/" + "../" * 2000,
    ],
)
def test_no_path_leads_to_another_file(page: LocalPage, path: str) -> None:
    response = ask(page, path)
    assert response.status == 404
    assert b"secret" not in response.body
    assert b"root:" not in response.body
    assert b"doctype html><title>page" not in response.body


def test_a_missing_page_says_how_to_build_it(tmp_path: Path) -> None:
    response = ask(make_page(folder=tmp_path / "missing"), "/")
    assert response.status == 503
    assert b"`make ui`" in response.body
    assert ask(make_page(folder=tmp_path / "missing"), "/ui/index.html").status == 404


def test_a_page_that_is_built_while_the_server_runs_is_served(tmp_path: Path) -> None:
    page = make_page(folder=tmp_path)
    assert ask(page, "/").status == 503
    (tmp_path / "index.html").write_text("one")
    assert ask(page, "/").body == b"one"
    (tmp_path / "index.html").write_text("two")
    os.utime(tmp_path / "index.html", ns=(1, 1))
    assert ask(page, "/").body == b"two"
