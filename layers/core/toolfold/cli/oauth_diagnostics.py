"""The checks of ``toolfold doctor`` for access tokens: the settings against what the issuer publishes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import IssuerDocuments, UnusableDocument, new_deadline, usable_keys
from toolfold.auth.resource_server import SCOPES, WELL_KNOWN
from toolfold.cli.environment import install_command
from toolfold.cli.output import Finding
from toolfold.network.session import HttpClient
from toolfold.settings import Settings

_ok, _note, _problem = (partial(Finding, status, "issuer") for status in ("ok", "note", "problem"))


def diagnose_issuer(settings: Settings) -> Iterator[Finding]:
    """Read the metadata and the keys of the issuer, and compare them with the settings."""
    if importlib.util.find_spec("joserfc") is None:
        yield _problem("Access tokens are checked with joserfc.", install_command("oauth"))
        return
    client = HttpClient()
    documents = IssuerDocuments(settings.oauth_issuer, lambda: client)
    try:
        metadata = documents.metadata(new_deadline())
        if keys := usable_keys(documents.json(metadata.get("jwks_uri"), new_deadline())):
            yield _ok(f"{documents.issuer} publishes {len(keys)} keys.")
        else:
            yield _problem(
                f"{documents.issuer} publishes no key that can verify a signature.",
                "Let it sign access tokens with RSA of 2048 bits or more, an elliptic curve, or Ed25519.",
            )
        yield from _clients(settings, metadata)
        yield from _tokens(settings, metadata)
        yield _public_url(settings, documents)
    except UnusableDocument as error:
        yield _problem(
            f"{settings.oauth_issuer}: {error}.",
            "Set TOOLFOLD_OAUTH_ISSUER as the issuer's metadata spell it, with or without a slash at the end.",
        )
    finally:
        client.close()


def _clients(settings: Settings, metadata: Mapping[str, Any]) -> Iterator[Finding]:
    if settings.oauth_cognito_client:
        missing = [name for name in ("authorization_endpoint", "token_endpoint") if not metadata.get(name)]
        if missing:
            step = "Give the user pool a domain, in the console of Cognito."
            yield _problem(f"The user pool has no {missing[0]}.", step)
        else:
            yield _ok("Clients register here and get the client of the user pool.")
        return
    if "S256" not in (metadata.get("code_challenge_methods_supported") or ()):
        yield _problem(
            "The issuer does not announce PKCE with S256, so MCP clients refuse it.",
            "With Amazon Cognito set TOOLFOLD_OAUTH_COGNITO_CLIENT; with another issuer turn PKCE on.",
        )
    if metadata.get("client_id_metadata_document_supported") is True:
        yield _ok("The issuer reads Client ID Metadata Documents: clients need no registration.")
    elif metadata.get("registration_endpoint"):
        yield _ok("Clients register themselves with the issuer.")
    else:
        yield _note(
            "The issuer neither reads Client ID Metadata Documents nor lets clients register themselves.",
            "Create a client there, and enter its id where you connect each client.",
        )


def _tokens(settings: Settings, metadata: Mapping[str, Any]) -> Iterator[Finding]:
    """Check what can be known of the tokens before there is one."""
    has_no_audience = ".amazonaws.com/" in settings.oauth_issuer and "cognito-idp" in settings.oauth_issuer
    if has_no_audience and not (settings.oauth_client_ids or settings.oauth_cognito_client):
        yield _problem(
            "Access tokens of Amazon Cognito have no audience, so none is accepted.",
            "Name the app clients in TOOLFOLD_OAUTH_CLIENT_IDS, or set TOOLFOLD_OAUTH_COGNITO_CLIENT.",
        )
    announced = metadata.get("scopes_supported")
    wanted = [f"{settings.oauth_scope_prefix}{scope}" for scope in SCOPES]
    # Cognito announces its own scopes only, and so do others that have scopes of resources.
    if isinstance(announced, list) and not has_no_audience and not any(scope in announced for scope in wanted):
        yield _note(
            f"The issuer does not announce the scope {wanted[0]}.",
            "Define the scopes there, or set TOOLFOLD_OAUTH_SCOPE_PREFIX to what it writes before them.",
        )
    if settings.oauth_audience and settings.oauth_audience != settings.public_url:
        yield _note(
            f"Tokens must be for {settings.oauth_audience}, but clients request them for {settings.public_url}.",
            "Leave TOOLFOLD_OAUTH_AUDIENCE empty where the issuer knows the parameter resource (RFC 8707).",
        )


def _public_url(settings: Settings, documents: IssuerDocuments) -> Finding:
    """Read the metadata of this deployment as its clients do."""
    parts = urlsplit(settings.public_url)
    url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
    try:
        found = IssuerDocuments(settings.public_url, documents.http_client).json(url, new_deadline())
    except UnusableDocument as error:
        return _note(
            f"{url} cannot be read: {error}.",
            "Clients look there. Deploy first; TOOLFOLD_PUBLIC_URL must be the endpoint's URL without a stage.",
        )
    resource = found.get("resource") if isinstance(found, dict) else None
    if resource != settings.public_url:
        return _problem(
            f"{url} describes {str(resource)[:200]!a}, not {settings.public_url}.",
            "Set TOOLFOLD_PUBLIC_URL here as it is set in the deployment.",
        )
    return _ok(f"{settings.public_url} tells clients about its issuer.")
