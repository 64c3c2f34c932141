"""Translate a SAM template into the CloudFormation template that AWS makes of it, with SAM's own translator.

The lint of a SAM template does not check SAM's own resources: it accepts a runtime that does not exist. In the
translated template the same mistake is found. As a program it writes the translation as JSON, for ``cfn-lint`` and the
scanner (``make validate``); parameters given as ``Name=value`` become defaults, because a scanner reads only those,
and ``all`` gives a value to every parameter::

    python -m tests.support.sam_template template.yaml Access=oauth OAuthIssuer=https://issuer.example.com
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

if TYPE_CHECKING:
    from moto.cloudformation.parsing import ResourceMap


TEMPLATE = Path(__file__).parents[2] / "template.yaml"

REGION = "us-east-1"
"""Any region will do: nothing in a template depends on it, and nothing is sent anywhere."""

ALL_OPTIONS = {
    "Access": "oauth",
    "OAuthIssuer": "https://issuer.example.com",
    "SourceKeys": "arn:aws:secretsmanager:us-east-1:123456789012:secret:keys-Ab12Cd",
    "Approval": "human",
    "ThrottleRate": "50",
    "ReservedConcurrency": "10",
    "LogRetentionDays": "7",
    "PinnedVersion": "3",
    "SnapStart": "PublishedVersions",
    "Tracing": "Active",
    "DomainName": "mcp.example.com",
    "Vpc": "subnet-0a1b2c3d,subnet-0a1b2c3e;sg-0a1b2c3d",
    "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary",
    "KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/0b1c",
}
"""A value of every parameter of template.yaml, none of which is the default."""

PACKAGED = "s3://packages/code.zip"
"""Where the translation finds the code, as `sam package` would have put it there."""

_CODE_OF: dict[str, str] = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
}
"""SAM type → the property that `sam package` rewrites from a local folder to an object in S3."""


def load(path: Path) -> dict[str, Any]:
    """Return the template as written, with ``!Ref`` and the like in their long form (``{"Ref": …}``)."""
    return dict(yaml_parse(path.read_text(encoding="utf-8")))


def translate(
    template: dict[str, Any], parameters: Mapping[str, str] | None = None, package: str = PACKAGED
) -> dict[str, Any]:
    """Return the CloudFormation template for a SAM template.

    ``template`` is changed: local code becomes the object ``package``, as `sam package` would do.

    Args:
        template: From :func:`load`.
        parameters: Values other than the defaults. They decide the logical IDs of layers.
        package: URL of the object in S3.

    Raises:
        samtranslator.model.exceptions.InvalidDocumentException: SAM refuses the template.
    """
    for resource in template["Resources"].values():
        if resource["Type"] in _CODE_OF:
            resource["Properties"][_CODE_OF[resource["Type"]]] = package
    session = boto3.Session(region_name=REGION)
    translator = Translator(managed_policy_map={}, sam_parser=Parser(), boto_session=session)
    values = dict(parameters or {})
    return dict(
        translator.translate(sam_template=template, parameter_values=values, get_managed_policy_map=_no_policies)
    )


def _no_policies() -> dict[str, str]:
    """Return no policies: the template uses none of SAM's short names, so no account has to be queried."""
    return {}


def main(path: str, *given: str) -> None:
    """Write the translated template at ``path`` with these parameters, ``Name=value``, as JSON; ``all`` is all."""
    parameters = ALL_OPTIONS if given == ("all",) else dict(one.split("=", 1) for one in given)
    template = load(Path(path))
    for name, value in parameters.items():
        template["Parameters"][name]["Default"] = value
    json.dump(translate(template, parameters), sys.stdout, indent=2)


if __name__ == "__main__":
    main(*sys.argv[1:])


ACCOUNT, STACK = "123456789012", "toolfold"
"""moto's account."""


class _Resource(str):
    """What a reference to a resource becomes: its logical ID; an attribute follows after a dot."""

    __slots__ = ()

    def get_cfn_attribute(self, attribute: str) -> str:
        return f"{self}.{attribute}"


def _resource_map(template: dict[str, Any], parameters: Mapping[str, str]) -> ResourceMap:
    from moto.cloudformation.parsing import ResourceMap

    stack_id = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
    resources = ResourceMap(stack_id, STACK, dict(parameters), {}, REGION, ACCOUNT, template, {})
    resources.load_mapping()
    resources.load_parameters()
    resources.load_conditions()
    for name, resource in template["Resources"].items():
        # The number of a layer is in its ARN.
        is_layer = resource["Type"] == "AWS::Lambda::LayerVersion"
        text = f"arn:aws:lambda:{REGION}:{ACCOUNT}:layer:{name}:1" if is_layer else name
        resources._parsed_resources[name] = _Resource(text)
    return resources


@functools.cache
def _resolved(parameters: tuple[tuple[str, str], ...]) -> str:
    from moto.cloudformation.parsing import clean_json

    translated = translate(load(TEMPLATE), dict(parameters))
    resources = _resource_map(translated, dict(parameters))
    kept = {
        section: {
            name: clean_json(one, resources)
            for name, one in translated[section].items()
            if "Condition" not in one or resources.lazy_condition_map[one["Condition"]]
        }
        for section in ("Resources", "Outputs")
    }
    return json.dumps(kept)


def resolve(**parameters: str) -> dict[str, Any]:
    """Return ``Resources`` and ``Outputs`` of the stack of template.yaml, without functions.

    What a condition leaves out is missing. What ``AWS::NoValue`` removes from a list is ``None`` there.
    """
    return dict(json.loads(_resolved(tuple(sorted(parameters.items())))))


def refused_by(**parameters: str) -> list[str]:
    """Return the rules of template.yaml with which CloudFormation refuses these parameters."""
    from moto.cloudformation.parsing import parse_condition

    written = load(TEMPLATE)
    resources = _resource_map(written, parameters)

    def holds(condition: dict[str, Any]) -> bool:
        return parse_condition(condition, resources, resources.lazy_condition_map)

    return [
        name
        for name, rule in written["Rules"].items()
        if holds(rule["RuleCondition"]) and not all(holds(one["Assert"]) for one in rule["Assertions"])
    ]
