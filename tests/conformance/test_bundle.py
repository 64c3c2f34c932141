"""The bundle of a release: its makers' tool accepts it, and it serves when its host starts it."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.release import write_bundle
from tests.conformance.helpers import FOLDER, MCPB, MCPORTER, QUOTE, check_quote, check_tools, output, package, run

pytestmark = pytest.mark.clients

_NETWORK = re.compile(r"UV_.*|.*_CA_BUNDLE|SSL_CERT_.*|.*_PROXY", re.IGNORECASE)
"""Variables of this machine by which packages are installed."""

UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked bundle."""
    folder = tmp_path_factory.mktemp("release")
    build = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(FOLDER.parents[1])], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    write_bundle(folder / "toolfold.mcpb", wheel)
    with zipfile.ZipFile(folder / "toolfold.mcpb") as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_its_manifest_is_one(bundle: Path, environment: Mapping[str, str]) -> None:
    done = run([*package(MCPB), "validate", bundle / "manifest.json"], env=environment, cwd=bundle)
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_host_starts_it_with_the_key_that_a_person_entered(
    bundle: Path, environment: Mapping[str, str], empty: Path
) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    [asked], how = manifest["user_config"], manifest["server"]["mcp_config"]
    assert manifest["user_config"][asked]["sensitive"]
    entered = {f"${{user_config.{asked}}}": environment["ALPHA_VANTAGE_API_KEY"], "${__dirname}": str(bundle)}
    words = [entered.get(word, word) for word in how["args"]]
    variables = {name: entered.get(value, value) for name, value in how["env"].items()}
    # The machine's own Python: a host without one downloads it, which a test must not.
    variables |= {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    started = ["--stdio", str(UV), *(part for word in words for part in ("--stdio-arg", word))]
    started += [part for name, value in variables.items() for part in ("--env", f"{name}={value}")]
    without_key = {name: value for name, value in environment.items() if name != "ALPHA_VANTAGE_API_KEY"}
    # The first start installs the packages, for which a client's time-out may be too short.
    network = {name: value for name, value in os.environ.items() if _NETWORK.fullmatch(name)}
    installed = run([UV, *words[:-1], "python", "--version"], env={**without_key, **network, **variables}, cwd=empty)
    assert installed.returncode == 0, installed.stderr
    listed = output([*package(MCPORTER), "list", *started, "--schema", "--json"], env=without_key, cwd=empty)
    check_tools(listed["tools"])
    arguments = json.dumps({"tool_name": "GLOBAL_QUOTE", "arguments": QUOTE})
    call = [*package(MCPORTER), "call", *started, "TOOL_CALL", "--args", arguments, "--output", "json"]
    check_quote(output(call, env=without_key, cwd=empty))
