"""``source add mcp --sign-in``: find out where the users of an MCP server sign in, and register toolfold there.

As the specification of MCP wants it: the server names its issuer (RFC 9728), the issuer its endpoints (RFC 8414), and
it registers clients that it does not know (RFC 7591).
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import MAX_BYTES, TIMEOUT_S, IssuerDocuments, UnusableDocument, new_deadline
from toolfold.catalog.text_checks import host_of
from toolfold.errors import ToolfoldError
from toolfold.network.errors import TransportError
from toolfold.network.session import HttpClient

_METADATA = re.compile(r'resource_metadata="([^"]+)"')
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


class Registration(NamedTuple):
    """How users sign in at a server.

    Attributes:
        oauth2: ``auth.oauth2`` of source.yaml.
        client: the id of the registered client, and its secret behind a colon where it has one; empty: the issuer
            registers none, which a person has to do.
        redirect_uri: where the issuer sends users.
    """

    oauth2: dict[str, Any]
    client: str
    redirect_uri: str


def register(url: str) -> Registration:
    """Register toolfold for the users of this machine at the issuer of the MCP server at ``url``.

    Raises:
        ToolfoldError: the server or its issuer does not say what is needed.
    """
    http_client = HttpClient()
    try:
        resource = _resource(url, http_client)
        issuer = next(iter(resource.get("authorization_servers") or ()), None) or _origin(url)
        metadata = IssuerDocuments(str(issuer), lambda: http_client).metadata(new_deadline())
        oauth2 = _endpoints(metadata)
        oauth2 |= {"redirect_port": _free_port(), "resource": str(resource.get("resource") or url)}
        scopes = resource.get("scopes_supported")
        if isinstance(scopes, list) and scopes:
            oauth2["scopes"] = list(map(str, scopes))
        redirect_uri = f"http://127.0.0.1:{oauth2['redirect_port']}/callback"
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["none"]
        method = next((one for one in ("none", "client_secret_basic", "client_secret_post") if one in methods), "none")
        if method == "client_secret_post":
            oauth2["client_authentication"] = "body"
        endpoint = metadata.get("registration_endpoint")
        client = "" if endpoint is None else _register(str(endpoint), redirect_uri, method, http_client)
        return Registration(oauth2, client, redirect_uri)
    except (UnusableDocument, TransportError) as error:
        reason = str(error) if isinstance(error, UnusableDocument) else type(error).__name__
        raise ToolfoldError(
            f"Where the users of {_origin(url)} sign in cannot be read: {reason}. If they do not sign in, leave out "
            "--sign-in; if they do, write auth.oauth2 into source.yaml."
        ) from None
    finally:
        http_client.close()


def _resource(url: str, http_client: HttpClient) -> Mapping[str, Any]:
    """Return the metadata of the server: where its refusal names them, else at the places of RFC 9728."""
    documents = IssuerDocuments(url, lambda: http_client)
    refused = _send(http_client, "GET", url)
    named = _METADATA.search(refused.headers.get("www-authenticate", ""))
    origin, path = _origin(url), urlsplit(url).path.rstrip("/")
    places = [named[1]] if named else []
    for place in dict.fromkeys([*places, f"{origin}{_WELL_KNOWN}{path}", f"{origin}{_WELL_KNOWN}"]):
        try:
            found = documents.json(place, new_deadline())
        except UnusableDocument:
            continue
        if isinstance(found, dict):
            return found
    return {}  # a server of 2025-03-26 is its own issuer


def _endpoints(metadata: Mapping[str, Any]) -> dict[str, Any]:
    found = {"grant": "authorization_code"}
    for name, key in (("authorization_url", "authorization_endpoint"), ("token_url", "token_endpoint")):
        if not host_of(str(metadata.get(key) or "")):
            raise UnusableDocument(f"its metadata name no {key}")
        found[name] = str(metadata[key])
    if "S256" not in (metadata.get("code_challenge_methods_supported") or ()):
        raise UnusableDocument("its metadata do not have S256 among code_challenge_methods_supported")
    if host_of(str(metadata.get("revocation_endpoint") or "")):
        found["revocation_url"] = str(metadata["revocation_endpoint"])
    return found


def _register(endpoint: str, redirect_uri: str, method: str, http_client: HttpClient) -> str:
    wanted = {
        "client_name": "toolfold",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }
    if not host_of(endpoint):
        raise UnusableDocument("its registration endpoint is not one of HTTPS")
    response = _send(http_client, "POST", endpoint, json.dumps(wanted).encode())
    try:
        answer: Any = json.loads(response.body)
    except (ValueError, RecursionError):
        answer = None
    client = answer.get("client_id") if isinstance(answer, dict) else None
    if response.status not in (200, 201) or not isinstance(client, str) or not client:
        raise UnusableDocument(f"its registration of clients answers with HTTP status {response.status}")
    secret = answer.get("client_secret")
    return f"{client}:{secret}" if isinstance(secret, str) and secret else client


def _send(http_client: HttpClient, method: str, url: str, body: bytes | None = None) -> Any:
    headers = {"accept": "application/json, text/event-stream"} | ({"content-type": "application/json"} if body else {})
    return http_client.request(
        method,
        url,
        headers=headers,
        body=body,
        deadline=new_deadline(),
        connect_timeout_s=TIMEOUT_S,
        max_bytes=MAX_BYTES,
        idempotent=False,
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _free_port() -> int:
    """Return a port for the callback: some issuers accept no other than the registered one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
