"""The function that `sam build` wrote: folders to run, and the settings that the template gives it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.lambda_runtime import LambdaRuntime

ROOT = Path(__file__).parents[2]

DEPLOYED_BUILD, LOCAL_BUILD = ROOT / ".aws-sam/build", ROOT / ".aws-sam/e2e"
"""The build that is deployed, for arm64, and the same with the compiled packages of this machine."""

LAMBDA_PYTHON = ROOT / ".venv-lambda/bin/python"
"""A Python with only what the managed runtime brings."""

_ASKED_FOR = os.environ.get("RUN_E2E") == "1"

NEEDS_LAMBDA_PYTHON = pytest.mark.skipif(
    not (_ASKED_FOR and LAMBDA_PYTHON.exists()), reason="needs a stand-in for the managed runtime: make e2e"
)
NEEDS_BUILD = pytest.mark.skipif(
    not (_ASKED_FOR and LAMBDA_PYTHON.exists() and (LOCAL_BUILD / "template.yaml").exists()),
    reason="needs a build and a stand-in for the managed runtime: make e2e",
)


@dataclass(frozen=True, slots=True)
class BuiltFunction:
    """Everything of the build that a runtime needs.

    ``environment`` holds the variables whose value is in the template or is a parameter's default, without those that
    only AWS knows (the name of the bucket). ``timeout_s`` is in seconds, ``memory_mb`` in megabytes.
    """

    function: Path
    layers: tuple[Path, ...]
    handler: str
    timeout_s: float
    memory_mb: int
    environment: Mapping[str, str]

    def runtime(self, variables: Mapping[str, str], launcher: Sequence[str] = ()) -> LambdaRuntime:
        """Return an execution environment with the template's variables, overridden by ``variables``."""
        return LambdaRuntime(
            launcher=launcher,
            function=self.function,
            layers=self.layers,
            python=LAMBDA_PYTHON,
            handler=self.handler,
            environment={**self.environment, **variables},
            timeout_s=self.timeout_s,
            memory_mb=self.memory_mb,
        )


def load_built_function(build: Path, name: str = "GatewayFunction") -> BuiltFunction:
    """Return the function ``name`` of the folder that `sam build` wrote.

    Raises:
        FileNotFoundError: The folder has no build.
    """
    from tests.support import sam_template  # a second to import: not when the tests of the build are skipped

    template = sam_template.load(build / "template.yaml")
    resources = template["Resources"]
    properties = resources[name]["Properties"]
    defaults = {key: str(value["Default"]) for key, value in template["Parameters"].items() if "Default" in value}
    environment: dict[str, str] = {}
    for key, value in properties["Environment"]["Variables"].items():
        if isinstance(value, str):
            environment[key] = value
        elif value.get("Ref") in defaults:
            environment[key] = defaults[value["Ref"]]
    environment.pop("TOOLFOLD_ACCESS", None)  # tests.support.deployment has it, and signed requests
    return BuiltFunction(
        function=build / properties["CodeUri"],
        layers=tuple(build / resources[layer["Ref"]]["Properties"]["ContentUri"] for layer in properties["Layers"]),
        handler=properties["Handler"],
        timeout_s=float(properties["Timeout"]),
        memory_mb=int(properties["MemorySize"]),
        environment=environment,
    )
