"""The GitHub Action that checks and publishes a catalog: its script, as a runner starts it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.aws_services import bucket
from tests.support.catalogs import ALLOWED_HOST, write_sources

ACTION = Path(__file__).parents[2] / "deploy/action"
BUCKET = "catalogs-of-action"


def run(workspace: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    given = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | inputs
    names = {variable: re.findall(r"inputs\.([\w-]+)", value)[0] for variable, value in step["env"].items()}
    environment = {**os.environ, **{variable: given[name] for variable, name in names.items()}}
    environment["GITHUB_ACTION_PATH"] = str(ACTION)
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", "-c", step["run"]]
    return subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def published(on_moto: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    monkeypatch.setenv("TOOLFOLD_ALLOWED_HOSTS", ALLOWED_HOST)
    with bucket(BUCKET) as s3:
        yield lambda: [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


@pytest.mark.slow  # three processes; tests/unit/cli/test_publish.py publishes in one
def test_a_catalog_is_checked_and_published(published: Callable[[], list[str]], tmp_path: Path) -> None:
    write_sources(tmp_path / "mine")
    checked = run(tmp_path, folder="mine")
    assert (checked.returncode, published()) == (0, []), checked.stdout + checked.stderr
    tried = run(tmp_path, folder="mine", publish=f"s3://{BUCKET}/catalog", **{"dry-run": "true"})
    assert (tried.returncode, published()) == (0, []), tried.stderr
    done = run(tmp_path, folder="mine", publish=f"s3://{BUCKET}/catalog")
    assert done.returncode == 0, done.stderr
    assert "catalog/current.json" in published()


def test_a_finding_is_an_annotation_of_its_line_and_nothing_is_published(
    published: Callable[[], list[str]], tmp_path: Path
) -> None:
    path = write_sources(tmp_path / "mine") / "tides/source.yaml"
    path.write_text(path.read_text().replace("title:", "titel:"))
    done = run(tmp_path, folder="mine", publish=f"s3://{BUCKET}/catalog")
    assert done.returncode == 1
    assert re.match(r"::error file=mine/tides/source\.yaml,line=\d+::source: ", done.stdout)
    assert "titel" in done.stdout
    assert published() == []
