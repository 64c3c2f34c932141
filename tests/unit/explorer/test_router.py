"""Which path is answered by what, what every answer has, and which files are sent."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.support.explorer import ask, make_page
from toolfold.explorer.page import SECURITY_HEADERS
from toolfold.explorer.router import MAX_BODY_BYTES, LocalPage

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
        "/ui/../../../../../../etc/passwd",
        "/ui/%2e%2e/secret.txt",
        "/ui/%2e%2e%2fsecret.txt",
        "/ui/..%2fsecret.txt",
        "/ui/%252e%252e%252fsecret.txt",
        "/ui/..%c0%afsecret.txt",
        "/ui/..\\secret.txt",
        "/ui/..%5csecret.txt",
        "/ui/....//secret.txt",
        "/ui/sub/../../secret.txt",
        "/ui/./index.html",
        "/ui//index.html",
        "/ui//etc/passwd",
        "/ui/" + "/etc/passwd",
        "/ui/C:\\Windows\\win.ini",
        "/ui/file:///etc/passwd",
        "/ui/\\\\host\\share",
        "/ui/link.txt",
        "/ui/folder/secret.txt",
        "/ui/secret.txt",
        "/ui/script.py",
        "/ui/noend",
        "/ui/image.png",
        "/ui/" + NAME + "%00.png",
        "/ui/" + NAME + "\x00",
        "/ui/" + NAME + "/",
        "/ui/" + NAME.lower(),
        "/ui/sub",
        "/ui/sub/icon.svg",
        "/ui/sub/",
        "/ui/",
        "/ui/ui/index.html",
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


def test_a_file_that_was_deleted_since_is_404(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("one")
    (tmp_path / "a.css").write_text("a{}")
    page = make_page(folder=tmp_path)
    ask(page, "/")
    (tmp_path / "a.css").unlink()
    assert ask(page, "/ui/a.css").status == 404
