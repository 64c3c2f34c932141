"""The stack of a stage of samconfig.toml: its parameters, the versions of its function, and its stored keys.

A rollback sets the parameter PinnedVersion of the stack, so that CloudFormation knows which version serves.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError, WaiterError

from toolfold.fuzzy import did_you_mean

CONFIG = Path(__file__).parents[1] / "samconfig.toml"

ALIAS = "live"

CREDENTIAL_CODES = {"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException"}
"""Codes of AWS for credentials that have expired or do not exist."""


class DeploymentError(Exception):
    """What was requested cannot be done; the text is a sentence that says what to do."""


def sentence_of(error: Exception) -> str:
    """Return what is wrong, and what to do where region or credentials are missing."""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
    if code == "NoRegionError":
        return 'No AWS region is set: set AWS_REGION, or region = "…" in samconfig.toml.'
    # NoCredentialsError, PartialCredentialsError, UnauthorizedSSOTokenError, TokenRetrievalError, ProfileNotFound, …
    if code in CREDENTIAL_CODES or re.search("Credential|Token|Profile", code):
        return (
            f"There are no valid AWS credentials: run `aws sso login` or `aws configure`, or set AWS_PROFILE. ({code})"
        )
    return str(error)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of samconfig.toml.

    ``parameters`` are its parameter_overrides that are not empty: `sam deploy --guided` saves all, and an empty one
    would take away what a later deployment has set.
    """

    name: str
    stack: str
    region: str | None
    parameters: Mapping[str, str]

    @property
    def option(self) -> str:
        """The end of a ``make`` command for this stage, with a space before it."""
        return "" if self.name == "default" else f" STAGE={self.name}"


def load_stage(name: str, config: Path = CONFIG) -> Stage:
    """Return a stage of samconfig.toml, merged as SAM does: [STAGE.deploy] overrides [STAGE.global].

    Raises:
        DeploymentError: The file has no such stage, or its parameter_overrides have another form.
    """
    stages = tomllib.loads(config.read_text(encoding="utf-8"))
    known = [stage for stage, table in stages.items() if isinstance(table, dict)]
    if name not in known:
        raise DeploymentError(
            f"{config.name} has no stage {name}. {did_you_mean(name, known)}Set STAGE to one of {', '.join(known)}."
        )
    options: dict[str, Any] = {}
    for command in ("global", "deploy"):
        options |= stages[name].get(command, {}).get("parameters", {})
    overrides = options.get("parameter_overrides", [])
    items = shlex.split(overrides) if isinstance(overrides, str) else overrides
    if not isinstance(items, list) or not all(isinstance(item, str) and "=" in item for item in items):
        raise DeploymentError(f'Write parameter_overrides of stage {name} in {config.name} as ["NAME=VALUE", …].')
    pairs = {key: value.strip("\"'") for key, _, value in (item.partition("=") for item in items)}
    parameters = {key: value for key, value in pairs.items() if value}
    return Stage(name, str(options.get("stack_name", "toolfold")), options.get("region"), parameters)


class DeployedStack:
    """The stack of a stage, in the account of the credentials of this machine."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._session = boto3.Session(region_name=stage.region)

    def client(self, service: str) -> Any:
        """Return a client of an AWS service."""
        return self._session.client(service)

    @cached_property
    def stack(self) -> Mapping[str, Any] | None:
        """The stack as CloudFormation describes it, or None if it does not exist."""
        try:
            return dict(self.client("cloudformation").describe_stacks(StackName=self.stage.stack)["Stacks"][0])
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise

    @property
    def status(self) -> str:
        """The status of the stack, empty if it does not exist."""
        return str((self.stack or {}).get("StackStatus", ""))

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of the stack, empty if it does not exist."""
        pairs = (self.stack or {}).get("Parameters", [])
        return {pair["ParameterKey"]: pair.get("ParameterValue", "") for pair in pairs}

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the stack.

        Raises:
            DeploymentError: There is no stack, or it has no outputs.
        """
        pairs = (self.stack or {}).get("Outputs")
        if not pairs:
            raise DeploymentError(
                f"There is no stack {self.stage.stack}: deploy it by `make deploy{self.stage.option}`."
            )
        return {pair["OutputKey"]: pair["OutputValue"] for pair in pairs}

    @property
    def stored_keys(self) -> str:
        """The name of the parameter of Parameter Store with the keys of the sources."""
        return f"/toolfold/{self.stage.stack}/source-keys"

    # ── Versions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def versions(self) -> list[tuple[int, str]]:
        """Return the published versions and the times of their publication, the oldest first."""
        pages = self.client("lambda").get_paginator("list_versions_by_function")
        listed = [
            each for page in pages.paginate(FunctionName=self.outputs["FunctionName"]) for each in page["Versions"]
        ]
        return sorted((int(each["Version"]), each["LastModified"]) for each in listed if each["Version"] != "$LATEST")

    def serving_version(self) -> str:
        """Return the version that serves: the pinned one, else that of the alias."""
        if pinned := self.parameters.get("PinnedVersion"):
            return pinned
        alias = self.client("lambda").get_alias(FunctionName=self.outputs["FunctionName"], Name=ALIAS)
        return str(alias["FunctionVersion"])

    def roll_back(self, version: str = "") -> str:
        """Serve ``version``, ``newest``, or the one before the current one; return what PinnedVersion is afterwards.

        Raises:
            DeploymentError: There is no such version, or the update failed.
        """
        published = [str(number) for number, _ in self.versions()]
        if not version:
            earlier = [number for number in published if int(number) < int(self.serving_version())]
            if not earlier:
                raise DeploymentError(
                    f"There is no version before {self.serving_version()}: check out an earlier revision and deploy it."
                )
            version = earlier[-1]
        elif version != "newest" and version not in published:
            raise DeploymentError(
                f"There is no version {version}: set VERSION to one of {', '.join(published)}, or to newest."
            )
        pinned = "" if version == "newest" else version
        self._update(PinnedVersion=pinned)
        return pinned

    def _update(self, **values: str) -> None:
        """Update the stack with its own template and other values of parameters, and wait."""
        cloudformation = self.client("cloudformation")
        name = self.stage.stack
        kept: list[dict[str, Any]] = [
            {"ParameterKey": key, "UsePreviousValue": True} for key in self.parameters if key not in values
        ]
        try:
            cloudformation.update_stack(
                StackName=name,
                UsePreviousTemplate=True,
                Parameters=kept + [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
                # The template has a transform, which an update without a change set must allow.
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            )
            cloudformation.get_waiter("stack_update_complete").wait(StackName=name, WaiterConfig={"Delay": 5})
        except WaiterError as error:
            events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
            failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
            reason = failed[-1].get("ResourceStatusReason") if failed else error
            raise DeploymentError(f"CloudFormation restored the stack {name}: {reason}") from None
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise

    def prune(self, keep: int) -> list[int]:
        """Delete all versions but the newest ``keep`` and those that serve; return what was deleted."""
        function, client = self.outputs["FunctionName"], self.client("lambda")
        used = {self.serving_version()}
        for page in client.get_paginator("list_aliases").paginate(FunctionName=function):
            used |= {alias["FunctionVersion"] for alias in page["Aliases"]}
        deleted = [number for number, _ in self.versions()[: -keep or None] if str(number) not in used]
        for number in deleted:
            client.delete_function(FunctionName=function, Qualifier=str(number))
        return deleted

    # ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def store_key(self, source: str, key: str) -> str:
        """Store the key of a source beside those of others, and return the ARN of the parameter.

        Raises:
            DeploymentError: It could not be stored. The text has neither the key nor what AWS says, which may quote it.
        """
        if not key or not key.isprintable() or " " in key:
            raise DeploymentError("Nothing was stored: a key is one word of printable characters.")
        ssm = self.client("ssm")
        encryption = {"KeyId": arn} if (arn := self.parameters.get("KmsKeyArn")) else {}
        try:
            keys = self._read_keys(ssm)
            keys[source] = key
            ssm.put_parameter(
                Name=self.stored_keys, Value=json.dumps(keys), Type="SecureString", Overwrite=True, **encryption
            )
            return str(ssm.get_parameter(Name=self.stored_keys)["Parameter"]["ARN"])
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in CREDENTIAL_CODES:
                raise
            raise DeploymentError(
                f"{self.stored_keys} was not stored ({code}): you need ssm:GetParameter and ssm:PutParameter for it."
            ) from None

    def _read_keys(self, ssm: Any) -> dict[str, str]:
        try:
            stored = ssm.get_parameter(Name=self.stored_keys, WithDecryption=True)["Parameter"]["Value"]
            keys = json.loads(stored)
        except ssm.exceptions.ParameterNotFound:
            return {}
        except ValueError:
            keys = None
        if not isinstance(keys, dict):
            raise DeploymentError(
                f"The parameter {self.stored_keys} is not a JSON object: delete it, and store its keys."
            )
        return keys
