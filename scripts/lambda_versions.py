"""List, prune and roll back the published versions of the function of a stack.

::

    python -m scripts.lambda_versions list --stage prod
    python -m scripts.lambda_versions rollback --stage prod [--version 7]
    python -m scripts.lambda_versions prune --stack toolfold-prod --keep 5

The alias ``live`` of the function decides which version serves requests. A rollback moves it; the next deployment moves
it to a new version again. Pruning deletes old versions, because their code counts towards the storage of the account,
and their SnapStart snapshots are billed. It never deletes a version that an alias uses.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

ALIAS = "live"
LOGICAL_ID = "GatewayFunction"

CONFIG = Path(__file__).parents[1] / "samconfig.toml"


class VersionsError(Exception):
    """What was requested cannot be done; the text states why."""


class Version(NamedTuple):
    """A published version of a function.

    Attributes:
        number: counted up by Lambda, never reused.
        description: the stamp of the deployment.
        published: the time, as Lambda writes it.
    """

    number: int
    description: str
    published: str


class FunctionVersions:
    """The published versions of one function, and the alias that points to one of them."""

    def __init__(self, function: str, client: Any) -> None:
        self._function, self._lambda = function, client

    def published(self) -> list[Version]:
        """Return the published versions, the oldest first."""
        pages = self._lambda.get_paginator("list_versions_by_function").paginate(FunctionName=self._function)
        found = [one for page in pages for one in page["Versions"] if one["Version"] != "$LATEST"]
        return sorted(Version(int(one["Version"]), one.get("Description", ""), one["LastModified"]) for one in found)

    def current(self) -> str:
        """Return the version that the alias points to, as Lambda writes it."""
        return str(self._lambda.get_alias(FunctionName=self._function, Name=ALIAS)["FunctionVersion"])

    def roll_back(self, version: int | None = None) -> tuple[str, int]:
        """Point the alias to ``version``, or to the one before the current one.

        Returns:
            The former version and the new one.

        Raises:
            VersionsError: There is no such version.
        """
        current, numbers = self.current(), [one.number for one in self.published()]
        if version is None:
            if not current.isdecimal():
                raise VersionsError(f"The alias points to {current}: deploy once, then there are versions.")
            version = max((number for number in numbers if number < int(current)), default=None)
            if version is None:
                raise VersionsError(f"There is no version before {current}: deploy an earlier revision instead.")
        elif version not in numbers:
            known = ", ".join(map(str, numbers)) or "none"
            raise VersionsError(f"There is no version {version}. Published versions: {known}.")
        # No routing configuration: a gradual deployment that has stopped half-way would keep its share of the requests.
        self._lambda.update_alias(
            FunctionName=self._function,
            Name=ALIAS,
            FunctionVersion=str(version),
            RoutingConfig={"AdditionalVersionWeights": {}},
        )
        return current, version

    def prune(self, keep: int) -> list[int]:
        """Delete all versions but the newest ``keep`` and those that an alias uses; return what was deleted."""
        used = set(self._used_by_aliases())
        oldest = self.published()[: -keep or None]
        deleted = [one.number for one in oldest if str(one.number) not in used]
        for number in deleted:
            self._lambda.delete_function(FunctionName=self._function, Qualifier=str(number))
        return deleted

    def _used_by_aliases(self) -> Iterator[str]:
        pages = self._lambda.get_paginator("list_aliases").paginate(FunctionName=self._function)
        for alias in (one for page in pages for one in page["Aliases"]):
            yield alias["FunctionVersion"]
            yield from (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights", {})


def options_of_stage(stage: str, config: Path) -> dict[str, str]:
    """Return the options ``stack_name`` and ``region`` of a stage, as far as ``samconfig.toml`` has them.

    Raises:
        VersionsError: The file has no such stage.
    """
    stages = tomllib.loads(config.read_text(encoding="utf-8"))
    if not isinstance(stages.get(stage), dict):
        known = ", ".join(name for name, table in stages.items() if isinstance(table, dict))
        raise VersionsError(f"{config.name} has no stage {stage}. Stages: {known}.")
    options: dict[str, str] = {}
    for command in ("global", "deploy"):
        options |= stages[stage].get(command, {}).get("parameters", {})
    return {name: str(options[name]) for name in ("stack_name", "region") if name in options}


def function_of(stack: str, cloudformation: Any) -> str:
    """Return the physical name of the function of a stack."""
    detail = cloudformation.describe_stack_resource(StackName=stack, LogicalResourceId=LOGICAL_ID)
    return str(detail["StackResourceDetail"]["PhysicalResourceId"])


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands; return 1 when it failed."""
    parser = argparse.ArgumentParser(description="Published versions of the function of a stack.")
    parser.add_argument("command", choices=["list", "rollback", "prune"])
    parser.add_argument("--stage", default="default", help="stage of samconfig.toml (default: %(default)s)")
    parser.add_argument("--stack", help="name of the stack (default: that of the stage)")
    parser.add_argument("--region", help="region (default: that of the stage, else of the AWS configuration)")
    parser.add_argument("--config", type=Path, default=CONFIG, help="file of the stages (default: samconfig.toml)")
    parser.add_argument("--version", type=int, help="version to roll back to (default: the one before the current one)")
    parser.add_argument("--keep", type=int, default=5, help="versions that `prune` keeps (default: %(default)s)")
    given = parser.parse_args(argv)
    if given.keep < 2:
        parser.error("--keep must be at least 2: the current version and one to roll back to.")
    try:
        options = options_of_stage(given.stage, given.config)
        session = boto3.Session(region_name=given.region or options.get("region"))
        stack = given.stack or options.get("stack_name", "toolfold")
        name = function_of(stack, session.client("cloudformation"))
        _run(given, FunctionVersions(name, session.client("lambda")))
    except (VersionsError, OSError, BotoCoreError, ClientError) as error:
        print(f"{given.command} failed: {error}", file=sys.stderr)
        return 1
    return 0


def _run(given: argparse.Namespace, versions: FunctionVersions) -> None:
    if given.command == "rollback":
        former, current = versions.roll_back(given.version)
        print(f"{ALIAS}: version {former} -> {current}. The next deployment publishes a new version.")
    elif given.command == "prune":
        deleted = versions.prune(given.keep)
        print(f"Deleted versions: {', '.join(map(str, deleted)) or 'none'}.")
    else:
        current = versions.current()
        for one in versions.published():
            print(f"{'*' if str(one.number) == current else ' '} {one.number:5} {one.published} {one.description}")


if __name__ == "__main__":
    sys.exit(main())
