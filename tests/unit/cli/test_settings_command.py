"""``toolfold settings``, and variables from a file."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.commands import CommandLine, Run
from toolfold.cli.environment import read_env_file
from toolfold.errors import SettingsError
from toolfold.settings import VARIABLES

URL = "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL"


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Exit code, stdout and stderr of a command in an environment without settings."""
    for name in list(os.environ):
        if name.startswith(("TOOLFOLD_", "ALPHA_")):
            monkeypatch.delenv(name)

    with mock.patch.dict(os.environ):  # --env-file sets variables
        yield command_line.run


def test_every_setting_is_printed_with_its_value_and_origin(run: Run) -> None:
    os.environ["TOOLFOLD_MAX_TOKENS"] = "2000"
    code, out, _ = run("settings", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert {name for name in VARIABLES if "<" not in name} <= set(rows)
    assert (rows["TOOLFOLD_MAX_TOKENS"]["value"], rows["TOOLFOLD_MAX_TOKENS"]["origin"]) == ("2000", "environment")
    assert rows["TOOLFOLD_MAX_TOKENS"]["default"] == "8000"
    assert (rows["TOOLFOLD_RETRIES"]["value"], rows["TOOLFOLD_RETRIES"]["origin"]) == ("2", "default")
    assert rows["TOOLFOLD_CACHE"]["value"].endswith("responses.sqlite")
    assert run("settings", "--set")[1] == "TOOLFOLD_MAX_TOKENS               2000  [environment]\n"


def test_secrets_are_not_printed(run: Run) -> None:
    os.environ |= {
        "ALPHA_VANTAGE_API_KEY": "HIDDEN1",
        "TOOLFOLD_KEY_SALT": "HIDDEN2",
        URL: "https://user:HIDDEN3@host.test/query?apikey=HIDDEN4",
        "TOOLFOLD_SOURCE_X_KEY": "HIDDEN5",
        "TOOLFOLD_SOURCE_KEYS": '{"x": "HIDDEN6"}',
    }
    for form in ([], ["--json"]):
        _, out, err = run("settings", *form)
        assert "HIDDEN" not in out + err
        assert "https://host.test/query?(hidden)" in out


def test_wrong_values_and_names_are_shown_beside_the_right_ones(run: Run) -> None:
    os.environ |= {"TOOLFOLD_TIMEOUT_S": "soon", "TOOLFOLD_CACH": "off"}
    code, out, err = run("settings")
    assert code == 1
    assert "TOOLFOLD_RETRIES" in out
    assert "TOOLFOLD_TIMEOUT_S must be a number above 0" in err
    assert "Did you mean TOOLFOLD_CACHE?" in err


def test_variables_come_from_a_file_that_is_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "prod.env"
    file.write_text("TOOLFOLD_RETRIES=0\nTOOLFOLD_MAX_TOKENS=5\n")
    os.environ["TOOLFOLD_MAX_TOKENS"] = "2000"
    for arguments in (["settings", "--set", "--env-file", str(file)], ["--env-file", str(file), "settings", "--set"]):
        os.environ.pop("TOOLFOLD_RETRIES", None)
        _, out, _ = run(*arguments)
        assert f"TOOLFOLD_RETRIES                  0  [{file}]" in out
        assert "TOOLFOLD_MAX_TOKENS               2000  [environment]" in out


def test_a_misspelt_name_in_a_file_is_an_error(run: Run, tmp_path: Path) -> None:  # N9
    (tmp_path / "env").write_text("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URI=http://127.0.0.1:9/query\n")
    code, _, err = run("call", "CPI", "--env-file", str(tmp_path / "env"))
    assert code == 1
    assert f"Did you mean {URL}?" in err


def test_a_file_in_the_working_directory_is_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(f"{URL}=http://127.0.0.1:9/query\n")
    monkeypatch.chdir(tmp_path)
    assert "127.0.0.1:9" not in run("settings")[1]


def test_lines_of_a_file_are_parsed(tmp_path: Path) -> None:
    lines = ["# comment", "", "A=1", "export B = two words # more", "C='x # y'", 'D="q" # z', "E=", "F=a=b", "G=a#b"]
    (tmp_path / "env").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    expected = {"A": "1", "B": "two words", "C": "x # y", "D": "q", "E": "", "F": "a=b", "G": "a#b"}
    assert read_env_file(str(tmp_path / "env")) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"A=1\nSECRET", ":2: a line must be NAME=VALUE"),
        (b"1A=2", ":1: a line must be NAME=VALUE"),
        (b"A='x", ":1: a line must be NAME=VALUE"),
        (b"A=\xff", "cannot be read: it is not UTF-8"),
        (b"#" * 1_000_001, "is larger than"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_without_its_content(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / "env").write_bytes(content)
    with pytest.raises(SettingsError) as raised:
        read_env_file(str(tmp_path / "env"))
    assert problem in str(raised.value)
    assert str(tmp_path) in str(raised.value)
    assert "SECRET" not in str(raised.value)
