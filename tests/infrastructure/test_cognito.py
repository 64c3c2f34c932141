"""The issuer of deploy/cognito.yaml fits what the function requires of one."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sam_template import load
from toolfold.auth.resource_server import SCOPES
from toolfold.settings import Settings
from toolfold.settings.file import read_settings

TEMPLATE = load(Path(__file__).parents[2] / "deploy/cognito.yaml")
URLS = ["https://claude.ai/api/mcp/auth_callback", "cursor://anysphere.cursor-mcp/oauth/callback"]


def properties(name: str) -> dict[str, Any]:
    return dict(TEMPLATE["Resources"][name]["Properties"])


@pytest.fixture
def pasted(tmp_path: Path) -> dict[str, str]:
    """Return the settings of the output Settings, with CloudFormation's functions evaluated."""
    text, values = TEMPLATE["Outputs"]["Settings"]["Value"]["Fn::Sub"]
    separator, urls = values["Urls"]["Fn::Join"]
    assert urls == {"Ref": "CallbackUrls"}
    file = tmp_path / "settings.toml"
    file.write_text(text.replace("${Client}", "0a1b2c").replace("${Urls}", separator.join(URLS)), encoding="utf-8")
    return read_settings(file)


def test_the_output_is_settings_that_the_function_accepts(pasted: dict[str, str]) -> None:
    issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_a"
    known = {"TOOLFOLD_OAUTH_ISSUER": issuer, "TOOLFOLD_PUBLIC_URL": "https://mcp.example.com/mcp"}
    settings = Settings.from_environment({**pasted, **known, "TOOLFOLD_ACCESS": "oauth"})
    assert (settings.oauth_cognito_client, settings.oauth_redirect_uris) == ("0a1b2c", tuple(URLS))


def test_its_client_may_request_the_scopes_that_the_function_requires(pasted: dict[str, str]) -> None:
    server = properties("ResourceServer")
    prefix = f"{server['Identifier']}/"
    assert [scope["ScopeName"] for scope in server["Scopes"]] == list(SCOPES)
    assert pasted["TOOLFOLD_OAUTH_SCOPE_PREFIX"] == prefix
    # The metadata that the function serves to clients names these.
    assert properties("Client")["AllowedOAuthScopes"] == ["openid", *(f"{prefix}{scope}" for scope in SCOPES)]


def test_its_client_is_public_and_logs_in_by_the_page_alone() -> None:
    client = properties("Client")
    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]


def test_nobody_can_sign_up() -> None:
    assert properties("UserPool")["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
