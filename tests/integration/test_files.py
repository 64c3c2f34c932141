"""Whole calls where files cannot be used: the call succeeds, one warning is logged, and no file of the user changes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.commands import CommandLine
from tests.support.hostile_files import FILES, NOTES
from tests.support.trees import snapshot
from toolfold.mock_api.server import MockApi

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and FIFOs are of POSIX")

PROGRAM = """
import json, logging, os, sys
from toolfold.app import build_app
from toolfold.local_defaults import with_local_defaults
from toolfold.settings import Settings
logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)

def make():
    return build_app(with_local_defaults(Settings.from_environment())).server.tools

def call(tools, name, **arguments):
    called = {"tool_name": name, "arguments": arguments, "max_tokens": 600}
    return tools.call("TOOL_CALL", called)

if len(sys.argv) > 1:  # import everything before this process becomes a user who cannot read the packages
    place, os.environ["TOOLFOLD_CACHE"], os.environ["TOOLFOLD_OFFLOAD"] = dict(os.environ), "/root/unused", "/root/x"
    os.environ["TOOLFOLD_CACHE"], os.environ["TOOLFOLD_OFFLOAD"] = sys.argv[1] + "/c.sqlite", sys.argv[1]
    call(make(), "TIME_SERIES_DAILY", symbol="IBM")
    import platformdirs.unix
    os.environ.clear()
    os.environ.update(place)
    os.setgid(65534)
    os.setgroups([])
    os.setuid(65534)
tools = make()
results = [call(tools, *each) if each[0] != "TIME_SERIES_DAILY" else call(tools, each[0], symbol=each[1])
           for each in [("CPI",), ("TIME_SERIES_DAILY", "IBM"), ("CPI",), ("TIME_SERIES_DAILY", "MSFT"), ("WTI",)]]
print(json.dumps([[result.is_error, result.structured.get("cached"),
                   "path" in result.structured.get("preview", {}).get("full", {})] for result in results]))
"""


@pytest.fixture
def run(mock_api: MockApi) -> Callable[..., tuple[list[Any], list[str]]]:
    def running(
        environment: dict[str, str], arguments: tuple[str, ...] = (), **options: Any
    ) -> tuple[list[Any], list[str]]:
        variables = {
            **{name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")},
            "ALPHA_VANTAGE_API_KEY": KEY,
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            **environment,
        }
        done = subprocess.run(
            [*options.pop("before", ()), sys.executable, "-c", PROGRAM, *arguments],
            env=variables, capture_output=True, text=True, check=False, **options,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr.splitlines()

    return running


def check(results: list[Any], lines: list[str], warnings: int) -> None:
    """Check that all calls succeeded, that the third was answered from memory, and how much was logged."""
    assert [is_error for is_error, _, _ in results] == [False] * 5
    assert [cached for _, cached, _ in results] == [False, False, True, False, False]
    assert len(lines) == warnings, lines
    assert all(line.startswith("WARNING ") for line in lines), lines


def test_files_are_used_where_nothing_is_in_the_way(run: Callable[..., Any], tmp_path: Path) -> None:
    results, lines = run({"HOME": str(tmp_path)})
    check(results, lines, 0)
    assert [has_path for _, _, has_path in results].count(True) >= 2
    results, lines = run({"HOME": str(tmp_path)})
    assert [cached for _, cached, _ in results] == [True] * 5
    assert {path.name for path in (tmp_path / ".cache" / "toolfold").iterdir()} == {"responses", "toolfold-answers"}


SLOW = pytest.mark.slow
SOME = ["a database in use", "a FIFO", "a link to a text file"]
"""Kinds for tests that start a process for each; ``test_sqlite_file`` and ``test_answer_folder`` have all."""


# R10, R11
@SLOW
@pytest.mark.parametrize("kind", SOME)
def test_what_is_at_the_default_places_stays_and_costs_a_warning_for_each(
    run: Callable[..., Any], tmp_path: Path, kind: str
) -> None:
    home = tmp_path / ".cache" / "toolfold"
    (home / "responses").mkdir(parents=True)
    FILES[kind](home / "responses" / "responses.sqlite")
    FILES[kind](home / "toolfold-answers")
    before = snapshot(tmp_path)
    check(*run({"HOME": str(tmp_path)}), 2)
    assert snapshot(tmp_path) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that another user can enter; those of pytest are closed."""
    with TemporaryDirectory(prefix="toolfold-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    "kind",
    [
        "read-only home",
        *(pytest.param(kind, marks=SLOW) for kind in ("closed cache", "closed home", "home of another user")),
    ],
)
def test_a_home_in_which_nothing_can_be_written_costs_a_warning_for_each(
    run: Callable[..., Any], open_folder: Path, kind: str
) -> None:
    home, spare = open_folder / "home", open_folder / "spare"
    home.mkdir()
    spare.mkdir()
    (home / "notes.txt").write_bytes(NOTES)
    if kind == "home of another user":
        os.chown(home, 54321, 54321)
        home.chmod(0o777)
    elif kind == "closed cache":
        (home / ".cache").mkdir(0o700)
    else:
        home.chmod(0o555 if kind == "read-only home" else 0o700)
    before = snapshot(home)
    check(*run({"HOME": str(home)}, (str(spare),)), 2)
    assert snapshot(home) == before


@pytest.mark.skipif(
    sys.platform != "linux" or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode,
    reason="only root on Linux can mount a small file system",
)
@SLOW
@pytest.mark.parametrize(("size", "options"), [("200k", "ro"), ("0k", "rw"), ("16k", "rw"), ("200k", "rw")])
def test_a_full_or_read_only_disk_costs_a_warning_for_each_kind_of_failure(
    run: Callable[..., Any], tmp_path: Path, size: str, options: str
) -> None:
    # A mount that only this process sees. Size 0 would mean no limit, so that disk is filled.
    fill = "head -c 1M /dev/zero > notes.txt 2> /dev/null; " if size == "0k" else "echo notes > notes.txt; "
    size = "16k" if size == "0k" else size
    script = (
        f'mount -t tmpfs -o mode=700,size={size} none "$HOME" && cd "$HOME" && {fill}'
        f'mount -o remount,{options} "$HOME" && before=$(sha256sum notes.txt) && "$@"; code=$?; '
        '[ "$before" = "$(sha256sum notes.txt)" ] && exit $code'
    )
    results, lines = run({"HOME": str(tmp_path)}, before=("unshare", "-m", "sh", "-c", script, "sh"))
    assert [is_error for is_error, _, _ in results] == [False] * 5
    assert len(lines) == len(set(lines)) >= (size != "200k")
    assert all(line.startswith("WARNING ") for line in lines), lines


# R10
@pytest.mark.parametrize(
    ("kind", "command"), list(zip(SOME, [("call", "CPI"), ("stdio",), ("serve", "--port", "0")], strict=True))
)
def test_a_setting_that_names_a_file_of_the_user_is_an_error_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, kind: str, command: tuple[str, ...]
) -> None:
    path = tmp_path / "notes"
    FILES[kind](path)
    before = snapshot(tmp_path)
    monkeypatch.setenv("TOOLFOLD_CACHE", str(path))
    out, err = command_line(*command, code=1)
    assert out == ""
    assert err.startswith("TOOLFOLD_CACHE cannot be used: ")
    assert err.count("\n") == 1
    assert snapshot(tmp_path) == before
