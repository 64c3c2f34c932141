"""``sam local invoke`` of every event, without a container: the built package in the environment that SAM computes.

Docker is the only part that is left out. See the events in events/README.md.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import built_function
from tests.support.built_function import LOCAL_BUILD, NEEDS_BUILD, ROOT
from tests.support.lambda_runtime import LambdaRuntime

SAM_PYTHON = ROOT / ".venv-sam/bin/python"

pytestmark = [
    pytest.mark.e2e,
    NEEDS_BUILD,
    pytest.mark.skipif(not SAM_PYTHON.exists(), reason="needs SAM: make e2e"),
]

NOWHERE = "http://127.0.0.1:9"
"""The discard port: a request that leaves the process fails at once."""


def environment_of_sam(template: Path) -> dict[str, str]:
    """Return the variables that SAM's own runner computes for the function."""
    command = [str(SAM_PYTHON), "-P", str(ROOT / "tests/support/sam_local.py"), str(template), "GatewayFunction"]
    variables = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, str] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def runtime() -> Iterator[LambdaRuntime]:
    template = LOCAL_BUILD / "template.yaml"
    environment = environment_of_sam(template)
    assert environment["AWS_SAM_LOCAL"] == "true"
    built = built_function.load_built_function(LOCAL_BUILD)
    unreachable = {"AWS_ENDPOINT_URL": NOWHERE, "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
    with LambdaRuntime(
        function=built.function,
        layers=built.layers,
        python=built_function.LAMBDA_PYTHON,
        handler=built.handler,
        environment={**environment, **unreachable},
        timeout_s=built.timeout_s,
    ) as runtime:
        yield runtime


def events() -> dict[str, int]:
    """Return event → status, as events/README.md has them."""
    text = (ROOT / "events/README.md").read_text(encoding="utf-8")
    return {name: int(status) for name, status in re.findall(r"^\| \[(.+?)\]\(.*\| (\d+) \|$", text, re.MULTILINE)}


@pytest.mark.parametrize(("event", "status"), events().items())
def test_every_event_gets_its_status_without_a_request_that_leaves(
    runtime: LambdaRuntime, event: str, status: int
) -> None:
    answer: Any = runtime.invoke(json.loads((ROOT / "events" / event).read_text(encoding="utf-8")))

    assert answer["statusCode"] == status, (answer, runtime.log[-5:])


def test_the_log_says_that_the_run_is_local(runtime: LambdaRuntime) -> None:
    runtime.invoke(json.loads((ROOT / "events/tools-list.json").read_text(encoding="utf-8")))

    assert [line for line in runtime.log if "sam local: " in line and "TOOLFOLD_CACHE=memory" in line]
    assert not [line for line in runtime.log if "CacheTable" in line or "ConnectError" in line]
