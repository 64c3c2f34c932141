"""The Lambda handler with an issuer of access tokens in front of the mock API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from joserfc.jwk import RSAKey

from tests.support.issuer import Issuer
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.mock_api.server import MockApi
from toolfold.protocol.http import LogFields
from toolfold.settings import Settings
from toolfold.telemetry import FAILURES, configure
from toolfold.transports.lambda_handler import LambdaHandler

RESOURCE = "https://tools.example.com/mcp"

STRANGER = RSAKey.generate_key(2048, {"kid": "first"})
"""A key that the issuer does not have, with the id of the one that it has."""

SECOND = RSAKey.generate_key(2048, {"kid": "same"})


@dataclass
class Gateway:
    """The Lambda handler with an issuer.

    Attributes:
        issuer: The issuer of tokens.
        mock_api: The upstream.
        settings: Further settings.
        failures: The codes that were counted as failures of the deployment.
    """

    issuer: Issuer
    mock_api: MockApi
    settings: Mapping[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    handler: LambdaHandler = field(init=False)

    def __post_init__(self) -> None:
        settings = Settings.from_environment(
            {
                "TOOLFOLD_OAUTH_ISSUER": self.issuer.url,
                "TOOLFOLD_PUBLIC_URL": RESOURCE,
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.mock_api.url,
                **self.settings,
            }
        )
        self._telemetry = configure(settings)
        self.handler = LambdaHandler(build_app(settings), self._telemetry, self._note)

    def _note(self, fields: LogFields, catalog_age_s: float | None, *, is_probe: bool) -> None:
        self._telemetry.record_request(fields, catalog_age_s, is_probe=is_probe)
        self.failures.extend(code for code in FAILURES if fields.get("error") == code)

    def send(self, token: str | None, tool: str = "TOOL_LIST", arguments: Any = None, **headers: str) -> dict[str, Any]:
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        body = message("tools/call", {"name": tool, "arguments": arguments or {}})
        return self.handler(http_event(body, {**authorization, **headers}))

    def get(self, path: str, method: str = "GET") -> dict[str, Any]:
        return self.handler({**http_event(path=path, method=method), "headers": {}})

    def status(self, token: str | None) -> int:
        return int(self.send(token)["statusCode"])
