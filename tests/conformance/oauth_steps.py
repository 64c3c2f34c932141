"""A client with the Python SDK that authorizes itself: TOOL_LIST, a pause, TOOL_CALL; prints the results as JSON.

    python oauth_steps.py MODE URL PAUSE_S REDIRECT_URI [CLIENT_METADATA_URL]

No person is there: the authorization server approves at once, and the client reads the code off its redirect.
``client_credentials`` as the last word, with CLIENT_ID and CLIENT_SECRET in the environment, is a machine.
"""

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata


class Storage:
    """Keeps tokens and the client in memory."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Browser:
    """Opens the URL of an authorization request, and reads the redirect."""

    answer: AuthorizationCodeResult

    async def open(self, url: str) -> None:
        location = ""
        try:
            await asyncio.to_thread(urllib.request.build_opener(NoRedirect).open, url)
        except urllib.error.HTTPError as redirect:
            with redirect:
                location = redirect.headers.get("location") or redirect.read().decode()
        query = parse_qs(urlsplit(location).query)
        assert "code" in query, location
        first = {name: values[0] for name, values in query.items()}
        self.answer = AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))

    async def read_answer(self) -> AuthorizationCodeResult:
        return self.answer


def provider(url: str, storage: Storage, redirect_uri: str, metadata_url: str) -> Any:
    if metadata_url == "client_credentials":
        return ClientCredentialsOAuthProvider(
            server_url=url,
            storage=storage,
            client_id=os.environ["CLIENT_ID"],
            client_secret=os.environ["CLIENT_SECRET"],
        )
    browser = Browser()
    return OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="oauth-steps",
            redirect_uris=[redirect_uri],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=storage,
        redirect_handler=browser.open,
        callback_handler=browser.read_answer,
        client_metadata_url=metadata_url or None,
    )


async def main(mode: str, url: str, pause_s: str, redirect_uri: str, metadata_url: str = "") -> None:
    storage = Storage()
    auth = provider(url, storage, redirect_uri, metadata_url)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        steps = [await client.call_tool("TOOL_LIST", {})]
        await asyncio.sleep(float(pause_s))
        quote = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL", "datatype": "json"}}
        steps.append(await client.call_tool("TOOL_CALL", quote))
    print(
        json.dumps(
            {
                "client_id": storage.client.client_id if storage.client else None,
                "steps": [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in steps],
            }
        )
    )


asyncio.run(main(*sys.argv[1:]))
