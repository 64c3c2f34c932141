"""``toolfold source sign-in`` and ``sign-out``, and ``source add mcp --sign-in``: the user's own tokens at a source.

An MCP server is added as its specification wants it: the server names its issuer (RFC 9728), the issuer its endpoints
(RFC 8414), and it registers clients that it does not know (RFC 7591).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolfold.app import build_app
from toolfold.auth.issuer_keys import MAX_BYTES, TIMEOUT_S, IssuerDocuments, UnusableDocument, new_deadline
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.catalog.text_checks import host_of
from toolfold.cli.application import Options
from toolfold.cli.output import print_message
from toolfold.cli.serve import has_browser, open_browser
from toolfold.errors import ToolfoldError
from toolfold.execution.api_keys import resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.execution.user_tokens import UserTokens
from toolfold.fuzzy import did_you_mean
from toolfold.network.errors import TransportError
from toolfold.network.session import HttpClient
from toolfold.settings import Settings

_METADATA = re.compile(r'resource_metadata="([^"]+)"')
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_METHODS = ("none", "client_secret_basic", "client_secret_post")
"""How a client authenticates at the token endpoint, the one that needs no secret first."""


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
        documents = IssuerDocuments(str(issuer), lambda: http_client)
        metadata = documents.metadata(new_deadline())
        with socket.create_server(
            ("127.0.0.1", 0)
        ) as listener:  # some issuers accept no other port than the registered
            port = int(listener.getsockname()[1])
        oauth2 = _endpoints(metadata)
        oauth2 |= {"redirect_port": port, "resource": str(resource.get("resource") or url)}
        scopes = resource.get("scopes_supported")
        if isinstance(scopes, list) and scopes:
            oauth2["scopes"] = list(map(str, scopes))
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["none"]
        method = next((one for one in _METHODS if one in methods), "none")
        if method == "client_secret_post":
            oauth2["client_authentication"] = "body"
        redirect_uri = f"http://127.0.0.1:{port}/callback"
        endpoint = metadata.get("registration_endpoint")
        client = "" if endpoint is None else _register(endpoint, redirect_uri, method, documents)
        return Registration(oauth2, client, redirect_uri)
    except (UnusableDocument, TransportError) as error:
        reason = error.reason if isinstance(error, TransportError) else error
        raise ToolfoldError(
            f"Where the users of {_origin(url)} sign in cannot be read: {reason}. If they do not sign in, leave out "
            "--sign-in; if they do, write auth.oauth2 into source.yaml."
        ) from None
    finally:
        http_client.close()


def _resource(url: str, http_client: HttpClient) -> Mapping[str, Any]:
    """Return the metadata of the server: where its refusal names them, else at the places of RFC 9728."""
    refused = http_client.request(
        "POST",
        url,
        headers={"accept": "application/json, text/event-stream", "content-type": "application/json"},
        body=b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        deadline=new_deadline(),
        connect_timeout_s=TIMEOUT_S,
        max_bytes=MAX_BYTES,
    )
    named = _METADATA.search(refused.headers.get("www-authenticate", ""))
    places = [f"{_origin(url)}{_WELL_KNOWN}{urlsplit(url).path.rstrip('/')}", f"{_origin(url)}{_WELL_KNOWN}"]
    documents = IssuerDocuments(url, lambda: http_client)
    for place in dict.fromkeys([named[1], *places] if named else places):
        with suppress(UnusableDocument):
            found = documents.json(place, new_deadline())
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


def _register(endpoint: Any, redirect_uri: str, method: str, documents: IssuerDocuments) -> str:
    wanted = {
        "client_name": "toolfold",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }
    try:
        answer = documents.json(endpoint, new_deadline(), wanted)
    except UnusableDocument as error:
        raise UnusableDocument(f"its registration of clients does not answer: {error}") from None
    client, secret = (answer.get("client_id"), answer.get("client_secret")) if isinstance(answer, dict) else ("", "")
    if not isinstance(client, str) or not client:
        raise UnusableDocument("its registration of clients returns no client_id")
    return f"{client}:{secret}" if isinstance(secret, str) and secret else client


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def sign_in(options: Options) -> int:
    """Print the link, open it where there is a browser, and wait until the sign-in has ended."""
    tokens, source, client = _open(options.id)
    begun = tokens.begin(source, client)
    print_message(f"Open this link to sign in to {source.title}:\n  {begun.url}")
    if has_browser():
        open_browser(begun.url)
    with suppress(KeyboardInterrupt):
        begun.wait()
    if not begun.is_signed_in:
        raise ToolfoldError(f"Not signed in to {source.title}: the link was not used in time, or access was refused.")
    print(f"Signed in to {source.title}.")
    return 0


def sign_out(options: Options) -> int:
    """Revoke the tokens and delete them."""
    tokens, source, client = _open(options.id)
    had_tokens = tokens.sign_out(source, client)
    print(f"Signed out of {source.title}." if had_tokens else f"You were not signed in to {source.title}.")
    return 0


def _open(source_id: str) -> tuple[UserTokens, Source, str]:
    settings = Settings.from_environment()
    app = build_app(settings)
    sources = {source.id: source for source in app.catalog_store().sources if source.signs_in}
    if source_id not in sources:
        step = did_you_mean(source_id, sources).strip() or "Its auth needs oauth2 with grant: authorization_code."
        raise ToolfoldError(f"The catalog has no source {source_id} at which a user signs in. {step}")
    source, services = sources[source_id], app.executor.services
    AllowList(settings).check(source)
    return services.user_tokens, source, resolve_api_key(source, NO_CREDENTIALS, services.secret_provider)
