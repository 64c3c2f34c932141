"""A document is fetched over real HTTP from hosts that are allowed, and replaces the file only if it is one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.catalogs import refresh
from tests.support.local_server import HttpService, Received, Reply, as_json
from tests.support.openapi_documents import OK, document
from toolfold.build.yaml_loader import Limits
from toolfold.errors import SourceError
from toolfold.settings import Settings

PETS = document({"/pets": {"get": {**OK, "operationId": "list"}}})
HOOKS = {"title": "Hooks", "version": "1"}


@pytest.fixture
def service() -> Iterator[HttpService]:
    with HttpService(as_json(PETS)) as running:
        yield running


@pytest.fixture
def settings(service: HttpService) -> Settings:
    return Settings.from_environment({"TOOLFOLD_ALLOWED_HOSTS": service.url.partition("://")[2]})


@pytest.fixture
def folder(tmp_path: Path, service: HttpService) -> Path:
    """A source whose document is at ``service``."""
    (tmp_path / "pets").mkdir()
    return write(tmp_path / "pets", document="openapi.json", url=f"{service.url}/openapi.json")


def write(folder: Path, **settings: str) -> Path:
    (folder / "source.yaml").write_text(json.dumps({"id": "pets", "kind": "openapi", **settings}))
    return folder


def refused(folder: Path, settings: Settings) -> str:
    """Return the error of a refresh, which must leave the folder as it is."""
    (folder / "openapi.json").write_text("old")
    with pytest.raises(SourceError) as caught:
        refresh(folder, settings)
    assert (folder / "openapi.json").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["openapi.json", "source.yaml"]
    return str(caught.value)


def test_a_document_is_written_with_one_value_a_line(folder: Path, service: HttpService, settings: Settings) -> None:
    assert refresh(folder, settings, check=True).added == ("list",)
    assert [path.name for path in folder.iterdir()] == ["source.yaml"]
    steps: list[str] = []
    report = refresh(folder, settings, progress=steps.append)
    assert report.added == ("list",)
    assert json.loads((folder / "openapi.json").read_text()) == PETS
    assert '\n  "openapi": "3.1.0",\n' in (folder / "openapi.json").read_text()
    assert [step.split()[0] for step in steps] == ["Fetching", "Wrote"]
    assert not refresh(folder, settings)


def test_yaml_is_written_as_it_is(folder: Path, service: HttpService, settings: Settings) -> None:
    text = b"openapi: 3.1.0  # a comment\npaths: {/pets: {get: {}}}\n"
    service.answer = (200, {"content-type": "application/yaml"}, text)
    assert refresh(write(folder, url=f"{service.url}/openapi.yaml"), settings).added == ("get_pets",)
    assert (folder / "openapi.yaml").read_bytes() == text


def test_a_damaged_document_is_replaced(folder: Path, settings: Settings) -> None:
    (folder / "openapi.json").write_text('{"openapi": "3.1')
    assert refresh(folder, settings).added == ("list",)


def test_a_change_of_a_definition_is_reported(folder: Path, service: HttpService, settings: Settings) -> None:
    refresh(folder, settings)
    service.answer = as_json({**PETS, "components": {"schemas": {"Pet": {}}}})
    assert refresh(folder, settings).changed == ("components",)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ((404, {}, b"no"), "answers with the status 404"),
        ((401, {}, b"no"), "answers with the status 401"),
        ((200, {}, b"\n<!doctype html>"), "is a page of HTML or XML, and not an OpenAPI document"),
        ((200, {}, b'{"openapi": "2.9"}'), "is openapi '2.9'"),
        (as_json({"openapi": "3.1.0", "info": HOOKS, "webhooks": {}}), "has no operation that is included"),
        ((302, {"location": "file:///etc/passwd"}, b""), "'file:///etc/passwd', which is not an https URL"),
        ((302, {"location": "http://169.254.169.254/latest/meta-data"}, b""), "which is not an https URL"),
        ((302, {"location": "https://10.0.0.1/openapi.json"}, b""), "not allowed here: 10.0.0.1. Set TOOLFOLD_ALLOWED"),
        ((302, {"location": "/again"}, b""), "more than 3 redirects"),
        ((0, {}, b""), "connection"),
    ],
)
def test_what_is_no_document_leaves_the_old_one(
    folder: Path, service: HttpService, settings: Settings, reply: Reply, problem: str
) -> None:
    service.answer = reply
    if reply[0] == 0:
        service.server_close()
        service.shutdown()
    assert problem in refused(folder, settings)


def test_an_allowed_name_with_a_private_address_is_refused(
    folder: Path, service: HttpService, settings: Settings
) -> None:
    allowed = Settings.from_environment({"TOOLFOLD_ALLOWED_HOSTS": f"{service.url.partition('://')[2]},10.0.0.1"})
    service.answer = (302, {"location": "https://10.0.0.1/openapi.json"}, b"")
    assert "10.0.0.1: " in refused(folder, allowed)


def test_a_document_that_is_too_large_is_refused(
    folder: Path, service: HttpService, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolfold.build.importers.openapi.document.LIMITS", Limits(max_bytes=1000))
    service.answer = (200, {}, b"{" + b" " * 2000 + b"}")
    assert "the document cannot be fetched: 127.0.0.1: " in refused(folder, settings)


def test_a_redirect_on_the_same_host_is_followed(folder: Path, service: HttpService, settings: Settings) -> None:
    def answer(request: Received) -> Reply:
        return as_json(PETS) if request.path == "/v2.json" else (301, {"location": "/v2.json"}, b"")

    service.answer = answer
    assert refresh(folder, settings).added == ("list",)


def test_a_host_that_is_not_allowed_is_not_reached(folder: Path, service: HttpService) -> None:
    assert "Set TOOLFOLD_ALLOWED_HOSTS=127.0.0.1" in refused(folder, Settings.from_environment({}))
    assert service.received == []


def test_a_source_without_a_url_and_a_link_are_not_replaced(
    folder: Path, service: HttpService, settings: Settings
) -> None:
    (folder / "openapi.json").symlink_to(folder / "elsewhere")
    with pytest.raises(SourceError, match="is a symbolic link"):
        refresh(folder, settings)
    with pytest.raises(SourceError, match="has no url"):
        refresh(write(folder), settings)
    assert service.received == []
