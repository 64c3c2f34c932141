"""The parameters of template.yaml: what is accepted, what contradicts, and that a change publishes a version."""

import json
import re
from typing import Any

import pytest

from tests.support.sam_template import ALL_OPTIONS, TEMPLATE, load, refused_by, resolve, translate

WRITTEN = load(TEMPLATE)
PARAMETERS: dict[str, dict[str, Any]] = WRITTEN["Parameters"]

SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:"
LONGEST = {
    "Access": "oauth",
    "OAuthIssuer": "https://" + 112 * "a",
    "SourceKeys": f"{SECRET}{'a' * (193 - len(SECRET))}-Ab12Cd",
    "Approval": "human",
    "ThrottleRate": "10000",
    "ReservedConcurrency": "1000",
    "LogRetentionDays": "731",
    "PinnedVersion": 9 * "9",
    "SnapStart": "PublishedVersions",
    "Tracing": "PassThrough",
    "DomainName": f"{'a' * 61}.io",
    "Vpc": f"subnet-{'a' * (200 - len('subnet-;sg-a'))};sg-a",
    "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/" + 128 * "a",
    "KmsKeyArn": f"arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-{'a' * 32}",
}
"""The longest value of each parameter."""


def text(name: str) -> str:
    """A value of the parameter that is not its default, to be found in what depends on it."""
    return ALL_OPTIONS[name]


def accepts(name: str, value: str) -> bool:
    """Whether CloudFormation accepts the value: it matches the whole value, as ``re.fullmatch``."""
    parameter = PARAMETERS[name]
    if "AllowedValues" in parameter:
        return value in map(str, parameter["AllowedValues"])
    if parameter["Type"] == "Number":
        return parameter["MinValue"] <= int(value) <= parameter["MaxValue"]
    fits = len(value) <= parameter.get("MaxLength", 4096)
    return fits and re.fullmatch(parameter["AllowedPattern"], value) is not None


@pytest.mark.parametrize(
    "values", [ALL_OPTIONS, LONGEST, {name: str(one["Default"]) for name, one in PARAMETERS.items()}]
)
def test_values_that_these_tests_use_are_accepted(values: dict[str, str]) -> None:
    assert values.keys() == PARAMETERS.keys()
    assert [name for name, value in values.items() if not accepts(name, value)] == []
    assert refused_by(**values) == []


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        (
            "OAuthIssuer",
            ["https://issuer.example.com", "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab12"],
            ["http://a.io", "https://a.io?x", "https://a.io/#x", "https://user@a.io", "a.io", "https://" + 113 * "a"],
        ),
        (
            "SourceKeys",
            [f"{SECRET}sources-Ab12Cd", "arn:aws-cn:ssm:cn-north-1:123456789012:parameter/toolfold/sources"],
            ['{"crm": "KEY"}', "keys/alpha", f"{SECRET}keys", f"{SECRET}keys-Ab12Cd ", f"{SECRET}keys-Ab12Cd#crm"],
        ),
        ("Approval", ["deny", "agent", "human"], ["", "nobody"]),
        ("ThrottleRate", ["0", "1"], ["-1", "10001"]),
        ("ReservedConcurrency", ["0", "1"], ["-1", "1001"]),
        ("LogRetentionDays", ["1", "731"], ["0", "2"]),
        ("PinnedVersion", ["1", "42"], ["0", "01", "$LATEST", "live", "1 "]),
        ("DomainName", ["mcp.example.com", "a.io"], ["https://a.io", "a.io/mcp", "A.io", "localhost", "a..io"]),
        (
            "Vpc",
            ["subnet-0a;sg-1b", "subnet-0a,subnet-1b;sg-2c,sg-3d"],
            ["subnet-0a", "sg-1b", "subnet-0a, subnet-1b;sg-2c", "subnet-0a;sg-1b;", "vpc-0a;sg-1b", "subnet-;sg-1b"],
        ),
        (
            "PermissionsBoundaryArn",
            ["arn:aws:iam::aws:policy/PowerUserAccess", "arn:aws:iam::123456789012:policy/team/boundary"],
            ["boundary", "arn:aws:iam::123456789012:role/boundary"],
        ),
        (
            "KmsKeyArn",
            ["arn:aws:kms:us-east-1:123456789012:key/mrk-0b1c"],
            ["alias/aws/s3", "arn:aws:kms:us-east-1:123456789012:alias/data"],
        ),
    ],
)
def test_values_of_another_form_are_refused(name: str, accepted: list[str], refused: list[str]) -> None:
    assert [value for value in accepted if not accepts(name, value)] == []
    assert [value for value in refused if accepts(name, value)] == []
    assert "AllowedPattern" not in PARAMETERS[name] or PARAMETERS[name]["ConstraintDescription"].startswith("must be ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"Access": "oauth"}, ["TokensHaveAnIssuer"]),
        ({"OAuthIssuer": "https://a.io"}, ["IssuerHasTokens"]),
        ({"Access": "open", "OAuthIssuer": "https://a.io"}, ["IssuerHasTokens"]),
        ({"Access": "open", "SourceKeys": ALL_OPTIONS["SourceKeys"]}, ["KeysAreNotForEveryone"]),
        ({"Access": "oauth", "OAuthIssuer": "https://a.io"}, []),
        ({"SourceKeys": ALL_OPTIONS["SourceKeys"]}, []),
        ({"Access": "open"}, []),
    ],
)
def test_parameters_that_contradict_each_other_are_refused_in_a_sentence(
    given: dict[str, str], expected: list[str]
) -> None:
    assert refused_by(**given) == expected
    for name in expected:
        for assertion in WRITTEN["Rules"][name]["Assertions"]:
            assert assertion["AssertDescription"].endswith(".")


def test_no_value_makes_the_environment_larger_than_lambda_allows() -> None:
    """4 KB for all names and values: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html."""
    variables = resolve(**LONGEST)["Resources"]["GatewayFunction"]["Properties"]["Environment"]["Variables"]
    generated = 5 * 63 + 128 + 128  # names of buckets, table and API, the ID of the stack, and its name
    assert len(json.dumps(variables)) + generated < 4096


class TestVersions:
    """CloudFormation replaces a version whose description changes: it has the numbers of the layers, and the rest."""

    @staticmethod
    def described(**parameters: str) -> tuple[str, ...]:
        """Return what decides whether the version is replaced: logical IDs of layers, and the own description."""
        resources = translate(load(TEMPLATE), parameters)["Resources"]
        layers = sorted(name for name, one in resources.items() if one["Type"] == "AWS::Lambda::LayerVersion")
        version = resolve(**parameters)["Resources"]["GatewayVersion"]["Properties"]
        return (*layers, version["Description"])

    @pytest.mark.slow  # the template is translated a dozen times
    def test_every_parameter_of_the_function_replaces_the_version(self) -> None:
        function = json.dumps(WRITTEN["Resources"]["GatewayFunction"]["Properties"])
        conditions = json.dumps(WRITTEN["Conditions"])
        of_function = {name for name in PARAMETERS if f'"{name}"' in function or f"${{{name}}}" in function}
        of_function |= {"DomainName", "Tracing", "Approval", "Access"}  # through a condition
        assert '"DomainName"' in conditions
        # Concurrency belongs to the function, not to a version.
        of_function -= {"ReservedConcurrency"}
        assert of_function >= {"SourceKeys", "Vpc", "OAuthIssuer", "SnapStart"}
        before = self.described()
        assert [name for name in sorted(of_function) if self.described(**{name: text(name)}) == before] == []

    @pytest.mark.slow
    def test_nothing_else_replaces_it(self) -> None:
        others = {"ThrottleRate", "ReservedConcurrency", "LogRetentionDays", "PinnedVersion", "PermissionsBoundaryArn"}
        before = self.described()
        assert [name for name in sorted(others) if self.described(**{name: text(name)}) != before] == []

    def test_a_pinned_version_moves_the_alias_alone(self) -> None:
        pinned = resolve(PinnedVersion="7")
        before, after = resolve()["Resources"], pinned["Resources"]
        assert [name for name in before if before[name] != after[name]] == ["GatewayAlias"]
        aliases = [one["GatewayAlias"]["Properties"]["FunctionVersion"] for one in (before, after)]
        assert aliases == ["GatewayVersion.Version", "7"]
        assert pinned["Outputs"]["FunctionVersion"]["Value"] == "7"
