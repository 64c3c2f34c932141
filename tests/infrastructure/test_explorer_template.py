"""The web explorer of a deployment: its routes exist only where the parameter turns it on, and calls need an issuer."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.infrastructure.test_oauth_template import ISSUER, refusals
from tests.support import sam_template
from tests.support.stack import TEMPLATE, Stack, deployed

PAGE = {"/", "/ui/{proxy+}"}


@functools.cache
def written() -> dict[str, Any]:
    return sam_template.load(TEMPLATE)


def paths(stack: Stack) -> set[str]:
    return set(stack.resources["Api"]["Properties"]["Body"]["paths"])


def test_it_is_off_by_default() -> None:
    stack = deployed()
    assert not paths(stack) & PAGE
    assert not {"PageInvokePermission", "PageFilesInvokePermission"} & set(stack.resources)
    assert "ExplorerUrl" not in stack.outputs
    assert stack.resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]["TOOLFOLD_EXPLORER"] == "off"


def test_on_it_adds_two_routes_and_changes_no_other() -> None:
    stack = deployed(Explorer="read-only")
    assert paths(stack) == paths(deployed()) | PAGE
    found = stack.resources["Api"]["Properties"]["Body"]["paths"]
    assert list(found["/"]) == ["get"]
    integration = found["/"]["get"]["x-amazon-apigateway-integration"]
    assert integration == found["/mcp"]["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]
    assert stack.resources["PageInvokePermission"]["Properties"]["SourceArn"].endswith("/*/GET/")
    assert stack.resources["PageFilesInvokePermission"]["Properties"]["SourceArn"].endswith("/*/*/ui/*")
    assert stack.outputs["ExplorerUrl"] == stack.outputs["Endpoint"].removesuffix("mcp")


def test_the_throttles_are_the_same() -> None:
    stage = "ApiApiGatewayDefaultStage"
    on, off = deployed(Explorer="read-only"), deployed()
    assert on.resources[stage]["Properties"]["RouteSettings"] == off.resources[stage]["Properties"]["RouteSettings"]


@pytest.mark.parametrize(
    ("given", "is_refused"),
    [
        ({"Explorer": "calls"}, True),
        ({"Explorer": "calls", **ISSUER}, False),
        ({"Explorer": "read-only"}, False),
        ({"Explorer": "off"}, False),
    ],
)
def test_calls_from_the_page_need_an_issuer(given: dict[str, str], is_refused: bool) -> None:
    assert bool(refusals(written(), **given)) == is_refused


def test_its_values_are_strings() -> None:
    parameter = written()["Parameters"]["Explorer"]
    assert parameter["AllowedValues"] == ["off", "read-only", "calls"]
    assert parameter["Default"] == "off"
