"""The container image: its ``Dockerfile``, step by step, in a folder, as no image can be built here."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built_function import NEEDS_LAMBDA_PYTHON, ROOT
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.processes import announced_url
from tests.support.raw_http import PING, answers_honestly, exchange, post
from toolfold.mock_api.server import MockApi

pytestmark = [pytest.mark.e2e, NEEDS_LAMBDA_PYTHON]

PREFIX = "/opt/toolfold"
MAX_COMPRESSED_MB = 75
"""What the image adds to its base, which has some 45 MB: together at most 120."""


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the ``Dockerfile``, each as its name and the rest of its line."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return [(name, rest) for line in lines if line and line[0] != "#" for name, _, rest in [line.partition(" ")]]


def of_last_stage(name: str) -> str:
    return next(rest for found, rest in reversed(instructions()) if found == name)


def command_in(image: Path) -> list[str]:
    words = [*json.loads(of_last_stage("ENTRYPOINT")), *json.loads(of_last_stage("CMD"))]
    return [word.replace(PREFIX, str(image)) for word in words]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that stands for the image's ``/opt/toolfold``."""
    root = tmp_path_factory.mktemp("image")
    folder, copied = root / "toolfold", root / "tmp"
    python = root / "bin/python"
    for path in (copied, python.parent):
        path.mkdir()
    found = subprocess.run([ROOT / "scripts/find-python", "3.13"], capture_output=True, text=True, check=True)
    python.symlink_to(found.stdout.strip())
    wheel = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation", "--outdir", str(root / "dist")]
    subprocess.run([*wheel, str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    for name, rest in instructions():
        here = rest.replace("/tmp/", f"{copied}/").replace(PREFIX, str(folder))
        if name == "RUN":
            subprocess.run(["sh", "-c", here], check=True, env=environment, cwd=root, stdout=subprocess.DEVNULL)
        elif name == "COPY" and not rest.startswith("--from="):
            *sources, target = here.split()
            Path(target).mkdir(exist_ok=True)
            for source in sources:
                for path in (root if source.startswith("dist/") else ROOT).glob(source):
                    shutil.copy(path, target)
    return folder


@pytest.fixture
def variables(image: Path) -> Iterator[dict[str, str]]:
    with MockApi() as mock_api:
        yield {
            "PATH": f"{image}/bin:/usr/bin:/bin",
            "TOOLFOLD_CACHE": "memory",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        }


def test_it_serves_under_every_name_and_ends_when_it_is_told(image: Path, variables: dict[str, str]) -> None:
    command = command_in(image)
    command[command.index("8000")] = "0"
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        url = announced_url(process)
        for host in ("127.0.0.1:8000", "10.0.3.7:8000", "toolfold.example.com"):
            assert exchange(url, post(url, PING, "Connection: close", host=host)).startswith(b"HTTP/1.1 200 ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_key_is_not_for_everyone_who_reaches_it(image: Path, variables: dict[str, str]) -> None:
    words = command_in(image)
    environment = {**variables, "ALPHA_VANTAGE_API_KEY": "canary-7Q2X"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Anyone who reaches this server would use the key in ALPHA_VANTAGE_API_KEY.")
    assert "canary" not in done.stderr


def test_lambda_starts_the_same_image_as_a_function(image: Path, variables: dict[str, str]) -> None:
    function = image / "function"
    launcher = [str(function / "start")]
    with (
        LambdaRuntime(
            function=function, layers=(), python=Path("python"), launcher=launcher, environment=variables
        ) as runtime,
        runtime.serve_http() as url,
    ):
        assert answers_honestly(url)


def test_it_adds_no_more_than_it_may_to_its_base(image: Path, tmp_path: Path) -> None:
    packed = tmp_path / "image.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(image, "toolfold")
    assert packed.stat().st_size / 1e6 <= MAX_COMPRESSED_MB


def test_it_runs_as_nobody_and_its_context_has_what_it_copies() -> None:
    assert of_last_stage("USER") not in ("0", "root")
    admitted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copies = [rest.split() for name, rest in instructions() if name == "COPY" and "--from" not in rest]
    copied = [path for *paths, _ in copies for path in paths]
    assert not [path for path in copied if not any(path == one or path.startswith(f"{one}/") for one in admitted)]
