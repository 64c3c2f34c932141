"""Where a process of one user keeps its files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolfold.local_defaults import user_folder, with_local_defaults
from toolfold.settings import Settings


def test_settings_that_are_given_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    settings = Settings.from_environment({"TOOLFOLD_CACHE": "memory"})
    assert with_local_defaults(settings).cache == "memory"
    assert with_local_defaults(settings).offload == "/c/toolfold"
    given = Settings.from_environment({"TOOLFOLD_CACHE": "off", "TOOLFOLD_OFFLOAD": "off"})
    assert with_local_defaults(given) is given


@pytest.mark.parametrize("value", ["", "./cache", "~/cache"])
def test_a_relative_xdg_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert user_folder("cache") == "/home/somebody/.cache/toolfold"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become an unknown user")
@pytest.mark.parametrize("home", [None, "relative"])
def test_without_a_home_folder_nothing_is_written_and_one_warning_logged(tmp_path: Path, home: str | None) -> None:
    program = (
        "import logging, os\n"
        "from toolfold.local_defaults import with_local_defaults\n"
        "from toolfold.settings import Settings\n"
        "import platformdirs.unix\n"  # files of the test's user are not readable by the other one
        "logging.basicConfig(format='%(message)s')\n"
        "os.setuid(54321)\n"
        "found = with_local_defaults(Settings.from_environment())\n"
        "print(found.cache, found.offload)\n"
    )
    environment = {"PATH": os.environ["PATH"], **({} if home is None else {"HOME": home})}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "memory off\n"
    assert done.stderr.splitlines() == [
        "This user has no home folder: responses are cached in memory, long answers are not saved"
    ]
    assert list(tmp_path.iterdir()) == []
