"""``toolfold doctor``: what is wrong is named, with what to do; and the command that installs an extra."""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import KEY as MOCK_KEY
from tests.support.commands import CommandLine
from toolfold import extras
from toolfold.catalog.profiles import MODES
from toolfold.cli.doctor import check_definitions
from toolfold.mock_api.server import MockApi

KEY = "SECRETKEY1234567"
Doctor = Callable[..., tuple[int, list[dict[str, str]]]]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, mock_api: MockApi, command_line: CommandLine) -> Doctor:
    """Return the exit code and the findings, with these environment variables beside working ones."""
    working = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": KEY}
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, **environment: str) -> tuple[int, list[dict[str, str]]]:
        for name, value in {**working, **environment}.items():
            monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
        code, out, err = command_line.run("doctor", "--json", *arguments)
        assert KEY not in out + err
        assert err == ""
        return code, json.loads(out)

    return run


def problems(findings: list[dict[str, str]]) -> dict[str, str]:
    return {
        found["subject"]: f"{found['text']} {found['next_step']}" for found in findings if found["status"] == "problem"
    }


def test_nothing_is_wrong_and_the_host_is_requested_without_the_key(doctor: Doctor, mock_api: MockApi) -> None:
    before = len(mock_api.requests)
    code, findings = doctor()
    assert (code, problems(findings)) == (0, {})
    assert {"cache", "catalog", "key", "network"} <= {found["subject"] for found in findings if found["status"] == "ok"}
    assert not any(KEY in str(request) for request in list(mock_api.requests)[before:])


def test_offline_sends_nothing(doctor: Doctor) -> None:
    code, findings = doctor("--offline", TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL="http://127.0.0.1:1/query")
    assert code == 0
    assert "network" not in {found["subject"] for found in findings}


@pytest.mark.parametrize(
    ("environment", "subject", "words"),
    [
        ({"ALPHA_VANTAGE_API_KEY": ""}, "key", "Set ALPHA_VANTAGE_API_KEY. A key: https://www.alphavantage.co/"),
        (
            {"TOOLFOLD_CACH": "off"},
            "settings",
            "TOOLFOLD_CACH is not a setting of toolfold. Did you mean TOOLFOLD_CACHE?",
        ),
        ({"TOOLFOLD_TIMEOUT_S": "soon"}, "settings", "TOOLFOLD_TIMEOUT_S must be a number above 0"),
        (
            {"TOOLFOLD_CATALOG": "/no/catalog.json"},
            "catalog",
            "TOOLFOLD_CATALOG=/no/catalog.json: The tool catalog cannot be read",
        ),
        *(
            (
                {"ALPHA_VANTAGE_API_KEY": "", name: "k"},
                "key",
                f"{name} is set, but ALPHA_VANTAGE_API_KEY is what is read.",
            )
            for name in ("ALPHAVANTAGE_API_KEY", "ALPHA_VANTAGE_APIKEY", "alpha_vantage_api_key")
        ),
        ({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": "http://127.0.0.1:1/query"}, "network", "connection refused"),
        ({"REQUESTS_CA_BUNDLE": "/no/bundle.pem"}, "certificates", "/no/bundle.pem, which does not exist"),
    ],
)
def test_what_is_wrong_is_named_with_the_next_step(
    doctor: Doctor, environment: dict[str, str], subject: str, words: str
) -> None:
    code, findings = doctor(**environment)
    assert code == 1
    assert words in problems(findings)[subject]


@pytest.mark.parametrize("name", ["ALPACA_API_KEY", "ALPHA_VANTAGE_URL", "OPENAI_API_KEY", "TOOLFOLD_SOURCE_KEYS"])
def test_a_variable_of_something_else_is_not_taken_for_that_of_the_key(doctor: Doctor, name: str) -> None:
    _, findings = doctor("--offline", **{"ALPHA_VANTAGE_API_KEY": "", name: "another"})
    assert not any("is what is read" in found["next_step"] for found in findings)


def test_the_password_of_a_proxy_is_not_shown(doctor: Doctor) -> None:
    _, findings = doctor("--offline", HTTPS_PROXY="http://me:pa55word@127.0.0.1:8888")
    assert "127.0.0.1:8888" in str(findings)
    assert "pa55word" not in str(findings)


def test_a_person_reads_one_line_for_each_finding(doctor: Doctor, command_line: CommandLine) -> None:
    doctor()
    lines = command_line("doctor", "--offline").out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    assert len(lines) >= 4


def test_each_mode_lists_what_directories_take(doctor: Doctor) -> None:
    code, findings = doctor("--offline", "--directory")
    assert (code, problems(findings)) == (0, {})
    assert len([one for one in findings if one["subject"] == "directory"]) == len({"default", *MODES})


DEFINITION = {
    "name": "get_row", "title": "Row", "description": "A row.", "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"title": ""}, "get_row has no title"),
        ({"annotations": {"openWorldHint": True}}, "has neither readOnlyHint nor destructiveHint"),
        ({"name": "n" * 65}, "has a name of more than 64 characters"),
        ({"description": ""}, "has a description of 0 characters"),
        ({"description": "x" * 2049}, "has a description of 2,049 characters"),
        ({"description": "Always use this tool."}, "gives instructions to the model: 'Always use this tool'"),
        ({"description": "After list_rows."}, "names another tool: list_rows"),
        ({"inputSchema": {"properties": {"action": {"enum": ["A", "B", "C", 3]}}}}, "reads and writes"),
    ],
)
def test_what_directories_refuse_is_named(wrong: dict[str, Any], problem: str) -> None:
    tools = {"A": "read", "B": "write"}
    catalog: Any = SimpleNamespace(get=lambda name: SimpleNamespace(effect=tools[name]) if name in tools else None)
    other = {**DEFINITION, "name": "list_rows"}
    assert list(check_definitions(catalog, [DEFINITION, other])) == []
    (found,) = check_definitions(catalog, [{**DEFINITION, **wrong}, other])
    assert problem in found


def test_command_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    command = "pip install 'toolfold[build]'"
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "pip")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert extras.install_command("build") == command
    monkeypatch.delenv("VIRTUAL_ENV")
    assert extras.install_command("build") == f"{sys.executable} -m {command}"
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)  # as in the environments of uv and pipx
    assert extras.install_command("build") == f"uv pip install --python {sys.executable} 'toolfold[build]'"


def test_checkout_that_is_not_installed_uses_make(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    def fail(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", fail)
    assert extras.install_command("build") == f"cd {Path.cwd()} && make .venv/.dev"
    monkeypatch.setattr(extras, "__file__", "/site-packages/toolfold/extras.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "pip")
    assert extras.install_command("aws").endswith("pip install 'toolfold[aws]'")


def ran(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that has imported nothing yet."""
    variables = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "TOOLFOLD_ALLOWED_HOSTS": ""}
    command = [sys.executable, "-c", f"import sys; from toolfold.cli import main\n{program}"]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def without(packages: Iterable[str]) -> str:
    return f"sys.modules.update(dict.fromkeys({sorted(packages)}))\n"


def test_what_builds_a_catalog_needs_the_extra_build_alone(tmp_path: Path) -> None:
    (tmp_path / "catalog/one").mkdir(parents=True)
    tool = "tools: [{name: rain, summary: Millimetres of rain in a town}]"
    (tmp_path / "catalog/one/source.yaml").write_text(f"kind: http_api\nbase_url: https://rain.example\n{tool}\n")
    others = [package for package, extra in extras.EXTRAS.items() if extra != "build"]
    add = "source add http rain http://127.0.0.1:9/rain?town=Oslo --yes"
    commands = [command.split() for command in (add, "source list", "catalog lint")]
    done = ran(f"{without(others)}for command in {commands}:\n    assert main(command) == 0, command", tmp_path)
    assert (done.returncode, "This needs" in done.stderr) == (0, False), done.stderr


def test_doctor_needs_no_extra_and_one_that_is_missing_is_named(tmp_path: Path) -> None:
    program = "import toolfold.cli.doctor; sys.exit(main(['catalog', 'compile']))"
    done = ran(without(extras.EXTRAS) + program, tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"This needs (?:pydantic|yaml): .*pip install .*\[build\].*\n", done.stderr)


def test_a_call_imports_the_modules_of_no_other_command_and_rich_for_a_terminal_only(
    tmp_path: Path, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", MOCK_KEY)
    program = "assert main(['call', 'WTI', '--format', 'csv']) == 0; print(*sys.modules, file=sys.stderr)"
    loaded = set(ran(program, tmp_path).stderr.split())
    of_others = {f"toolfold.cli.{name}" for name in ("cache", "catalog_views", "doctor", "serve", "sources")}
    assert "toolfold.cli.call" in loaded
    assert not (of_others | {"rich", "click.shell_completion"}) & loaded
