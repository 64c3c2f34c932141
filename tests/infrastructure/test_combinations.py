"""Combinations of parameters that change the resources: no reference to what does not exist, no cycle, no lint."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint

from tests.support.combinations import ALL, OPTIONS
from tests.support.sam_template import REGION
from tests.support.stack import deciding, holds_rule, translated


def without(options: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """All parameters but those of ``options``."""
    return {name: value for name, value in ALL.items() if not any(name in given for given in options)}


def singles() -> Iterator[dict[str, str]]:
    """None, all, each one, and all but each one."""
    yield from ({}, ALL)
    for given in OPTIONS.values():
        yield given
        yield without([given])


def pairs() -> Iterator[dict[str, str]]:
    """Each two, and all but each two."""
    for one, other in itertools.combinations(OPTIONS.values(), 2):
        yield one | other
        yield without([one, other])


def consistent(template: Mapping[str, Any], parameters: Mapping[str, str]) -> bool:
    return all(holds_rule(template, rule, parameters) for rule in template["Rules"])


def references(value: Any) -> Iterator[str]:
    """The names that ``Ref``, ``Fn::GetAtt`` and ``Fn::Sub`` refer to."""
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            match key, inner:
                case "Ref", str():
                    yield inner
                case "Fn::GetAtt", [name, *_]:
                    yield name
                case "Fn::GetAtt", str():
                    yield inner.split(".")[0]
                case "Fn::Sub", _:
                    text, own = inner if isinstance(inner, list) else (inner, {})
                    yield from (name.split(".")[0] for name in re.findall(r"\$\{([^!}]+)\}", text) if name not in own)
                    yield from references(own)
                case _:
                    yield from references(inner)


def dependencies(template: Mapping[str, Any]) -> dict[str, set[str]]:
    """Logical ID → those that have to exist before it, as CloudFormation derives them."""
    found = {}
    for name, resource in template["Resources"].items():
        explicit = resource.get("DependsOn", [])
        explicit = {explicit} if isinstance(explicit, str) else set(explicit)
        found[name] = explicit | set(references({k: v for k, v in resource.items() if k != "DependsOn"}))
    return found


def problems(template: Mapping[str, Any]) -> list[str]:
    """What CloudFormation would refuse: references to nothing, and cycles."""
    resources, parameters = template["Resources"].keys(), template["Parameters"].keys()
    needed = dependencies(template)
    needed["Outputs"] = set(references(template.get("Outputs", {})))
    found = [
        f"{name} refers to {other}"
        for name, others in needed.items()
        for other in sorted(others)
        if other not in resources and other not in parameters and not other.startswith("AWS::")
    ]
    try:
        list(TopologicalSorter({name: others & resources for name, others in needed.items()}).static_order())
    except CycleError as error:
        found.append(f"cycle: {error.args[1]}")
    return found


def test_every_condition_is_part_of_a_combination() -> None:
    assert OPTIONS.keys() == translated()["Conditions"].keys()
    for condition, given in OPTIONS.items():
        assert consistent(translated(), given), condition
        assert deciding(translated(), given).conditions[condition], condition
        assert not deciding(translated(), {}).conditions[condition], condition


@pytest.mark.parametrize("combinations", [singles, pytest.param(pairs, marks=pytest.mark.slow)])
def test_no_combination_refers_to_what_it_does_not_have(combinations: Callable[[], Iterator[dict[str, str]]]) -> None:
    template, checked = translated(), 0
    for given in combinations():
        if consistent(template, given):
            assert problems(deciding(template, given).template) == [], given
            checked += 1
    assert checked > len(OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, *OPTIONS.values(), ALL], ids=["none", *OPTIONS, "all"])
def test_no_combination_has_lint(given: dict[str, str]) -> None:
    decided = deciding(translated(), given).template
    for name, value in given.items():
        decided["Parameters"][name]["Default"] = value
        decided["Parameters"][name].pop("MinValue", None)  # 0 means "none", and the resource then has no such property
    found = lint(json.dumps(decided), config=ManualArgs(regions=[REGION]))
    # A decided template has parameters and mappings that only the left out parts use.
    assert [str(one) for one in found if one.rule.id not in ("W2001", "W7001", "W8001")] == []


class TestMutated:
    """The checks find the mistakes that they are for."""

    def test_a_reference_to_a_resource_of_another_condition(self) -> None:
        template = translated()
        template["Resources"]["GatewayRole"]["Properties"]["Description"] = {"Ref": "DeploymentApplication"}
        assert problems(deciding(template, {}).template) == ["GatewayRole refers to DeploymentApplication"]
        assert problems(deciding(template, ALL).template) == []

    def test_an_output_of_another_condition(self) -> None:
        template = translated()
        del template["Outputs"]["DomainTarget"]["Condition"]
        assert problems(deciding(template, {}).template) == ["Outputs refers to ApiDomain"]

    def test_a_cycle(self) -> None:
        template = translated()
        template["Resources"]["GatewayLogGroup"]["DependsOn"] = "GatewayAlias"
        [found] = problems(deciding(template, {}).template)
        assert found.startswith("cycle: ")
