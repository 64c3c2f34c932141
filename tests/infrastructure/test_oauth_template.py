"""The parameters about access tokens: which contradict each other, and what they accept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import sam_template

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
ISSUER = {"OAuthIssuer": "https://issuer.example.com", "PublicUrl": "https://tools.example.com/mcp"}
CALLBACK = "https://claude.ai/api/mcp/auth_callback,http://localhost:3334/oauth/callback"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return dict(sam_template.load(TEMPLATE))


def holds(condition: Any, parameters: dict[str, str]) -> bool:
    [(function, given)] = condition.items()
    if function == "Fn::Equals":
        left, right = [parameters[value["Ref"]] if isinstance(value, dict) else value for value in given]
        return str(left) == str(right)
    found = [holds(inner, parameters) for inner in given]
    return {"Fn::Not": not found[0], "Fn::Or": any(found), "Fn::And": all(found)}[function]


def refusals(template: dict[str, Any], **given: str) -> list[str]:
    """The sentences with which CloudFormation refuses parameters."""
    defaults = {name: str(one.get("Default", "")) for name, one in template["Parameters"].items()}
    values = {**defaults, **given}
    return [
        assertion["AssertDescription"]
        for rule in template["Rules"].values()
        if "RuleCondition" not in rule or holds(rule["RuleCondition"], values)
        for assertion in rule["Assertions"]
        if not holds(assertion["Assert"], values)
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        ISSUER,
        {**ISSUER, "AlphaVantageApiKey": "key"},
        {**ISSUER, "OAuthAudience": "api://x", "OAuthScopePrefix": "api://x/", "OAuthClientIds": "one,two"},
        {**ISSUER, "OAuthCognitoClientId": "1example23456789", "OAuthRedirectUris": CALLBACK},
    ],
)
def test_parameters_that_go_together_are_accepted(template: dict[str, Any], given: dict[str, str]) -> None:
    assert refusals(template, **given) == []
    for name, value in given.items():
        assert re.fullmatch(template["Parameters"][name].get("AllowedPattern", ".*"), value), name


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"OAuthIssuer": "https://issuer.example.com"}, "PublicUrl"),
        *(
            ({name: "x"}, "OAuthIssuer")
            for name in (
                "OAuthAudience",
                "OAuthScopePrefix",
                "OAuthClientIds",
                "OAuthCognitoClientId",
                "OAuthRedirectUris",
            )
        ),
        ({**ISSUER, "OAuthCognitoClientId": "x"}, "OAuthRedirectUris"),
        ({**ISSUER, "OAuthRedirectUris": CALLBACK}, "OAuthCognitoClientId"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused_in_a_sentence(
    template: dict[str, Any], given: dict[str, str], parameter: str
) -> None:
    found = refusals(template, **given)
    assert found
    assert any(parameter in sentence for sentence in found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OAuthIssuer", "http://issuer.example.com"),
        ("OAuthIssuer", "https://issuer.example.com?x"),
        ("PublicUrl", "tools.example.com/mcp"),
        ("OAuthScopePrefix", "two words/"),
        ("OAuthScopePrefix", 'quote"/'),
        ("OAuthClientIds", "one, two"),
        ("OAuthCognitoClientId", "arn:aws:x"),
        ("OAuthRedirectUris", "https://*.example.com/callback"),
        ("OAuthRedirectUris", "https://a.example.com/x#y"),
    ],
)
def test_values_of_another_form_are_refused(template: dict[str, Any], name: str, value: str) -> None:
    assert not re.fullmatch(template["Parameters"][name]["AllowedPattern"], value)
