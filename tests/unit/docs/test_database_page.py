"""The commands of the page about databases run, and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = ROOT / "docs/how-to/add-a-database.md"
_BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
_MARK = "<<end of a command>>"


def run_commands(page: str, folder: Path) -> str:
    """Return ``page`` with what its commands print, run in one shell in ``folder``."""
    sql = re.search(r"```sql\n(.*?)```", page, re.DOTALL)
    assert sql is not None
    (folder / "shop.sql").write_text(sql[1])
    commands = [line[2:] for block in _BLOCK.findall(page) for line in block.splitlines() if line.startswith("$ ")]
    script = "".join(f"{command}\necho '{_MARK}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    printed = iter(done.stdout.replace(str(folder), "…").split(f"{_MARK}\n"))

    def shown(block: re.Match[str]) -> str:
        lines = [line for line in block[1].splitlines() if line.startswith("$ ")]
        return "".join(f"{line}\n{next(printed)}" for line in lines)

    return _BLOCK.sub(shown, page)


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert run_commands(page, tmp_path) == page, "run: python -m tests.unit.docs.test_database_page"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        PAGE.write_text(run_commands(PAGE.read_text(encoding="utf-8"), Path(temporary)), encoding="utf-8")
