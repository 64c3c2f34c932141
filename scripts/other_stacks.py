"""Deploy one of the stacks beside that of the gateway: publisher, monitoring, domain, waf or cognito.

::

    python -m scripts.other_stacks --stage prod publisher "PublishSchedule=rate(1 day)"

A parameter that has the name of an output or of a parameter of the gateway's stack gets its value. Others keep theirs.
The name of the stack is that of the gateway's, with the name of the template after it.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from samtranslator.yaml_helper import yaml_parse

from scripts.deployed_stack import DeployedStack, DeploymentError, Stage, load_stage, sentence_of
from toolfold.fuzzy import did_you_mean

ROOT = Path(__file__).parents[1]

REGIONS = {"waf": "us-east-1"}
"""Template → its region, where that is not the one of the gateway: web ACLs of CloudFront are in one."""

GENERATED = "OriginSecret"
"""The parameter that gets a random value at the first deployment, or that of the variable ORIGIN_SECRET."""


def outputs_of(deployment: DeployedStack) -> dict[str, str]:
    """Return the outputs of a stack, empty if it does not exist."""
    return {pair["OutputKey"]: pair["OutputValue"] for pair in (deployment.stack or {}).get("Outputs", [])}


def known_values(gateway: DeployedStack) -> dict[str, str]:
    """Return what the stack of the gateway, and that of its publisher, have by name; empty without the gateway."""
    if gateway.stack is None:
        return {}
    publisher = DeployedStack(dataclasses.replace(gateway.stage, stack=f"{gateway.stage.stack}-publisher"))
    return {**outputs_of(publisher), **gateway.parameters, **gateway.outputs, "Stack": gateway.stage.stack}


def values_of(
    parameters: Mapping[str, Mapping[str, Any]], gateway: DeployedStack, current: DeployedStack, given: list[str]
) -> dict[str, str]:
    """Return the values of the parameters of a template: those of the gateway, overridden by ``given``.

    Raises:
        DeploymentError: A parameter does not exist, or has no value.
    """
    named = dict(item.partition("=")[::2] for item in given)
    for name in named.keys() - parameters.keys():
        raise DeploymentError(
            f"There is no parameter {name}. {did_you_mean(name, parameters)}Use one of {', '.join(parameters)}."
        )
    values = {name: value for name, value in known_values(gateway).items() if name in parameters} | named
    if GENERATED in parameters and not values.get(GENERATED):
        secret = os.environ.get("ORIGIN_SECRET") or ("" if current.stack else secrets.token_urlsafe(32))
        values |= {GENERATED: secret} if secret else {}
    for name, parameter in parameters.items():
        if "Default" not in parameter and name not in values and name not in current.parameters:
            if gateway.stack is None:
                _ = gateway.outputs  # raises an error that says how to deploy it
            raise DeploymentError(f"Set {name}: {parameter['Description']}")
    return values


def deploy(stage: Stage, template: Path, values: Mapping[str, str]) -> int:
    """Run ``sam deploy``, and return its exit status. The values are in a file that only this user can read."""
    options = {
        "stack_name": stage.stack,
        "template_file": str(template),
        "capabilities": "CAPABILITY_IAM",
        "fail_on_empty_changeset": False,
        "resolve_s3": True,
        "s3_prefix": stage.stack,
        "tags": "app=toolfold",
        "parameter_overrides": [f'{name}="{value}"' for name, value in values.items()],
    }
    if stage.region:
        options["region"] = stage.region
    lines = ["version = 0.1", "[default.deploy.parameters]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "samconfig.toml")
        config.write_text("\n".join(lines), encoding="utf-8")
        program = Path(sys.executable).with_name("sam")
        return subprocess.run([program, "deploy", "--config-file", config], check=False).returncode


def main(argv: list[str] | None = None) -> int:
    """Deploy a stack, and print what belongs into settings.toml then; return 1 when it failed."""
    names = sorted(file.stem for file in (ROOT / "deploy").glob("*.yaml") if file.stem not in ("deployer", "pipeline"))
    parser = argparse.ArgumentParser(description="Deploy a stack beside that of the gateway.")
    parser.add_argument("name", choices=names)
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="values of parameters of the template")
    parser.add_argument("--stage", default="default", help="stage of samconfig.toml (default: %(default)s)")
    given = parser.parse_args(argv)
    template = ROOT / "deploy" / f"{given.name}.yaml"
    try:
        stage = load_stage(given.stage)
        own = dataclasses.replace(
            stage, stack=f"{stage.stack}-{given.name}", region=REGIONS.get(given.name, stage.region)
        )
        content = yaml_parse(template.read_text(encoding="utf-8"))
        values = values_of(content["Parameters"], DeployedStack(stage), DeployedStack(own), given.parameters)
        if "Transform" in content:  # built, with its code
            template = ROOT / ".aws-sam" / given.name / "template.yaml"
        if status := deploy(own, template, values):
            return status
        settings = outputs_of(DeployedStack(own)).get("Settings", "")
    except (DeploymentError, OSError, BotoCoreError, ClientError) as error:
        print(f"{given.name}: {sentence_of(error)}", file=sys.stderr)
        return 1
    if secret := values.get(GENERATED):
        settings += f'origin_secret_sha256 = ["{hashlib.sha256(secret.encode()).hexdigest()}"]\n'
    if settings:
        place = f"in its table [stage.{stage.name}]" if stage.option else "above its tables"
        print(f"Add this to settings.toml, {place}, and run `make deploy{stage.option}`:\n\n{settings}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
