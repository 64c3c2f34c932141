"""The picture of the architecture names what the template has: its functions, stores, their sizes and permissions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.support.resolved_stack import resolve
from tests.support.sam_template import ALL_OPTIONS

PICTURE = Path(__file__).parents[2] / "docs/images/architecture.svg"
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = ("AWS::Lambda::Function", "AWS::S3::Bucket", "AWS::DynamoDB::Table")


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    """Return the resources of a stack with everything that is optional."""
    given = {name: value for name, value in ALL_OPTIONS.items() if name != "LogRetentionDays"}
    return dict(resolve(**given)["Resources"])


@pytest.fixture(scope="module")
def picture() -> ET.Element:
    return ET.fromstring(PICTURE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def texts(picture: ET.Element) -> set[str]:
    return {text.text or "" for text in picture.iter(f"{SVG}text")}


def test_every_function_and_store_is_in_it(resources: dict[str, Any], texts: set[str]) -> None:
    assert {name for name, one in resources.items() if one["Type"] in DRAWN} <= texts


def test_the_size_of_the_function_and_the_routes_are_those_of_the_template(
    resources: dict[str, Any], texts: set[str]
) -> None:
    function = resources["GatewayFunction"]["Properties"]
    size = f"{function['MemorySize']} MB, {function['Timeout']} s"
    assert f"Lambda, {function['Runtime']}, {function['Architectures'][0]}, {size}" in texts
    assert f"kept {resources['GatewayLogGroup']['Properties']['RetentionInDays']} days" in texts
    routes = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::ApiGatewayV2::Route"]
    words = " ".join(texts)
    for route in routes:
        assert route["RouteKey"].partition(" ")[2].replace("{proxy+}", "…") in words


def test_the_actions_in_a_box_are_those_of_the_role(resources: dict[str, Any], texts: set[str]) -> None:
    allowed: dict[str, set[str]] = {}
    for policy in resources["GatewayRole"]["Properties"]["Policies"]:
        for statement in filter(None, policy["PolicyDocument"]["Statement"]):
            arns = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            for arn in arns:
                allowed.setdefault(arn.partition(".")[0], set()).update(one.partition(":")[2] for one in actions)
    for name in ("CatalogBucket", "CacheTable", "OffloadBucket"):
        actions = sorted(allowed[name])
        assert {", ".join(actions[at : at + 2]) for at in range(0, len(actions), 2)} <= texts


def test_no_box_is_wider_than_the_page(picture: ET.Element) -> None:
    for box in picture.iter(f"{SVG}rect"):
        assert float(box.get("x", "0")) + float(box.get("width", "0")) <= float(picture.get("width", "0"))
