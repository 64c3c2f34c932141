"""Deploy a stack in your AWS account, check what only AWS can show, and delete it.

::

    make verify-account
    make verify-account ARGS=--plan       list the steps; needs no account

It takes about eight minutes and less than $0.05. The stack has a random name, and nothing else is touched. It is
deleted in any case, after Ctrl-C as well, and the last lines say what remains. The transcript,
.aws-sam/verify-account.txt, has the time of each line, and another number in place of that of the account. The variable
SMOKE_KEY is a key of Alpha Vantage; without it the public key "demo" is used.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests

from scripts.deployed_stack import DeployedStack, Stage
from scripts.smoke import Endpoint, expect, outcome_of

ROOT = Path(__file__).parents[1]

TRANSCRIPT = ROOT / ".aws-sam/verify-account.txt"

LONG_ANSWER = ("TIME_SERIES_DAILY", {"symbol": "IBM"})
"""A call that the key "demo" may make, of about 3,000 tokens."""

FLOOD = 80
"""Requests at once: more than the ten that GET /health may burst to (template.yaml: RouteSettings)."""

SETTLE_S = 60
"""Seconds until API Gateway and Lambda serve what CloudFormation has changed, at most."""

ISSUER = "-cognito"
"""Added to the name: the stack of deploy/cognito.yaml."""

NO_ACCOUNT = "123456789012"
"""In the transcript, instead of the number of the account."""


class Account:
    """One run: the stack of this name, its endpoint, and the transcript."""

    def __init__(self, name: str, transcript: Path = TRANSCRIPT) -> None:
        self.name, self.number = name, ""
        self.buckets: set[str] = set()
        self._transcript = transcript
        transcript.parent.mkdir(exist_ok=True)
        transcript.write_text("", encoding="utf-8")

    @property
    def deployment(self) -> DeployedStack:
        """The stack, read again."""
        return self.stack("")

    def stack(self, suffix: str) -> DeployedStack:
        """Return the stack with a suffix to the name, read again."""
        return DeployedStack(Stage("default", self.name + suffix, None, {}))

    def endpoint(self, access: str = "iam") -> Endpoint:
        """Return the endpoint, with signed requests where ``access`` is ``iam``."""
        deployed = self.deployment
        region = deployed.client("cloudformation").meta.region_name if access == "iam" else ""
        return Endpoint(deployed.outputs["Endpoint"], access, region, os.environ.get("SMOKE_KEY") or "demo")

    def say(self, line: str, shown: bool = True) -> None:
        """Write a line with the time into the transcript, without the number of the account."""
        line = line.rstrip().replace(self.number or NO_ACCOUNT, NO_ACCOUNT)
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")
        if shown:
            print(line, flush=True)

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command, with its output in the transcript; return the status and the output."""
        self.say(f"$ {' '.join(command)}", shown=False)
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        lines = []
        with subprocess.Popen(command, cwd=ROOT, text=True, **streams) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                self.say(f"  {line}", shown=False)
        return process.returncode, "".join(lines)

    def make(self, target: str, *variables: str) -> str:
        """Run a target of the Makefile for the stack, and return its output.

        Raises:
            CheckFailed: It failed.
        """
        status, output = self.run("make", "--no-print-directory", target, f"STACK={self.name}", *variables)
        expect(status == 0, f"make {target} failed: {output.strip().rpartition(chr(10))[2]}")
        return output

    def wait_for_health(self, *statuses: int) -> str:
        """Wait until GET /health answers with one of ``statuses``.

        Raises:
            CheckFailed: It did not in time.
        """
        url = urljoin(self.deployment.outputs["Endpoint"], "/health")
        status, end = 0, time.monotonic() + SETTLE_S
        while status not in statuses and time.monotonic() < end:
            time.sleep(1)
            with suppress(requests.RequestException):
                status = requests.get(url, timeout=35).status_code
        expect(status in statuses, f"GET /health answers {status}, not {' or '.join(map(str, statuses))}")
        return f"GET /health answers {status}"


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_credentials(account: Account) -> str:
    """Read who the credentials belong to; nothing is created."""
    identity = account.deployment.client("sts").get_caller_identity()
    account.number = identity["Account"]
    return f"region {account.deployment.client('sts').meta.region_name}"


def deploy(account: Account) -> str:
    """Deploy with Access=iam, without a question."""
    account.make("deploy", "ACCESS=iam", "ARGS=--no-progressbar")
    return f"Access={account.deployment.outputs['Access']}, version {account.deployment.outputs['FunctionVersion']}"


def publish(account: Account) -> str:
    """Publish the catalog into the bucket of the stack."""
    account.make("publish")
    return account.wait_for_health(200)


def smoke(account: Account) -> str:
    """Check the endpoint as a client sees it, with signed requests."""
    output = account.make("smoke")
    return f"{len(re.findall('^PASS', output, re.MULTILINE))} checks passed"


def cache(account: Account) -> str:
    """Call a tool twice: the second answer is from the cache."""
    endpoint = account.endpoint()
    call = endpoint.example["examples"][0]
    first, second = (endpoint.client.call_meta_tool("TOOL_CALL", call).structured for _ in range(2))
    expect(second.get("cached"), "the second answer is not from the cache")
    return f"{call['tool_name']}: cached {first.get('cached')}, then {second.get('cached')}"


def long_answer(account: Account) -> str:
    """Call a tool with a long answer, and read all of it by its link."""
    name, arguments = LONG_ANSWER
    answer = account.endpoint().client.call(name, arguments, max_tokens=500)
    link = answer.structured.get("preview", {}).get("full", {}).get("url", "")
    expect(link.startswith("https://"), "the answer has no link")
    read = requests.get(link, timeout=35)
    expect(read.status_code == 200, f"the link answers {read.status_code}")
    return f"{len(read.content):,} bytes by link"


def throttle(account: Account) -> str:
    """Send more requests at once than the API allows: some get 429."""
    url = urljoin(account.deployment.outputs["Endpoint"], "/health")
    with ThreadPoolExecutor(FLOOD // 4) as pool:
        statuses = list(pool.map(lambda _: requests.get(url, timeout=35).status_code, range(FLOOD)))
    expect(statuses.count(429), f"no request of {FLOOD} was refused")
    return f"{statuses.count(429)} of {FLOOD} requests got 429"


def fail(account: Account) -> str:
    """Deploy a version with a wrong setting, past the checks of the build: it does not start."""
    [settings] = ROOT.glob(".aws-sam/build/*/python/toolfold/settings/settings.json")
    settings.write_text('{"log_level": "wrong on purpose"}', encoding="utf-8")
    options = ["--stack-name", account.name, "--no-progressbar"]
    status, _ = account.run(str(ROOT / ".venv-sam/bin/sam"), "deploy", *options)
    expect(status == 0, "sam deploy failed")
    return account.wait_for_health(500, 502, 503)


def roll_back(account: Account) -> str:
    """Serve the version before by the parameter PinnedVersion."""
    account.make("rollback")
    pinned = account.deployment.parameters["PinnedVersion"]
    return f"version {pinned}: {account.wait_for_health(200)}"


def refuse_while_pinned(account: Account) -> str:
    """Deploy while a version is pinned, which is refused, and unpin it."""
    status, output = account.run("make", "--no-print-directory", "deploy", f"STACK={account.name}")
    expect(status != 0 and "VERSION=newest" in output, "the deployment was not refused")
    account.make("rollback", "VERSION=newest")
    return f"unpinned, the failing version serves: {account.wait_for_health(500, 502, 503)}"


def deploy_again(account: Account) -> str:
    """Deploy the settings of the checkout again."""
    account.make("deploy", "ARGS=--no-progressbar")
    return account.wait_for_health(200)


def require_tokens(account: Account) -> str:
    """Make an issuer with Amazon Cognito, and require its tokens in one deployment."""
    issuer = account.stack(ISSUER)
    cloudformation = issuer.client("cloudformation")
    template = (ROOT / "deploy/cognito.yaml").read_text(encoding="utf-8")
    cloudformation.create_stack(StackName=issuer.stage.stack, TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
    cloudformation.get_waiter("stack_create_complete").wait(StackName=issuer.stage.stack, WaiterConfig={"Delay": 5})
    account.make("deploy", "ACCESS=oauth", f"ISSUER={issuer.outputs['Issuer']}", "ARGS=--no-progressbar")
    account.wait_for_health(200)
    endpoint = account.endpoint("oauth")
    answer = endpoint.post("tools/list", {})
    header = answer.headers.get("www-authenticate", "")
    expect(answer.status_code == 401 and "resource_metadata=" in header, f"HTTP {answer.status_code}, {header}")
    metadata = endpoint.send("GET", f"/.well-known/oauth-protected-resource{endpoint.path}")
    servers = metadata.json().get("authorization_servers") if metadata.status_code == 200 else None
    expect(servers == [issuer.outputs["Issuer"]], f"the metadata answers {metadata.status_code} with {servers}")
    return "401 with resource_metadata, which names the issuer"


STEPS: tuple[Callable[[Account], str], ...] = (
    check_credentials,
    deploy,
    publish,
    smoke,
    cache,
    long_answer,
    throttle,
    fail,
    roll_back,
    refuse_while_pinned,
    deploy_again,
    require_tokens,
)


# ── Deletion ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def delete(account: Account) -> None:
    """Delete the stacks, and the buckets that are kept with their contents."""
    for deployment in (account.stack(ISSUER), account.deployment):
        name, cloudformation = deployment.stage.stack, deployment.client("cloudformation")
        if deployment.stack is None:
            continue
        # CloudFormation deletes no stack in the middle of an update, where Ctrl-C may have left it.
        while re.fullmatch("UPDATE_.*IN_PROGRESS", DeployedStack(deployment.stage).status):
            time.sleep(5)
        resources = cloudformation.describe_stack_resources(StackName=name)["StackResources"]
        buckets = [each for each in resources if each["ResourceType"] == "AWS::S3::Bucket"]
        account.buckets |= {each["PhysicalResourceId"] for each in buckets if each.get("PhysicalResourceId")}
        cloudformation.delete_stack(StackName=name)
        cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 5})
    # After the stack: the policy of the bucket denies the deletion of catalogs.
    s3 = account.deployment.client("s3")
    for bucket in sorted(account.buckets):
        with suppress(s3.exceptions.NoSuchBucket):
            for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
                for item in page.get("Versions", []) + page.get("DeleteMarkers", []):
                    s3.delete_object(Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])
            s3.delete_bucket(Bucket=bucket)


def remains(account: Account) -> Iterator[str]:
    """Yield what is still there."""
    for deployment in (account.stack(ISSUER), account.deployment):
        if deployment.stack is not None:
            yield f"stack {deployment.stage.stack} ({deployment.status})"
    for bucket in account.deployment.client("s3").list_buckets()["Buckets"]:
        if bucket["Name"] in account.buckets or bucket["Name"].startswith(f"{account.name}-"):
            yield f"bucket {bucket['Name']}"
    logs = account.deployment.client("logs")
    for prefix in (f"/aws/lambda/{account.name}", f"/aws/vendedlogs/apis/{account.name}"):
        for group in logs.describe_log_groups(logGroupNamePrefix=prefix)["logGroups"]:
            yield f"log group {group['logGroupName']}"


def run_steps(account: Account, steps: tuple[Callable[[Account], str], ...] = STEPS) -> bool:
    """Run the steps up to the first that fails, delete what they made, and return whether all passed."""
    passed = True
    try:
        for step in steps:
            passed = run_step(account, step)
            if not passed:
                break
    except KeyboardInterrupt:
        passed = False
        account.say("FAIL  interrupted")
    finally:
        if account.number:
            passed = run_step(account, _delete) and passed
    return passed


def _delete(account: Account) -> str:
    try:
        delete(account)
    finally:
        for left in remains(account):
            account.say(f"      remains: {left}")
    expect(not list(remains(account)), "delete the rest by hand")
    return "nothing remains but the packages in the bucket of the SAM CLI"


def run_step(account: Account, step: Callable[[Account], str]) -> bool:
    """Run one step, say its outcome, and return whether it passed or was skipped."""
    started = time.monotonic()
    outcome, detail = outcome_of(step, account)
    account.say(f"{outcome}  {step.__name__.strip('_'):20} {time.monotonic() - started:6.1f} s  {detail}")
    return outcome != "FAIL"


def main(argv: list[str] | None = None) -> int:
    """Run all steps, or list them; return 1 when one failed."""
    parser = argparse.ArgumentParser(description="Deploy a stack in your AWS account, check it, and delete it.")
    parser.add_argument("--plan", action="store_true", help="list the steps, and do nothing")
    if parser.parse_args(argv).plan:
        for number, step in enumerate((*STEPS, delete), 1):
            print(f"{number:2} {step.__name__:20} {(step.__doc__ or '').splitlines()[0]}")
        return 0
    account = Account(f"toolfold-verify-{secrets.token_hex(3)}")
    account.say(f"Stack {account.name}, {datetime.now(UTC):%Y-%m-%d}")
    return 0 if run_steps(account) else 1


if __name__ == "__main__":
    sys.exit(main())
