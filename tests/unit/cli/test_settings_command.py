"""``toolfold settings``."""

import json
import os
from pathlib import Path

import pytest

from tests.support.commands import CommandLine, Run
from toolfold.settings import VARIABLES

URL = "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL"


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """Exit code, stdout and stderr of a command in an environment without settings."""
    return command_line.run


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
        **{name: f"HIDDEN2 {'x' * 40}" for name in VARIABLES if name.endswith(("_SECRET", "_SALT"))},
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


def test_a_file_in_the_working_directory_is_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(f"{URL}=http://127.0.0.1:9/query\n")
    monkeypatch.chdir(tmp_path)
    assert "127.0.0.1:9" not in run("settings")[1]
