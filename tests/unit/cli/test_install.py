"""``toolfold install``: what it changes in a client's configuration, and what it leaves alone."""

import json
import sys
import tomllib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.commands import CommandLine, Run
from tests.support.hostile_files import FILES
from tests.support.trees import snapshot
from toolfold import cli
from toolfold.mcp_clients import CLIENTS

KEY = "SECRETKEY1234567"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine) -> Run:
    """Run ``toolfold install`` with a home folder of its own; return exit code, stdout and stderr."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path / "AppData"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    return partial(command_line.run, "install")


def config(client: str, content: str | bytes | None = None) -> Path:
    """Return the configuration of a client, after writing ``content``."""
    path = CLIENTS[client].path()
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path


def parse(client: str, text: str) -> Any:
    return tomllib.loads(text) if CLIENTS[client].is_toml else json.loads(text)


@pytest.mark.parametrize(
    ("system", "client", "expected"),
    [
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "AppData/Claude/claude_desktop_config.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("linux", "cursor", ".cursor/mcp.json"),
        ("win32", "windsurf", ".codeium/windsurf/mcp_config.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "zed", "AppData/zed/settings.json"),
        ("linux", "codex", ".codex/config.toml"),
    ],
)
def test_each_client_has_its_own_file(
    install: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, client: str, expected: str
) -> None:
    with monkeypatch.context() as other_system:
        other_system.setattr(sys, "platform", system)
        assert config(client) == tmp_path / expected


@pytest.mark.parametrize("client", CLIENTS)
def test_the_entry_starts_toolfold_by_its_full_path_with_the_key(install: Run, client: str) -> None:
    code, out, err = install(client, "--yes")
    entry = parse(client, config(client).read_text())[CLIENTS[client].section]["toolfold"]
    assert code == 0
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-1] == "stdio"
    assert entry["env"] == {"ALPHA_VANTAGE_API_KEY": KEY}
    assert KEY not in out + err


@pytest.mark.parametrize(
    ("program", "is_named"),
    [
        (".cache/uv/archive-v0/a1/bin/toolfold", True),
        ("AppData/Local/uv/cache/archive-v0/a1/toolfold.exe", True),
        (".local/share/pipx/.cache/a1/bin/toolfold", True),
        (".local/bin/toolfold", False),
    ],
)
def test_a_program_that_a_cache_may_lose_is_named(
    install: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, is_named: bool
) -> None:
    path = tmp_path / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    monkeypatch.setattr("sys.argv", [str(path)])
    assert (f"{path} is in a cache" in install("cursor", "--yes")[2]) == is_named


def test_everything_else_in_the_file_stays_and_a_copy_is_kept(install: Run) -> None:
    before = {"mcpServers": {"other": {"command": "x", "env": {"T": "OTHERSECRET"}}}, "theme": "dünkel", "n": 1e3}
    path = config("cursor", json.dumps(before))
    path.chmod(0o640)
    code, out, _ = install("cursor", "--yes")
    after = json.loads(path.read_text())
    assert code == 0
    assert after.pop("mcpServers").pop("toolfold")
    assert after == {"theme": "dünkel", "n": 1e3}
    [backup] = path.parent.glob("*.bak")
    assert json.loads(backup.read_text()) == before
    assert str(backup) in out
    assert "OTHERSECRET" not in out
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_second_time_changes_nothing_and_another_key_is_announced_without_its_value(
    install: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("vscode", "--yes")
    path = config("vscode")
    modified = path.stat().st_mtime_ns
    code, out, _ = install("vscode", "--yes")
    assert (code, "already" in out) == (0, True)
    assert (path.stat().st_mtime_ns, list(path.parent.glob("*.bak"))) == (modified, [])
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "ANOTHERKEY765432")
    _, out, _ = install("vscode", "--yes")
    assert "new value" in out
    assert KEY not in out
    assert "ANOTHERKEY" not in out
    assert "ANOTHERKEY765432" in path.read_text()


def test_the_change_is_shown_and_refused_without_a_terminal(install: Run) -> None:
    code, out, err = install("claude-desktop")
    assert code == 1
    assert '+      "args": [' in out
    assert "--yes" in err
    assert not config("claude-desktop").exists()


def test_print_changes_nothing_and_shows_no_key(install: Run) -> None:
    code, out, err = install("cursor", "--print", "--name", "stocks", "--env", "TOOLFOLD_CACHE=off")
    assert (code, KEY in out + err, config("cursor").exists()) == (0, False, False)
    written = {"ALPHA_VANTAGE_API_KEY": "YOUR_KEY", "TOOLFOLD_CACHE": "off"}
    assert json.loads(out)["mcpServers"]["stocks"]["env"] == written
    assert "in the place of YOUR_KEY" in err


INLINE = '[mcp_servers]\ntoolfold = { command = "x" }\n'
BY_HAND = ".toolfold: it is written in a form that cannot be changed. Nothing was changed; edit it by hand."


@pytest.mark.parametrize(
    ("command", "client", "content", "problem"),
    [
        ("install", "vscode", "{\n  servers: {}\n}",
         "is not plain JSON: Expecting property name enclosed in double quotes: line 2"),
        ("install", "vscode", '{"servers": {}', "is not plain JSON"),
        ("install", "vscode", "[1]", "does not hold an object"),
        ("install", "vscode", '{"servers": []}', "is not an object"),
        ("install", "vscode", '{"servers": null}', '"servers" in '),
        ("install", "vscode", '{"servers": ' + "[" * 100_000, "is not plain JSON"),
        ("install", "vscode", "\udcff{}", "is not plain JSON: 'utf-8' codec"),
        ("install", "codex", INLINE, "mcp_servers.toolfold: Cannot declare"),
        ("install", "codex", "mcp_servers = 3\n", "is not an object"),
        ("install", "codex", "a = \n", "is not TOML"),
        # An entry that would stay is not removed.
        ("uninstall", "codex", INLINE, BY_HAND),
        ("uninstall", "codex", 'mcp_servers = { toolfold = { command = "x" } }\n', BY_HAND),
        ("uninstall", "cursor", '{"mcpServers": {"toolfold": {}, "toolfold": {"command": "x"}}}', BY_HAND),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("install")
def test_a_file_that_cannot_be_changed_safely_is_left_as_it_is(
    command_line: CommandLine, command: str, client: str, content: str, problem: str
) -> None:
    path = config(client, content)
    code, _, err = command_line.run(command, client, "--yes")
    assert (code, problem in err) == (1, True), err
    assert str(path) in err
    assert client != "vscode" or err.endswith("the same command with --print\n")
    assert path.read_bytes() == content.encode("utf-8", "surrogateescape")


JSONC = """// my servers
{
    "servers": {
        // the first one, "API_KEY": "OTHERSECRET"
        "other": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer OTHERSECRET"}}, // "a": {},
        /* { */ "last": {}, // why
    },
    "theme": "dark" /* mine */
}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_indentation_and_line_ends_stay(install: Run, newline: str) -> None:
    path = config("vscode", JSONC.replace("\n", newline))
    code, out, _ = install("vscode", "--yes", "--env", "TOOLFOLD_CACHE=off")
    after = path.read_bytes().decode()
    added = [line for line in after.splitlines() if line not in JSONC.splitlines()]
    assert code == 0
    assert [line for line in after.splitlines() if line not in added] == JSONC.splitlines()
    assert after.count("\n") == after.count(newline)
    assert added[0] == '        "toolfold": {'
    assert added[1] == '            "type": "stdio",'
    assert [line[1:].split() for line in out.splitlines() if line.startswith("+ ")][2:-2] == [
        line.replace(KEY, "(hidden, new value)").replace("off", "(hidden, new value)").split() for line in added[1:-1]
    ]
    assert not [line for line in out.splitlines() if line.startswith("- ")]
    assert "OTHERSECRET" not in out
    assert cli.main(["uninstall", "vscode", "--yes"]) == 0
    assert path.read_bytes().decode() == JSONC.replace("\n", newline)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "{}\n"),
        ("{}", '{\n  "servers": {}\n}'),
        ('{"servers": {"a": {}}}', '{"servers": {"a": {}\n}}'),
        ('{\n\t"servers": {\n\t\t"a": {}\n\t}\n}\n', '{\n\t"servers": {\n\t\t"a": {}\n\t}\n}\n'),
        ('{\n  "servers": {"toolfold": {"command": "x"}, "b": 1}\n}\n', '{\n  "servers": {"b": 1}\n}\n'),
    ],
)
def test_an_entry_is_added_and_removed(install: Run, before: str, after: str) -> None:
    path = config("vscode", before)
    assert install("vscode", "--yes")[0] == 0
    assert json.loads(path.read_text())["servers"]["toolfold"]["args"][-1] == "stdio"
    assert cli.main(["uninstall", "vscode", "--yes"]) == 0
    assert json.loads(path.read_text()) == json.loads(after) | {"servers": json.loads(after).get("servers", {})}
    assert cli.main(["uninstall", "vscode", "--yes"]) == 0


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("TOOLFOLD_CATALOG=mine/catalog.json", "{folder}/mine/catalog.json"),
        ("TOOLFOLD_CACHE=answers.sqlite", "{folder}/answers.sqlite"),
        ("TOOLFOLD_CACHE=off", "off"),
        ("TOOLFOLD_CATALOG=s3://bucket/prefix", "s3://bucket/prefix"),
        ("TOOLFOLD_MAX_TOKENS", "900"),
    ],
)
def test_a_variable_works_where_the_client_starts_the_server(
    install: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLFOLD_MAX_TOKENS", "900")
    _, out, _ = install("cursor", "--print", "--env", pair)
    name = pair.partition("=")[0]
    assert json.loads(out)["mcpServers"]["toolfold"]["env"][name] == expected.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("TOOLFOLD_CATALGO=x.json", "Did you mean TOOLFOLD_CATALOG?"),
        ("TOOLFOLD_TIMEOUT_S=soon", "must be a number"),
        ("1=x", "--env takes NAME=VALUE"),
        ("NOT_SET_HERE", "--env takes NAME=VALUE"),
    ],
)
def test_a_variable_that_cannot_work_is_not_written(install: Run, pair: str, problem: str) -> None:
    code, out, err = install("cursor", "--yes", "--env", pair)
    assert (code, out, problem in err) == (1, "", True)
    assert not config("cursor").exists()


def test_what_the_server_will_lack_is_named(install: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALPHA_VANTAGE_API_KEY")
    code, _, err = install("cursor", "--yes")
    assert (code, "The entry has no key: ALPHA_VANTAGE_API_KEY is not set here" in err) == (0, True)
    assert "env" not in json.loads(config("cursor").read_text())["mcpServers"]["toolfold"]
    monkeypatch.setenv("TOOLFOLD_MAX_TOKENS", "900")
    assert "Set here, but not for the server: TOOLFOLD_MAX_TOKENS" in install("cursor", "--print")[2]
    assert "Set here" not in install("cursor", "--print", "--env", "TOOLFOLD_MAX_TOKENS=900")[2]
    monkeypatch.delenv("TOOLFOLD_MAX_TOKENS")
    # The server reads the settings file of the user itself.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolfold").mkdir()
    (tmp_path / "toolfold/settings.toml").write_text("max_tokens = 900\n")
    assert "Set here" not in install("cursor", "--print")[2]


@pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs are of POSIX")
@pytest.mark.parametrize("kind", ["a FIFO", "a folder", "a socket", "a link to a folder"])
def test_a_configuration_that_is_not_a_file_is_refused_and_stays(install: Run, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.json"
    FILES[kind](path)
    before = snapshot(tmp_path)
    code, _, err = install("cursor", "--yes", "--config", str(path))
    assert code == 1
    assert f"{path} is not a file" in err
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links are of POSIX")
@pytest.mark.parametrize("is_link", [True, False])
def test_a_copy_is_not_written_through_a_link_or_over_a_file(
    install: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    monkeypatch.setattr("toolfold.cli.install.datetime", SimpleNamespace(now=lambda: datetime(2026, 1, 1)))
    path, victim = tmp_path / "config.json", tmp_path / "victim"
    path.write_text("{}")
    backup = tmp_path / "config.json.20260101-000000-000000.bak"
    backup.symlink_to(victim) if is_link else backup.write_text("mine")
    code, _, err = install("cursor", "--yes", "--config", str(path))
    assert (code, "cannot be written: File exists. It is as it was." in err) == (1, True)
    assert (path.read_text(), victim.exists(), backup.is_symlink()) == ("{}", False, is_link)
    assert is_link or backup.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links are of POSIX")
def test_the_file_behind_a_link_is_changed_and_named(install: Run, tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "config.json"
    real.write_text("{}")
    link.symlink_to(real)
    code, out, _ = install("cursor", "--yes", "--config", str(link))
    assert code == 0
    assert f"Added to {link}, a link to {real}." in out
    assert (link.is_symlink(), "toolfold" in real.read_text()) == (True, True)


class TestDeployment:
    ADDRESS = "https://a1b2c3.execute-api.eu-central-1.amazonaws.com/mcp"

    @pytest.fixture(autouse=True)
    def programs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """``uvx`` and ``npx``, as they are found on the PATH."""
        for name in ("uvx", "npx"):
            (tmp_path / name).touch(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("AWS_PROFILE", raising=False)

    @pytest.fixture
    def entry(self, install: Run) -> Callable[..., dict[str, Any]]:
        """Install for a client with a file of its own, and return the configuration that it then has."""

        def written(client: str, *options: str) -> dict[str, Any]:
            code, out, err = install(client, "--endpoint", self.ADDRESS, "--yes", *options)
            assert (code, KEY in out + err) == (0, False), err
            found: dict[str, Any] = parse(client, config(client).read_text())
            return found

        return written

    def test_a_program_has_its_path_and_the_profile_of_aws(
        self, entry: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "team")
        written = entry("claude-desktop", "--access", "iam", "--profile", "grouped")["mcpServers"]["toolfold"]
        assert written["command"] == str(tmp_path / "uvx")
        assert written["args"][1] == f"{self.ADDRESS}/grouped"
        assert written["env"] == {"AWS_REGION": "eu-central-1", "AWS_PROFILE": "team"}

    def test_a_domain_needs_its_region(self, install: Run) -> None:
        options = ["cursor", "--endpoint", "https://mcp.example.com/mcp", "--print"]
        assert "add --sign REGION" in install(*options, "--access", "iam")[2]
        for access in ([], ["--access", "iam"]):
            code, out, _ = install(*options, "--sign", "eu-west-1", *access)
            assert (code, json.loads(out)["mcpServers"]["toolfold"]["args"][-1]) == (0, "eu-west-1")

    def test_the_key_is_written_only_where_the_client_has_no_variables(
        self, entry: Callable[..., dict[str, Any]]
    ) -> None:
        holds_key = {client for client in CLIENTS if KEY in json.dumps(entry(client, "--access", "open"))}
        assert holds_key == {"claude-desktop", "zed", "lm-studio"}
        assert not any(KEY in json.dumps(entry(client, "--access", "oauth")) for client in CLIENTS)

    def test_a_program_that_is_missing_is_named_with_its_origin(self, install: Run, tmp_path: Path) -> None:
        (tmp_path / "uvx").unlink()
        code, _, err = install("cursor", "--endpoint", self.ADDRESS, "--access", "iam", "--print")
        assert (code, "uvx, which is not installed here (uvx: uv," in err) == (0, True)

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            (["cursor", "--endpoint", "mcp.example.com"], "--endpoint takes a URL"),
            (["cursor", "--endpoint", f"{ADDRESS}?apikey=SECRET"], "--endpoint takes a URL without a query"),
            (["cursor", "--endpoint", "http://127.0.0.1:1/mcp"], "cannot be reached"),
            (["cursor", "--endpoint", ADDRESS, "--access", "oauth", "--sign", "eu-west-1"], "--sign is for Access=iam"),
            (["cursor", "--endpoint", ADDRESS, "--access", "open", "--env", "A=b"], "--env is for a program"),
            (["cursor", "--endpoint", ADDRESS, "--token-env", "TOKEN"], "--token-env is not for install"),
            (["cursor", "--access", "iam"], "--access is for an endpoint: give --endpoint URL"),
            (["cursor", "--sign", "eu-west-1"], "--sign is for an endpoint: give --endpoint URL"),
            (["claude-desktop", "--endpoint", ADDRESS, "--access", "iam", "--key-env", "K"], "passes no key"),
            (["codex", "--endpoint", ADDRESS, "--access", "iam", "--key-env", "K"], "passes no key"),
            (["claude-desktop", "--endpoint", ADDRESS, "--access", "open", "--key-env", "NONE"], "NONE is not set"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_what_does_not_fit_is_one_sentence(self, install: Run, options: list[str], complaint: str) -> None:
        code, out, err = install(*options, "--print")
        assert (code != 0, complaint in " ".join(err.split()), out) == (True, True, "")
        assert "SECRET" not in err


TOML = """# mine
model = "o5"

[mcp_servers.other]
command = "x" # [y]
env = { TOKEN = "OTHERSECRET" }

# my profiles
[[profiles]]
name = "a"
"""


def test_a_table_of_toml_is_added_changed_and_removed_and_the_rest_stays(install: Run) -> None:
    path = config("codex", TOML)
    code, out, _ = install("codex", "--yes")
    assert (code, path.read_text().startswith(TOML)) == (0, True)
    assert tomllib.loads(path.read_text())["mcp_servers"]["toolfold"]["env"] == {"ALPHA_VANTAGE_API_KEY": KEY}
    assert KEY not in out
    assert "already" in install("codex", "--yes")[1]
    install("codex", "--yes", "--env", "TOOLFOLD_CACHE=off")
    assert path.read_text().count("[mcp_servers.toolfold]") == 1
    assert cli.main(["uninstall", "codex", "--yes"]) == 0
    assert path.read_text() == TOML
    path.write_text('[mcp_servers.toolfold]\na = 1\n[mcp_servers.toolfold.env]\nB = "c"\n\n# c\n[z]\n')
    assert cli.main(["uninstall", "codex", "--yes"]) == 0
    assert path.read_text() == "# c\n[z]\n"


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ('TOKEN = "OLDSECRET"', '-TOKEN = "(hidden)"'),
        ("since = 2026-01-01", '-since = "2026-01-01"'),
        ('env = { ANY = "OLDSECRET" }', '-ANY = "(hidden)"'),
        ('headers = ["X: OLDSECRET"]', '-headers = ["(hidden)"]'),
        ('[mcp_servers.other.env]\nTOKEN = "OLDSECRET"', "+command = "),
        ('# TOKEN = "OLDSECRET"', "+command = "),
    ],
)
def test_no_key_of_the_file_is_shown(install: Run, known: str, shown: str) -> None:
    path = config("codex", f"[mcp_servers.toolfold]\n{known}\n")
    code, out, err = install("codex", "--yes")
    assert (code, "OLDSECRET" in out + err, shown in out) == (0, False, True)
    assert json.dumps(KEY) in path.read_text()
