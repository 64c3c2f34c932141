"""The file of ``toolfold catalog compile``: replaced completely or not at all, and only if it is a compiled catalog."""

import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_files import FILES
from tests.support.trees import snapshot
from toolfold.build.writer import replace_catalog_file
from toolfold.catalog.store import bundled_path
from toolfold.errors import ToolfoldError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and FIFOs are of POSIX")


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "an empty file" and "database in" not in kind])
def test_a_file_that_is_not_a_catalog_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes"
    FILES[kind](path)
    before = snapshot(tmp_path)
    with pytest.raises(ToolfoldError, match="notes"):
        replace_catalog_file(path, b"new")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/full", "/dev", "/proc/self/mem"])
def test_devices_are_refused(path: str) -> None:
    with pytest.raises(ToolfoldError):
        replace_catalog_file(Path(path), b"new")


def test_a_catalog_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    for mode in (0o600, 0o644):
        path.write_text('{"format": an old one')
        path.chmod(mode)
        other = tmp_path / f"same file {mode}"
        other.hardlink_to(path)
        replace_catalog_file(path, b"new")
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert other.read_text() == '{"format": an old one'
    assert len(list(tmp_path.iterdir())) == 3


def test_nothing_is_left_of_a_file_that_does_not_fit_on_the_disk(tmp_path: Path) -> None:
    shutil.copytree("tests/fixtures/sources/docks", tmp_path / "sources/docks")
    path = tmp_path / "catalog.json"
    command = [sys.executable, "-m", "toolfold", "catalog", "compile", "--folder", str(tmp_path / "sources")]
    path.write_bytes(bundled_path().read_bytes()[:1000])
    before = snapshot(tmp_path)

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "--output", str(path)],
        env=environment,
        preexec_fn=set_limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"{path} cannot be written: File too large. It is as it was.\n"
    assert snapshot(tmp_path) == before


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolfoldError, match="No such file"):
        replace_catalog_file(tmp_path / "missing" / "catalog.json", b"new")
