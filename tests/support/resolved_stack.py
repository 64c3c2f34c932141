"""The stack that CloudFormation makes of a translated template, as moto's CloudFormation decides and replaces.

Conditions are decided and functions replaced by moto; only what a reference becomes is chosen here, so that tests can
name it: ``!Ref CacheTable`` is ``CacheTable``, ``!GetAtt CacheTable.Arn`` is ``CacheTable.Arn``.

    resolve(Access="open")["Resources"]["ApiStage"]["Properties"]["DefaultRouteSettings"]
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.support.sam_template import REGION, TEMPLATE, load, translate

if TYPE_CHECKING:  # its import takes a tenth of the time of collecting all tests
    from moto.cloudformation.parsing import ResourceMap

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
