"""The user's own tools: ``sam deploy --guided`` by Enter alone on a terminal, and ``sam deploy`` up to its change set.

SAM runs as it is, on the built template, against moto instead of AWS. The first writes its transcript to
.aws-sam/guided.txt.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from scripts.deployed_stack import load_stage
from tests.support import aws_services
from tests.support.built_function import DEPLOYED_BUILD, ROOT

SAM = ROOT / ".venv-sam/bin/sam"

TRANSCRIPT = ROOT / ".aws-sam/guided.txt"

MAX_QUESTIONS = 22
"""14 parameters, and eight about the stack, its region, permissions, rollback and the configuration file."""

pytestmark = [
    pytest.mark.e2e,
    # moto does not know the policy of SAM's bucket, and half of our resources.
    pytest.mark.filterwarnings("ignore:Tried to parse:UserWarning"),
    pytest.mark.skipif(
        os.environ.get("RUN_E2E") != "1" or not (DEPLOYED_BUILD / "template.yaml").exists() or not SAM.exists(),
        reason="needs a build and SAM: make e2e",
    ),
]


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Serve an account that has SAM's own stack: moto makes none of its outputs where it comes from a change set."""
    with aws_services.serving() as url:
        requests.post(f"{url}/moto-api/reset", timeout=60).raise_for_status()
        bucket = {"Resources": {"B": {"Type": "AWS::S3::Bucket"}}, "Outputs": {"SourceBucket": {"Value": {"Ref": "B"}}}}
        aws_services.client("cloudformation", url).create_stack(
            StackName="aws-sam-cli-managed-default",
            TemplateBody=json.dumps(bucket),
            Tags=[{"Key": "ManagedStackSource", "Value": "AwsSamCli"}],
        )
        # For another name moto takes the bucket of a template's URL from the name of the host.
        yield url.replace("127.0.0.1", "localhost")


@pytest.fixture
def variables(endpoint: str, tmp_path: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TOOLFOLD_"))}
    return ours | {
        **aws_services.variables(endpoint),
        "HOME": str(tmp_path),
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.1",
        "COLUMNS": "200",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the configuration and the build, as `sam build` leaves them."""
    shutil.copy(ROOT / "samconfig.toml", tmp_path)
    (tmp_path / ".aws-sam").mkdir()
    shutil.copytree(DEPLOYED_BUILD, tmp_path / ".aws-sam/build", symlinks=True)
    return tmp_path


def parameters_of(endpoint: str) -> dict[str, str]:
    """Return the parameters of the stack that SAM has made a change set for."""
    client = aws_services.client("cloudformation", endpoint)
    [stack] = client.describe_stacks(StackName="toolfold")["Stacks"]
    [summary] = client.list_change_sets(StackName="toolfold")["Summaries"]
    described = client.describe_change_set(StackName="toolfold", ChangeSetName=summary["ChangeSetName"])
    assert stack["StackStatus"] in ("REVIEW_IN_PROGRESS", "CREATE_COMPLETE")
    return {each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", [])}


def test_guided_deployment_ends_by_enter_alone(folder: Path, variables: dict[str, str], endpoint: str) -> None:
    import pexpect  # type: ignore[import-untyped]

    terminal = pexpect.spawn(
        str(SAM),
        ["deploy", "--guided", "--no-progressbar"],
        cwd=str(folder),
        env=variables,
        encoding="utf-8",
        timeout=120,
        dimensions=(50, 200),
    )
    questions: list[str] = []
    shown = ""
    # A prompt ends with its default in brackets, and a colour reset or nothing.
    while terminal.expect([r"\[[^\[\]\r\n]*\]: ?(?:\x1b\[0m)?$|\S: ?(?:\x1b\[0m)?$", pexpect.EOF]) == 0:
        shown += terminal.before + terminal.after
        questions.append(_plain(shown).rstrip().rpartition("\n")[2].strip())
        TRANSCRIPT.write_text(_plain(shown), encoding="utf-8")
        assert len(questions) <= 3 * MAX_QUESTIONS, questions
        terminal.send("\n")
    terminal.close()
    # What comes after it is moto's: it creates half of the resources.
    before, created, _ = _plain(shown + terminal.before).partition("Changeset created successfully")
    TRANSCRIPT.write_text(f"{before}{created}\n", encoding="utf-8")

    assert not [question for question, times in Counter(questions).items() if times > 1]
    assert len(questions) <= MAX_QUESTIONS, questions
    assert created, before[-3000:]
    assert "Managed S3 bucket" in before
    # What SAM saves is what `make deploy` reads.
    assert load_stage("default", folder / "samconfig.toml").parameters["Access"] == "iam"
    for refusal in ("Error", "must be", "has no authentication", "failed to satisfy"):
        assert refusal not in before, before[-3000:]


def test_deployment_without_questions_reaches_the_change_set(
    folder: Path, variables: dict[str, str], endpoint: str
) -> None:
    """The file replaces the parameters of samconfig.toml, so that `make deploy` writes both into it."""
    (folder / "parameters.yaml").write_text('{"Access": "open", "LogRetentionDays": "7"}', encoding="utf-8")
    options = ["--config-env", "prod", "--parameter-overrides", "file://parameters.yaml", "--no-execute-changeset"]
    options.append("--no-progressbar")
    command = [str(SAM), "deploy", *options, "--stack-name", "toolfold"]
    ran = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "Changeset created successfully" in ran.stdout
    assert parameters_of(endpoint) == {"Access": "open", "LogRetentionDays": "7"}


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
