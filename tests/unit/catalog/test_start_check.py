"""A process that is started with a wrong catalog ends at once, and names the path and the variable."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import CommandLine
from toolfold.catalog.start_check import check_catalog
from toolfold.catalog.store import FileStore
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.settings import Settings


def nothing(path: Path) -> None:
    pass


def text(path: Path) -> None:
    path.write_text("not a catalog")


KINDS: list[tuple[Callable[[Path], object], str]] = [
    (nothing, "cannot be read: No such file or directory"),
    (Path.mkdir, "cannot be read: it is not a regular file"),
    (os.mkfifo, "cannot be read: it is not a regular file"),
    (lambda path: path.symlink_to("/dev/zero"), "cannot be read: it is not a regular file"),
    (text, "its first line is not JSON"),
]


@pytest.mark.parametrize(("make", "problem"), KINDS)
def test_path_and_variable_are_named(
    tmp_path: Path, make: Callable[[Path], object], problem: str, caplog: pytest.LogCaptureFixture
) -> None:  # N7
    path = tmp_path / "catalog.json"
    make(path)
    with pytest.raises(SettingsError) as raised:
        check_catalog(Settings.from_environment({"TOOLFOLD_CATALOG": str(path)}))
    assert str(raised.value).startswith(f"TOOLFOLD_CATALOG={path}: The tool catalog ")
    assert problem in caplog.text


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_not_a_regular_file_is_not_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "catalog.json")
    with pytest.raises(CatalogUnavailable):
        FileStore(tmp_path / "catalog.json")()


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["stdio"], ["call", "CPI"]])
def test_nothing_starts_with_a_wrong_path(
    monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, command: list[str]
) -> None:  # N7
    monkeypatch.setenv("TOOLFOLD_CATALOG", "/nope.json")
    assert "TOOLFOLD_CATALOG=/nope.json: The tool catalog cannot be read" in command_line(*command, code=1).err


def test_a_catalog_in_s3_is_not_read_at_the_start() -> None:
    check_catalog(Settings.from_environment({"TOOLFOLD_CATALOG": "s3://nowhere/at-all"}))


def test_misspelt_variable_is_reported_once_and_to_a_person(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAG_URL": "http://127.0.0.1:1"})
    with pytest.raises(SettingsError, match=r"It has alpha_vantage\. Correct the name of the variable") as caught:
        check_catalog(settings)
    assert "operator" not in str(caught.value)
    assert caplog.text == ""
