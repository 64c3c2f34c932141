"""Check a deployment before anything is created, and manage the stack that it made.

::

    python -m scripts.deployment --stage prod check [--access iam] [--issuer URL] [--keys ARN|stored] [--write FILE]
    python -m scripts.deployment --stage prod versions
    python -m scripts.deployment --stage prod rollback [--version 7|newest]
    python -m scripts.deployment --stage prod prune --keep 5
    python -m scripts.deployment --stage prod store-key [--source alpha_vantage]
    python -m scripts.deployment --stage prod outputs [NAME]

``make deploy``, ``make rollback`` and so on run it. A rollback sets the parameter PinnedVersion of the stack, so that
CloudFormation knows which version serves. A deployment is refused until the parameter is empty again.
"""

from __future__ import annotations

import argparse
import getpass
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from scripts.deployed_stack import (
    CONFIG,
    DeployedStack,
    DeploymentError,
    Stage,
    load_stage,
    sentence_of,
)
from toolfold.errors import SettingsError
from toolfold.fuzzy import did_you_mean
from toolfold.settings import Settings
from toolfold.settings.file import read_settings

SETTINGS = Path(__file__).parents[1] / "settings.toml"

ACCESS = {
    "iam": "callers sign their requests with AWS credentials, and API Gateway refuses all others",
    "oauth": "callers send tokens of ISSUER=https://…, which deploy/cognito.yaml can make",
    "open": "all who know the URL may call, with a key of their own and a limit per caller and day",
}

ARN = re.compile(r"arn:aws[a-z-]*:(secretsmanager:[a-z0-9-]+:\d{12}:secret|ssm:[a-z0-9-]+:\d{12}:parameter)[:/]\S+")

OPEN_RATE = 5
"""Requests per second with Access=open where ThrottleRate is 0, as in template.yaml."""

DOLLARS_PER_MILLION = 6.27 + 0.625
"""What a million calls cost that a source answers: the row "`TOOL_CALL`, fetched" of docs/reference/cost.md, and a unit
that the limits per caller write."""

DOLLARS_PER_GB_S = 13.33e-6
"""The price of Lambda on arm64 (docs/reference/cost.md). The function has 1 GB, and at most 29 s for a request."""

SECONDS_PER_MONTH = 30 * 24 * 3600

MIN_UNRESERVED = 10
"""Environments of an account that Lambda keeps unreserved. New accounts have no more than these."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``make deploy``; an empty text is an option that was left out."""

    access: str = ""
    issuer: str = ""
    keys: str = ""


def check_options(options: Options, stage: Stage) -> None:
    """Refuse what contradicts itself in any account.

    Raises:
        DeploymentError: The options cannot be deployed.
    """
    access = options.access or stage.parameters.get("Access", "")
    if access and access not in ACCESS:
        raise DeploymentError(f"ACCESS={access} does not exist. {did_you_mean(access, ACCESS)}Set {', '.join(ACCESS)}.")
    if options.issuer and access and access != "oauth":
        raise DeploymentError(f"ISSUER is used with ACCESS=oauth alone, not with {access}: leave one of them out.")
    if options.issuer and not re.fullmatch(r"https://[^ ?#@]+", options.issuer):
        raise DeploymentError('ISSUER is the URL that tokens have as "iss": it begins with https://.')
    if options.keys and options.keys != "stored" and not ARN.fullmatch(options.keys):
        raise DeploymentError(
            "KEYS is `stored` or the ARN of a secret or parameter, never a key: store keys by `make store-key`."
        )


def check_stack(deployment: DeployedStack) -> None:
    """Refuse to deploy over a stack that cannot be updated.

    Raises:
        DeploymentError: The stack must be deleted, unpinned, or waited for.
    """
    status, stage = deployment.status, deployment.stage
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"):
        region = deployment.client("cloudformation").meta.region_name
        raise DeploymentError(
            f"The stack {stage.stack} is in {status} and cannot be updated: its events have the reason. Delete it by "
            f"`.venv-sam/bin/sam delete --no-prompts --stack-name {stage.stack} --region {region}`, and deploy again."
        )
    if status == "UPDATE_ROLLBACK_FAILED":
        raise DeploymentError(
            f"The stack {stage.stack} is in {status}: continue its rollback in the console, and deploy again."
        )
    if status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        raise DeploymentError(f"The stack {stage.stack} is in {status}: wait until it has ended, and deploy again.")
    if pinned := deployment.parameters.get("PinnedVersion"):
        raise DeploymentError(
            f"Version {pinned} of the stack {stage.stack} is pinned, so a new version would not serve: run "
            f"`make rollback{stage.option} VERSION=newest`, and deploy again."
        )


def check_settings(deployment: DeployedStack, planned: Mapping[str, str], settings_file: Path = SETTINGS) -> None:
    """Refuse settings that have a mistake, or that contradict who may call, before they are built.

    Raises:
        DeploymentError: The function would not start with them.
    """
    parameters = {**deployment.parameters, **planned}
    stage = deployment.stage.name
    try:
        settings = read_settings(settings_file, "" if stage == "default" else stage)
        settings |= {"TOOLFOLD_ACCESS": parameters.get("Access") or "iam"}
        settings |= {"TOOLFOLD_OAUTH_ISSUER": parameters.get("OAuthIssuer") or ""}
        Settings.from_environment({**settings, "TOOLFOLD_ENDPOINT": "https://not-known-yet.invalid/mcp"})
    except SettingsError as error:
        raise DeploymentError(str(error).replace(str(settings_file), settings_file.name)) from None


def check_concurrency(deployment: DeployedStack, parameters: Mapping[str, str]) -> None:
    """Refuse to reserve environments that the account does not have.

    Raises:
        DeploymentError: Fewer than ten would remain unreserved.
    """
    reserved = int(parameters.get("ReservedConcurrency") or 0)
    if not reserved:
        return
    limit = deployment.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    if limit - reserved < MIN_UNRESERVED:
        raise DeploymentError(
            f"ReservedConcurrency={reserved} needs {reserved + MIN_UNRESERVED} concurrent executions, and the account "
            f"has {limit}: set it to 0, or request more at Service Quotas (Lambda, Concurrent executions)."
        )


def plan_parameters(deployment: DeployedStack, options: Options) -> dict[str, str]:
    """Return the parameters to deploy: those of the stage, overridden by ``options``.

    SAM keeps the values that the stack has for all others.

    Raises:
        DeploymentError: OAuth has no issuer, or no keys are stored.
    """
    stage, before = deployment.stage, deployment.parameters
    planned = dict(stage.parameters)
    kept, configured = before.get("Access"), planned.get("Access")
    if options.access:
        planned["Access"] = options.access
    elif kept and configured and kept != configured:
        raise DeploymentError(
            f"The stack {stage.stack} has Access={kept}, and its stage in samconfig.toml has Access={configured}: "
            f"set ACCESS to one of them."
        )
    access = planned.get("Access") or kept or "iam"
    if options.issuer:
        planned["OAuthIssuer"] = options.issuer
    if access == "oauth" and not (planned.get("OAuthIssuer") or before.get("OAuthIssuer")):
        raise DeploymentError(
            "ACCESS=oauth needs ISSUER=https://…, the issuer of the tokens: deploy/cognito.yaml makes one."
        )
    if access != "oauth" and options.issuer:
        raise DeploymentError(
            f"ISSUER is used with ACCESS=oauth, and {stage.stack} has Access={access}: add ACCESS=oauth."
        )
    if access != "oauth" and before.get("OAuthIssuer"):
        planned["OAuthIssuer"] = ""
    if options.keys and access == "open":
        raise DeploymentError(
            "With ACCESS=open every caller would spend your keys: leave KEYS out, or choose another ACCESS."
        )
    if access == "open" and (before.get("SourceKeys") or planned.get("SourceKeys")):
        planned["SourceKeys"] = ""
    if options.keys == "stored":
        ssm = deployment.client("ssm")
        try:
            planned["SourceKeys"] = ssm.get_parameter(Name=deployment.stored_keys)["Parameter"]["ARN"]
        except ssm.exceptions.ParameterNotFound:
            raise DeploymentError(f"No key is stored: run `make store-key{stage.option}` before.") from None
    elif options.keys:
        planned["SourceKeys"] = options.keys
    return planned


def describe_access(deployment: DeployedStack, planned: Mapping[str, str], requested: bool) -> Iterator[str]:
    """Yield the lines about who may call, and what that costs at most.

    Args:
        deployment: what is there.
        planned: the parameters to deploy.
        requested: whether ``ACCESS`` was given.
    """
    after = {**deployment.parameters, **planned}
    access, stage = after.get("Access") or "iam", deployment.stage
    if not deployment.parameters and "Access" not in planned:
        for name, meaning in ACCESS.items():
            yield f"ACCESS={name:6}{'(taken) ' if name == access else ''}{meaning}"
    elif not requested:
        yield f"The stack {stage.stack} keeps Access={access}."
    if access == "open":
        rate = float(after.get("ThrottleRate") or 0) or OPEN_RATE
        usual, most = dollars_per_month(rate, int(after.get("ReservedConcurrency") or 0))
        yield (
            f"Access=open: {rate:g} requests/s all month cost ${usual:,.0f}, and ${most:,.0f} where sources take 29 s "
            "to answer (docs/reference/cost.md). ThrottleRate and ReservedConcurrency limit it."
        )
    elif not after.get("SourceKeys"):
        yield f"Your key of a source: `make store-key{stage.option}`, then `make deploy{stage.option} KEYS=stored`."


def dollars_per_month(rate: float, environments: int) -> tuple[float, float]:
    """Return what ``rate`` requests a second cost in a month without a pause: as usual, and where each takes 29 s.

    Args:
        rate: Requests a second.
        environments: ReservedConcurrency; 0 for no limit.
    """
    usual = rate * SECONDS_PER_MONTH / 1_000_000 * DOLLARS_PER_MILLION
    at_once = min(rate * 29, environments or rate * 29)
    return usual, max(usual, at_once * SECONDS_PER_MONTH * DOLLARS_PER_GB_S)


def check(deployment: DeployedStack, options: Options) -> dict[str, str]:
    """Return the parameters to deploy, after all that can be refused before anything is created.

    Raises:
        DeploymentError: The deployment is refused.
    """
    check_options(options, deployment.stage)
    deployment.client("sts").get_caller_identity()
    check_stack(deployment)
    planned = plan_parameters(deployment, options)
    check_settings(deployment, planned)
    check_concurrency(deployment, {**deployment.parameters, **planned})
    return planned


# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check(deployment: DeployedStack, given: argparse.Namespace) -> None:
    planned = check(deployment, Options(given.access, given.issuer, given.keys))
    for line in describe_access(deployment, planned, bool(given.access)):
        print(line)
    if given.write:
        # For `sam deploy --parameter-overrides file://…`, which replaces those of samconfig.toml. JSON is YAML.
        given.write.parent.mkdir(exist_ok=True)
        given.write.write_text(json.dumps(planned), encoding="utf-8")


def _versions(deployment: DeployedStack, given: argparse.Namespace) -> None:
    serving, pinned = deployment.serving_version(), deployment.parameters.get("PinnedVersion")
    for number, published in deployment.versions():
        mark = ("pinned" if pinned else "serves") if str(number) == serving else ""
        print(f"{number:5}  {published}  {mark}".rstrip())


def _rollback(deployment: DeployedStack, given: argparse.Namespace) -> None:
    pinned, option = deployment.roll_back(given.version), deployment.stage.option
    if pinned:
        print(f"Version {pinned} serves. Before the next deployment: `make rollback{option} VERSION=newest`.")
    else:
        print("The newest version serves.")


def _prune(deployment: DeployedStack, given: argparse.Namespace) -> None:
    if given.keep < 2:
        raise DeploymentError("--keep must be at least 2: the current version and one to roll back to.")
    print(f"Deleted versions: {', '.join(map(str, deployment.prune(given.keep))) or 'none'}.")


def _store_key(deployment: DeployedStack, given: argparse.Namespace) -> None:
    prompt = f"Key of {given.source} for {deployment.stage.stack} (not shown): "
    key = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    print(f"Stored {given.source} in {deployment.store_key(given.source, key.strip())}")
    print(f"Use it: make deploy{deployment.stage.option} KEYS=stored")


def _outputs(deployment: DeployedStack, given: argparse.Namespace) -> None:
    outputs = deployment.outputs
    if given.name and given.name not in outputs:
        raise DeploymentError(f"The stack has no output {given.name}: it has {', '.join(sorted(outputs))}.")
    if given.name:
        print(outputs[given.name])
    else:
        for name, value in sorted(outputs.items()):
            print(f"{name:20} {value}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Check a deployment, and manage the stack that it made.")
    parser.add_argument("--stage", default="default", help="stage of samconfig.toml (default: %(default)s)")
    parser.add_argument("--stack", help="name of the stack (default: that of the stage)")
    parser.add_argument("--config", type=Path, default=CONFIG, help="file of the stages (default: samconfig.toml)")
    commands = parser.add_subparsers(required=True)

    def add(name: str, run: Callable[[DeployedStack, argparse.Namespace], None], about: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about)
        command.set_defaults(run=run)
        return command

    checked = add("check", _check, "refuse what cannot be deployed, and say who may call")
    for option in ("access", "issuer", "keys"):
        checked.add_argument(f"--{option}", default="")
    checked.add_argument("--write", type=Path, help="file for the parameters, for sam deploy")
    add("versions", _versions, "list the published versions")
    add("rollback", _rollback, "serve another version").add_argument("--version", default="")
    add("prune", _prune, "delete old versions").add_argument("--keep", type=int, default=5)
    stored = add("store-key", _store_key, "store the key of a source, from the terminal or stdin")
    stored.add_argument("--source", default="alpha_vantage")
    add("outputs", _outputs, "print the outputs of the stack").add_argument("name", nargs="?")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands; return 1 when it was refused or failed."""
    given = _parser().parse_args(argv)
    try:
        stage = load_stage(given.stage, given.config)
        if given.stack:
            stage = replace(stage, stack=given.stack)
        given.run(DeployedStack(stage), given)
    except (DeploymentError, OSError, BotoCoreError, ClientError) as error:
        print(sentence_of(error), file=sys.stderr)
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
