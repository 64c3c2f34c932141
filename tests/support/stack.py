"""The stack that CloudFormation would make of template.yaml: conditions decided, references replaced by names and ARNs.

The template is translated by SAM first. Physical names are made of the logical ones; where the template names a
resource itself, that name is used.

    stack = resolve(translated(), {"AlphaVantageApiKeySecret": "arn:…"})
    stack.resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]["TOOLFOLD_CATALOG"]
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
REGION, ACCOUNT, NAME = "us-east-1", "123456789012", "toolfold"
"""moto's account."""

Resource = dict[str, Any]

_ARNS = {
    "AWS::S3::Bucket": "arn:aws:s3:::{name}",
    "AWS::DynamoDB::Table": "arn:aws:dynamodb:{region}:{account}:table/{name}",
    "AWS::Lambda::Function": "arn:aws:lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{name}:*",
    "AWS::IAM::Role": "arn:aws:iam::{account}:role/{name}",
    "AWS::SQS::Queue": "arn:aws:sqs:{region}:{account}:{name}",
    "AWS::KMS::Key": "arn:aws:kms:{region}:{account}:key/{name}",
}
"""Type → what ``Fn::GetAtt`` returns for ``Arn``."""

_NAMES = ("BucketName", "TableName", "FunctionName", "LogGroupName", "RoleName", "QueueName")
"""Properties with the physical name of a resource."""

_NOTHING = object()


@dataclass(frozen=True)
class Stack:
    """The resources of a stack, without those whose condition does not hold; nothing in them is a function any more."""

    resources: Mapping[str, Resource]
    outputs: Mapping[str, Any]
    parameters: Mapping[str, str]

    def of_type(self, kind: str) -> dict[str, Resource]:
        """Return the properties of the resources of a type."""
        return {name: one["Properties"] for name, one in self.resources.items() if one["Type"] == kind}

    def variables(self, function: str = "GatewayFunction") -> dict[str, str]:
        """Return the environment variables of a function."""
        properties = self.resources[function]["Properties"]
        return {name: str(value) for name, value in properties["Environment"]["Variables"].items()}

    def statements(self, role: str = "GatewayRole") -> list[dict[str, Any]]:
        """Return the statements of all policies of a role, without those that AWS manages."""
        policies = list(self.resources[role]["Properties"].get("Policies", []))
        physical = physical_name(role, self.resources[role])
        policies += [one for one in self.of_type("AWS::IAM::Policy").values() if physical in one["Roles"]]
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]

    def bucket_statements(self) -> list[dict[str, Any]]:
        """Return the statements of the policies of all buckets."""
        policies = self.of_type("AWS::S3::BucketPolicy").values()
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


@functools.cache
def _translated() -> dict[str, Any]:
    from tests.support import sam_template  # a second to import

    return sam_template.translate(sam_template.load(TEMPLATE))


def translated() -> dict[str, Any]:
    """Return a copy of the translated template of this repository."""
    return copy.deepcopy(_translated())


def resolve(template: Mapping[str, Any], parameters: Mapping[str, str] | None = None, stack: str = NAME) -> Stack:
    """Return the stack of a translated template.

    Args:
        template: The translated template.
        parameters: Values of parameters other than their defaults.
        stack: The name of the stack.
    """
    return _Resolver(template, parameters or {}, stack).stack()


def deployed(**parameters: str) -> Stack:
    """Return the stack of template.yaml with these parameters."""
    return resolve(translated(), parameters)


def holds_rule(template: Mapping[str, Any], rule: str, parameters: Mapping[str, str]) -> bool:
    """Return whether CloudFormation accepts these parameters, as far as one rule of the template decides."""
    resolver, found = _Resolver(template, parameters, NAME), template["Rules"][rule]
    if not resolver.condition(found.get("RuleCondition", {"Fn::Equals": ["", ""]})):
        return True
    return all(resolver.condition(one["Assert"]) for one in found["Assertions"])


@dataclass(frozen=True)
class Decided:
    """A template whose conditions are decided: nothing of it depends on a condition any more, references are left."""

    template: dict[str, Any]
    conditions: Mapping[str, bool]


def deciding(template: Mapping[str, Any], parameters: Mapping[str, str]) -> Decided:
    """Return the template that CloudFormation would deploy with these parameters, references not yet replaced."""
    resolver = _Resolver(template, parameters, NAME)
    conditions = {name: resolver.condition(name) for name in template.get("Conditions", {})}
    kept: dict[str, Any] = {
        key: value for key, value in template.items() if key not in ("Conditions", "Rules", "Resources", "Outputs")
    }
    for section in ("Resources", "Outputs"):
        kept[section] = {
            name: {key: value for key, value in _without_ifs(one, conditions).items() if key != "Condition"}
            for name, one in template.get(section, {}).items()
            if conditions.get(one.get("Condition", ""), True)
        }
    return Decided(copy.deepcopy(kept), conditions)


def _without_ifs(value: Any, conditions: Mapping[str, bool]) -> Any:
    """Return ``value`` with the chosen branch of each ``Fn::If``, without what ``AWS::NoValue`` removes."""
    if isinstance(value, list):
        found = [_without_ifs(inner, conditions) for inner in value]
        return [inner for inner in found if inner != {"Ref": "AWS::NoValue"}]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"Fn::If"}:
        condition, holds, otherwise = value["Fn::If"]
        return _without_ifs(holds if conditions[condition] else otherwise, conditions)
    decided = {key: _without_ifs(inner, conditions) for key, inner in value.items()}
    return {key: inner for key, inner in decided.items() if inner != {"Ref": "AWS::NoValue"}}


def physical_name(logical: str, resource: Mapping[str, Any]) -> str:
    """Return the name of a resource in AWS; ``resource`` is resolved."""
    named = (resource.get("Properties", {}).get(key) for key in _NAMES)
    return next((name for name in named if isinstance(name, str)), f"{NAME}-{logical.lower()}")


class _Resolver:
    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str], stack: str) -> None:
        self.template = template
        known = template.get("Parameters", {})
        if unknown := parameters.keys() - known.keys():
            raise KeyError(f"the template has no parameter {', '.join(sorted(unknown))}")
        self.parameters = {name: str(one.get("Default", "")) for name, one in known.items()} | dict(parameters)
        self.pseudo = {
            "AWS::StackName": stack,
            "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/1",
            "AWS::Region": REGION,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": _NOTHING,
        }

    def stack(self) -> Stack:
        resources = {
            name: self.value(one)
            for name, one in self.template["Resources"].items()
            if "Condition" not in one or self.condition(one["Condition"])
        }
        outputs = {
            name: self.value(one["Value"])
            for name, one in self.template.get("Outputs", {}).items()
            if "Condition" not in one or self.condition(one["Condition"])
        }
        return Stack(resources, outputs, self.parameters)

    def condition(self, condition: Any) -> bool:
        if isinstance(condition, str):
            return self.condition(self.template["Conditions"][condition])
        [(function, given)] = condition.items()
        match function:
            case "Condition":
                return self.condition(given)
            case "Fn::Equals":
                left, right = (str(self.value(one)) for one in given)
                return left == right
            case "Fn::Not":
                return not self.condition(given[0])
            case "Fn::And":
                return all(map(self.condition, given))
            case "Fn::Or":
                return any(map(self.condition, given))
        raise ValueError(f"no condition: {function}")

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [inner for inner in map(self.value, value) if inner is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(function, given)] = value.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self.function(function, given)
        found = {key: self.value(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if inner is not _NOTHING}

    def function(self, function: str, given: Any) -> Any:
        match function:
            case "Ref":
                return self.reference(given)
            case "Fn::GetAtt":
                return self.attribute(*(given if isinstance(given, list) else given.split(".", 1)))
            case "Fn::Sub":
                text, own = given if isinstance(given, list) else (given, {})
                return re.sub(r"\$\{([^!}]+)\}", lambda found: self.substitute(found[1], own), text)
            case "Fn::If":
                return self.value(given[1] if self.condition(given[0]) else given[2])
            case "Fn::Join":
                return given[0].join(map(str, self.value(given[1])))
            case "Fn::Split":
                return str(self.value(given[1])).split(given[0])
            case "Fn::Select":
                return self.value(given[1])[int(given[0])]
            case "Fn::FindInMap":
                top, second, third = map(self.value, given)
                return self.template["Mappings"][top][second][third]
        raise ValueError(f"no function: {function}")

    def substitute(self, name: str, own: Mapping[str, Any]) -> str:
        if name in own:
            return str(self.value(own[name]))
        return str(self.attribute(*name.split(".", 1)) if "." in name else self.reference(name))

    def reference(self, name: str) -> Any:
        if name in self.pseudo:
            return self.pseudo[name]
        return self.parameters[name] if name in self.parameters else self.name_of(name)

    def name_of(self, logical: str) -> str:
        resource = self.template["Resources"][logical]
        if resource["Type"] == "AWS::Lambda::LayerVersion":
            return f"arn:aws:lambda:{REGION}:{ACCOUNT}:layer:{NAME}-{logical.lower()}:1"
        properties = resource.get("Properties", {})
        named = {key: self.value(properties[key]) for key in _NAMES if key in properties}
        return physical_name(logical, {"Properties": named})

    def attribute(self, logical: str, attribute: str) -> str:
        kind = self.template["Resources"][logical]["Type"]
        if attribute == "Arn" and kind in _ARNS:
            return _ARNS[kind].format(name=self.name_of(logical), region=REGION, account=ACCOUNT)
        return f"{self.name_of(logical)}.{attribute}"
