"""The files of the page: what is sent, how it is cached, and that no path leads out of the folder."""

import gzip
import os
from pathlib import Path

import pytest

from tests.support.explorer import ask, make_page
from toolfold.explorer.router import LocalPage

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
