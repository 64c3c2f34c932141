"""What a deployment is refused for, rollbacks by the parameter of the stack, and keys that appear nowhere; on moto."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from scripts import deployed_stack, deployment, other_stacks, smoke
from scripts.deployed_stack import DeployedStack, Stage
from scripts.deployment import Options, check, describe_access, main
from tests.support.aws_services import use_aws_endpoint

ROOT = Path(__file__).parents[3]

STAGE = Stage("prod", "shop", "us-east-1", {})

KEY = "CANARYKEY-0123456"

KEPT, ISSUER = {"LogRetentionDays": "7"}, "https://i.example"

ARN = "arn:aws:ssm:us-east-1:123456789012:parameter/keys"

CONFIG = """
[default.global.parameters]
stack_name = "shop"
region = "us-east-1"
[dev.global.parameters]
stack_name = "shop-dev"
[prod.global.parameters]
stack_name = "not-this"
[prod.deploy.parameters]
stack_name = "shop"
region = "us-east-1"
parameter_overrides = ["Access=open", "LogRetentionDays=7"]
[text.deploy.parameters]
parameter_overrides = 'Access="iam" SourceKeys="" Vpc="subnet-a;sg-b"'
"""

PARAMETERS = ("Access", "OAuthIssuer", "SourceKeys", "PinnedVersion", "KmsKeyArn", "ThrottleRate")

TEMPLATE = {
    "Parameters": {name: {"Type": "String", "Default": ""} for name in PARAMETERS},
    "Resources": {
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}},
        "GatewayFunction": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Handler": "app.handler",
                "Runtime": "python3.13",
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Code": {"ZipFile": "handler = None"},
            },
        },
    },
    "Outputs": {
        "FunctionName": {"Value": {"Ref": "GatewayFunction"}},
        "CatalogBucketName": {"Value": "catalog-bucket"},
    },
}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "samconfig.toml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def create_stack(**parameters: str) -> None:
    boto3.client("cloudformation", "us-east-1").create_stack(
        StackName="shop",
        TemplateBody=json.dumps(TEMPLATE),
        # In moto the previous value of a parameter is never its default.
        Parameters=[{"ParameterKey": name, "ParameterValue": parameters.get(name, "")} for name in PARAMETERS],
    )


def create_stack_with_versions(**parameters: str) -> None:
    """Create the stack with four published versions, of which the alias has the third."""
    create_stack(**parameters)
    client = boto3.client("lambda", "us-east-1")
    function = DeployedStack(STAGE).outputs["FunctionName"]
    while (number := len(client.list_versions_by_function(FunctionName=function)["Versions"])) < 5:
        client.update_function_configuration(FunctionName=function, Description=str(number))
        client.publish_version(FunctionName=function)
    client.create_alias(FunctionName=function, Name="live", FunctionVersion="3")


class TestStages:
    def test_options_are_merged_as_sam_does(self, config: Path) -> None:
        stage = deployed_stack.load_stage("prod", config)
        expected = Stage("prod", "shop", "us-east-1", {"Access": "open", "LogRetentionDays": "7"})
        assert stage == expected
        assert deployed_stack.load_stage("text", config).parameters == {"Access": "iam", "Vpc": "subnet-a;sg-b"}

    def test_a_stage_that_does_not_exist_is_refused_with_the_nearest_one(
        self, config: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["--config", str(config), "--stage", "prd", "check"]) == 1
        assert "Did you mean prod?" in capsys.readouterr().err


REFUSED: list[tuple[str, Options, dict[str, str], str, str]] = [
    ("another access", Options("oath"), {}, "", "Did you mean oauth? Set iam, oauth, open"),
    ("oauth without an issuer", Options("oauth"), {}, "", "ISSUER=https://"),
    ("an issuer with iam", Options("iam", "https://i.example"), {}, "", "leave one of them out"),
    ("an issuer for a stack with iam", Options("", "https://i.example"), {"Access": "iam"}, "", "add ACCESS=oauth"),
    ("an issuer without https", Options("oauth", "i.example"), {}, "", "begins with https://"),
    ("a key instead of an ARN", Options(keys=KEY), {}, "", "make store-key"),
    ("keys for everyone", Options("open", keys=ARN), {}, "", "every caller would spend your keys"),
    ("keys that are not stored", Options(keys="stored"), {}, "", "make store-key STAGE=prod"),
    ("a pinned version", Options(), {"PinnedVersion": "2"}, "", "make rollback STAGE=prod VERSION=newest"),
    ("a failed creation", Options(), {}, "ROLLBACK_COMPLETE", "sam delete --no-prompts --stack-name shop --region"),
    ("a failed deletion", Options(), {}, "DELETE_FAILED", "sam delete"),
    ("a failed rollback of an update", Options(), {}, "UPDATE_ROLLBACK_FAILED", "continue its rollback"),
    ("another deployment", Options(), {}, "UPDATE_IN_PROGRESS", "wait until"),
]  # fmt: skip


class TestCheck:
    @pytest.mark.parametrize(
        ("options", "existing", "status", "sentence"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
    )
    def test_what_cannot_be_deployed_is_refused_with_what_to_do(
        self,
        aws: None,
        monkeypatch: pytest.MonkeyPatch,
        options: Options,
        existing: dict[str, str],
        status: str,
        sentence: str,
    ) -> None:
        if existing:
            create_stack(**existing)
        if status:
            # One that moto gives to none.
            monkeypatch.setattr(DeployedStack, "status", property(lambda self: status))
        with pytest.raises(deployed_stack.DeploymentError, match=re.escape(sentence)) as refused:
            check(DeployedStack(STAGE), options)
        assert KEY not in str(refused.value)

    @pytest.mark.parametrize(
        ("existing", "options", "planned"),
        [
            ({}, Options("open"), {**KEPT, "Access": "open"}),
            ({"Access": "iam"}, Options(keys=ARN), {**KEPT, "SourceKeys": ARN}),
            ({"Access": "oauth", "OAuthIssuer": ISSUER}, Options(), KEPT),
            ({"Access": "iam", "SourceKeys": ARN}, Options("open"), {**KEPT, "Access": "open", "SourceKeys": ""}),
            ({"Access": "oauth", "OAuthIssuer": ISSUER}, Options("iam"), {**KEPT, "Access": "iam", "OAuthIssuer": ""}),
        ],
    )
    def test_options_override_the_stage_and_the_rest_is_left_to_sam(
        self, aws: None, existing: dict[str, str], options: Options, planned: dict[str, str]
    ) -> None:
        if existing:
            create_stack(**existing)
        assert check(DeployedStack(Stage("prod", "shop", "us-east-1", KEPT)), options) == planned

    def test_a_stage_does_not_change_the_access_of_a_stack_unasked(self, aws: None) -> None:
        create_stack(Access="iam")
        deployed = DeployedStack(Stage("prod", "shop", "us-east-1", {"Access": "open"}))
        with pytest.raises(deployed_stack.DeploymentError, match="set ACCESS to one of them"):
            check(deployed, Options())
        assert check(deployed, Options("iam")) == {"Access": "iam"}

    @pytest.mark.parametrize(
        ("settings", "access", "sentence"),
        [
            ("calls_per_day = 0\n[stage.prod]", "open", "TOOLFOLD_ACCESS=open needs limits"),
            ("[stage.prod]\nmax_token = 1", "iam", "settings.toml:2: max_token is not a setting."),
            ("[stage.dev]", "iam", "settings.toml has no stage prod. There are dev. Add a table [stage.prod]"),
        ],
    )
    def test_settings_that_contradict_the_access_are_refused(
        self, aws: None, tmp_path: Path, settings: str, access: str, sentence: str
    ) -> None:
        file = tmp_path / "settings.toml"
        file.write_text(settings, encoding="utf-8")
        with pytest.raises(deployed_stack.DeploymentError, match=re.escape(sentence)):
            deployment.check_settings(DeployedStack(STAGE), {"Access": access}, file)

    @pytest.mark.parametrize(("limit", "reserved", "refused"), [(10, "5", True), (1000, "5", False), (10, "0", False)])
    def test_a_new_account_cannot_reserve_environments(
        self, aws: None, monkeypatch: pytest.MonkeyPatch, limit: int, reserved: str, refused: bool
    ) -> None:
        class Lambda:
            def get_account_settings(self) -> Any:
                return {"AccountLimit": {"ConcurrentExecutions": limit}}

        monkeypatch.setattr(DeployedStack, "client", lambda self, service: Lambda())
        with pytest.raises(deployed_stack.DeploymentError, match="has 10:") if refused else nullcontext():
            deployment.check_concurrency(DeployedStack(STAGE), {"ReservedConcurrency": reserved})

    @pytest.mark.parametrize(
        ("run", "arguments", "variables", "sentence"),
        [
            (main, ["outputs"], {"AWS_DEFAULT_REGION": "eu-west-1"}, "aws sso login"),
            (main, ["outputs"], {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_PROFILE": "none-such"}, "aws sso login"),
            (smoke.main, [], {}, "No AWS region is set: set AWS_REGION"),
            (other_stacks.main, ["cognito"], {}, "No AWS region is set: set AWS_REGION"),
        ],
    )
    def test_without_credentials_or_region_the_sentence_says_how_to_get_some(
        self,
        run: Callable[[list[str]], int],
        arguments: list[str],
        variables: dict[str, str],
        sentence: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        settings = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": str(tmp_path / "none")}
        for name, value in {**settings, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"), **variables}.items():
            monkeypatch.setenv(name, value)
        assert run(arguments) == 1
        assert sentence in capsys.readouterr().err

    def test_the_parameters_are_written_for_sam(
        self, aws: None, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written = tmp_path / "made/parameters.yaml"
        assert main(["--config", str(config), "--stage", "prod", "check", "--write", str(written)]) == 0
        assert json.loads(written.read_text()) == {"Access": "open", "LogRetentionDays": "7"}
        assert "5 requests/s all month cost $89" in capsys.readouterr().out


class TestAccess:
    @pytest.mark.parametrize(
        ("existing", "planned", "asked", "lines"),
        [
            ({}, {}, False, ["ACCESS=iam   (taken)", "ACCESS=oauth", "ACCESS=open", "make store-key STAGE=prod"]),
            ({}, {"Access": "open"}, True, ["5 requests/s all month cost $89, and $5,010"]),
            ({"Access": "open", "ThrottleRate": "50"}, {}, False, ["keeps Access=open", "$894, and $50,099"]),
            ({"Access": "iam", "SourceKeys": ARN}, {}, False, ["keeps Access=iam"]),
        ],
    )
    def test_it_is_said_who_may_call_and_what_that_costs(
        self, aws: None, existing: dict[str, str], planned: dict[str, str], asked: bool, lines: list[str]
    ) -> None:
        if existing:
            create_stack(**existing)
        said = list(describe_access(DeployedStack(STAGE), planned, asked))
        assert len(said) == len(lines)
        for line, expected in zip(said, lines, strict=True):
            assert expected in line


class TestVersions:
    def test_a_rollback_pins_a_version_and_keeps_the_other_parameters(self, aws: None) -> None:
        create_stack_with_versions(Access="open", SourceKeys=ARN)
        before = DeployedStack(STAGE).parameters
        assert DeployedStack(STAGE).roll_back() == "2"
        assert DeployedStack(STAGE).parameters == {**before, "PinnedVersion": "2"}
        assert DeployedStack(STAGE).roll_back() == "1"
        assert DeployedStack(STAGE).roll_back("4") == "4"
        assert DeployedStack(STAGE).roll_back("newest") == ""
        assert DeployedStack(STAGE).parameters == before

    @pytest.mark.parametrize(
        ("pinned", "version", "sentence"),
        [("1", "", "no version before 1"), ("", "9", "one of 1, 2, 3, 4, or to newest")],
    )
    def test_a_rollback_to_nothing_is_refused(self, aws: None, pinned: str, version: str, sentence: str) -> None:
        create_stack_with_versions(PinnedVersion=pinned)
        with pytest.raises(deployed_stack.DeploymentError, match=sentence):
            DeployedStack(STAGE).roll_back(version)

    def test_pruning_keeps_the_newest_the_pinned_and_that_of_the_alias(self, aws: None) -> None:
        create_stack_with_versions(PinnedVersion="2")
        assert DeployedStack(STAGE).prune(keep=1) == [1]
        assert [number for number, _ in DeployedStack(STAGE).versions()] == [2, 3, 4]

    def test_without_a_stack_it_is_said_how_to_make_one(
        self, aws: None, config: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for command in ("versions", "rollback", "prune", "outputs"):
            assert main(["--config", str(config), "--stage", "prod", command]) == 1
            assert "make deploy STAGE=prod" in capsys.readouterr().err


def test_an_output_can_be_used_in_other_commands(aws: None, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create_stack()
    assert main(["--config", str(config), "outputs", "CatalogBucketName"]) == 0
    assert capsys.readouterr().out == "catalog-bucket\n"
    assert main(["--config", str(config), "outputs", "Bucket"]) == 1


class TestStoreKey:
    NAME = "/toolfold/shop/source-keys"

    def stored(self) -> Any:
        parameter = boto3.client("ssm", "us-east-1").get_parameter(Name=self.NAME, WithDecryption=True)["Parameter"]
        assert parameter["Type"] == "SecureString"
        return json.loads(parameter["Value"])

    def test_a_key_from_stdin_is_stored_beside_others_and_never_shown(
        self, aws: None, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for source, key in (("crm", "OTHER"), ("alpha_vantage", "OLD"), ("alpha_vantage", KEY)):
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{key}\n"))
            assert main(["--config", str(config), "store-key", "--source", source]) == 0
        assert self.stored() == {"crm": "OTHER", "alpha_vantage": KEY}
        output = "".join(capsys.readouterr())
        assert KEY not in output
        assert f"parameter{self.NAME}" in output
        assert "make deploy KEYS=stored" in output
        assert check(DeployedStack(STAGE), Options(keys="stored"))["SourceKeys"].endswith(self.NAME)

    @pytest.mark.parametrize(
        ("typed", "before"),
        [("\n", None), (f"{KEY} and more\n", None), (f"{KEY}\n", "no JSON")],
        ids=["empty", "two words", "a parameter of another form"],
    )
    def test_what_cannot_be_stored_is_refused_without_the_key(
        self,
        aws: None,
        config: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        typed: str,
        before: str | None,
    ) -> None:
        if before:
            boto3.client("ssm", "us-east-1").put_parameter(Name=self.NAME, Value=before, Type="SecureString")
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert main(["--config", str(config), "store-key"]) == 1
        assert KEY not in "".join(capsys.readouterr())

    def test_a_refusal_of_aws_that_quotes_the_key_is_not_repeated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        client = boto3.client("ssm", "us-east-1", aws_access_key_id="t", aws_secret_access_key="t")
        monkeypatch.setattr(DeployedStack, "client", lambda self, service: client)
        monkeypatch.setattr(DeployedStack, "parameters", {})
        with Stubber(client) as stubber:
            stubber.add_client_error("get_parameter", "ParameterNotFound")
            stubber.add_client_error("put_parameter", "ValidationException", f"Value {KEY} is too long")
            with pytest.raises(deployed_stack.DeploymentError, match=r"\(ValidationException\)") as refused:
                DeployedStack(STAGE).store_key("alpha_vantage", KEY)
        assert KEY not in str(refused.value)

    @pytest.mark.slow
    def test_a_terminal_does_not_echo_the_key(
        self, endpoint: str, config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        use_aws_endpoint(endpoint, monkeypatch)
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "scripts.deployment", "--config", str(config), "store-key"]
        streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **streams) as ran:
            os.close(theirs)
            shown = b""
            while b"(not shown): " not in shown:
                shown += os.read(ours, 1024)
            os.write(ours, f"{KEY}\n".encode())
            try:
                while more := os.read(ours, 1024):
                    shown += more
            except OSError:  # the process has closed the terminal
                pass
        assert ran.returncode == 0, shown.decode()
        assert KEY not in shown.decode()
        assert self.stored()["alpha_vantage"] == KEY


@pytest.mark.parametrize(
    ("variables", "target", "expected"),
    [
        ("STAGE=prod", "publish", 'TOOLFOLD_STAGE="prod" TOOLFOLD_ACCESS=iam'),
        ("", "publish", 'catalog publish "$to" --settings settings.toml'),
        ("AWS_REGION=eu-north-1", "region", "eu-north-1"),
    ],
)
def test_make_gives_the_commands_the_settings_and_the_region(variables: str, target: str, expected: str) -> None:
    root = Path(__file__).parents[3]
    given = ["--eval", "region: ; @echo $$AWS_DEFAULT_REGION", target, *variables.split()]
    command = ["make", "-s", *([] if target == "region" else ["-n"]), *given]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert expected in done.stdout
