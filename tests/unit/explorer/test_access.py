"""Who may read the page, and every way around that which we know."""

import json
import logging
from urllib.parse import quote

import pytest

from tests.support.explorer import HOST, ask, make_closed_page
from toolfold.explorer.router import LocalPage
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
        "token=wrong",
        "token=" + "x" * 43,
        "token={shorter}",
        "token={token}x",
        "token={other_case}",
        "token=wrong&token={token}",
        "token=%00{token}",
        "token=%FF%FE",
        "token=%ED%A0%80",
        "token=" + quote("тoken"),
        "token[]={token}",
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
        (("cookie", "toolfold-ui-8790="),),
        (("cookie", "toolfold-ui-8790=wrong"),),
        (("cookie", f"toolfold-ui-8790={PAGE.token}"),),
        (("cookie", COOKIE[1].replace("8790", "8791")),),
        (("cookie", COOKIE[1][:-1]),),
        (("cookie", COOKIE[1] + "é"),),
        (("cookie", COOKIE[1].upper()),),
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
        (("origin", "http://127.0.0.1:3000"),),
        (("origin", "http://127.0.0.1"),),
        (("origin", f"http://{HOST}.evil.example"),),
        (("origin", f"http://{HOST}@evil.example"),),
        (("origin", f"http://evil.example#{HOST}"),),
        (("origin", f"ftp://{HOST}"),),
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
