"""Make what checks access tokens, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import IssuerKeys
from toolfold.auth.issuer_metadata import IssuerDocuments
from toolfold.auth.resource_server import PREMIUM_SCOPE, SCOPES, ResourceServer
from toolfold.auth.token_verifier import TokenRules, TokenVerifier

if TYPE_CHECKING:
    from toolfold.auth.cognito_shim import CognitoShim
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

__all__ = ["create_resource_server"]


def create_resource_server(settings: Settings, get_http_client: Callable[[], HttpClient]) -> ResourceServer:
    """Return what checks the tokens of ``settings.oauth_issuer``. Nothing is read from it yet."""
    documents = IssuerDocuments(settings.oauth_issuer, get_http_client)
    keys = IssuerKeys(documents)
    shim_client = (settings.oauth_cognito_client,) if settings.oauth_cognito_client else ()
    rules = TokenRules(
        settings.oauth_issuer,
        settings.oauth_audience or settings.public_url,
        (*settings.oauth_client_ids, *shim_client),
        settings.oauth_scope_prefix,
    )
    scopes = (*SCOPES, PREMIUM_SCOPE) if settings.oauth_premium_scope else SCOPES
    parts = urlsplit(settings.public_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return ResourceServer(
        settings.public_url,
        origin if shim_client else settings.oauth_issuer,
        keys,
        TokenVerifier(rules, keys),
        scopes=scopes,
        scope_prefix=settings.oauth_scope_prefix,
        shim=_create_shim(settings, documents, origin, scopes) if shim_client else None,
    )


def _create_shim(settings: Settings, documents: IssuerDocuments, origin: str, scopes: Sequence[str]) -> CognitoShim:
    from toolfold.auth.cognito_shim import CognitoShim

    named = (f"{settings.oauth_scope_prefix}{scope}" for scope in scopes)
    return CognitoShim(
        origin, documents, settings.oauth_cognito_client, settings.oauth_redirect_uris, ("openid", *named)
    )
