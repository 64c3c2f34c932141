"""toolfold as an OAuth resource server: what a caller without a valid token is answered, and the metadata for it.

The MCP specification requires RFC 9728: a 401 names the URL of the protected-resource metadata, which names the issuer.
API Gateway's REST APIs and function URLs rename ``WWW-Authenticate``, so the body repeats it, and the metadata is at
the well-known path as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.auth.cognito_shim import CognitoShim
from toolfold.auth.issuer_keys import IssuerDocuments, IssuerKeys, IssuerUnreachable, unavailable
from toolfold.auth.token_verifier import InvalidToken, TokenRules, TokenVerifier
from toolfold.protocol.http import Headers, Principal, Request, Response
from toolfold.protocol.public_documents import json_document

if TYPE_CHECKING:
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

WELL_KNOWN = "/.well-known/oauth-protected-resource"

SCOPES = ("tools:read", "tools:call", "tools:write")
"""To list and describe tools; to call those that only read; to call those that write."""

PREMIUM_SCOPE = "tools:premium"
"""To call tools that need a premium plan, where the settings require it. Not every issuer has it, and a client that
requests a scope which the issuer does not have may get no token at all."""

_FIRST_SCOPES = frozenset(SCOPES[:2])
"""What a client should request at first."""


class ResourceServer:
    """Check the bearer token of each request.

    Args:
        public_url: The URL of the MCP endpoint as clients know it: the ``resource``.
        issuer: The URL of the authorization server, for clients.
        keys: The keys of the issuer.
        verifier: Checks tokens.
        scopes: The scopes that calls may need.
        scope_prefix: What clients write before each scope.
        shim: Answers for Amazon Cognito; None: the issuer is another.
    """

    def __init__(
        self,
        public_url: str,
        issuer: str,
        keys: IssuerKeys,
        verifier: TokenVerifier,
        *,
        scopes: Sequence[str] = SCOPES,
        scope_prefix: str = "",
        shim: CognitoShim | None = None,
    ) -> None:
        self._keys, self._verifier, self._shim = keys, verifier, shim
        self._scopes, self._scope_prefix = scopes, scope_prefix
        parts = urlsplit(public_url)
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
        self._metadata_paths = (WELL_KNOWN, WELL_KNOWN + parts.path.rstrip("/"))
        self._metadata = {
            "resource": public_url,
            "authorization_servers": [issuer],
            "scopes_supported": self._named(scopes).split(),
            "bearer_methods_supported": ["header"],
            "resource_name": "toolfold",
        }

    def reset(self) -> None:
        """Drop what was read from the issuer."""
        self._keys.reset()
        if self._shim is not None:
            self._shim.reset()

    def respond_without_token(self, request: Request) -> Response | None:
        """Return the response to a request that needs no token, or None for one of another path."""
        path = request.path.rstrip("/")
        # That of a profile, one level below, is the same resource: its tokens are for the endpoint.
        if path in self._metadata_paths or path.rpartition("/")[0] == self._metadata_paths[1] != WELL_KNOWN:
            return json_document(request, self._metadata)
        if self._shim is not None and path in self._shim.paths:
            return self._shim.respond(request)
        return None

    def authenticate(self, request: Request) -> Principal | Response:
        """Return who calls, or the response to a request without a valid token."""
        given = [value.strip() for name, value in request.headers if name == "authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return self._challenge(401, "", "Send an access token of the issuer as Authorization: Bearer TOKEN.")
        try:
            return self._verifier.verify(token.strip())
        except InvalidToken as error:
            return self._challenge(401, "invalid_token", str(error))
        except IssuerUnreachable as error:
            return unavailable(error.retry_after_s)

    def forbid(self, scope: str, caller: Principal) -> Response:
        """Return the response to a valid token that lacks ``scope``, one or several (RFC 6750, section 3.1).

        It names all that the next token needs: some clients request exactly that, and would lose what they have.
        """
        needed = self._named({*caller.scopes, *scope.split(), SCOPES[0]})
        return self._challenge(403, "insufficient_scope", f"The token lacks the scope {scope}.", needed)

    def _named(self, scopes: Collection[str]) -> str:
        """Return those of our scopes that are in ``scopes``, as clients request them."""
        return " ".join(f"{self._scope_prefix}{one}" for one in self._scopes if one in scopes)

    def _challenge(self, status: int, error: str, description: str, scope: str = "") -> Response:
        fields = {"resource_metadata": self._metadata_url, "scope": scope or self._named(_FIRST_SCOPES)}
        if error:
            fields |= {"error": error, "error_description": description}
        challenge = "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in fields.items())
        body = {"error": error or "missing_token", "error_description": description, **fields}
        headers: Headers = (
            ("content-type", "application/json"),
            ("www-authenticate", challenge),
            ("access-control-expose-headers", "WWW-Authenticate"),
        )
        return Response(status, headers, json.dumps(body).encode(), {"refused": str(status)})


def _quotable(text: str) -> str:
    return text.replace("\\", "").replace('"', "'")


def create_resource_server(settings: Settings, get_http_client: Callable[[], HttpClient]) -> ResourceServer:
    """Return what checks the tokens of ``settings.oauth_issuer``. Nothing is read from it yet."""
    documents = IssuerDocuments(settings.oauth_issuer, get_http_client)
    keys = IssuerKeys(documents)
    shim_client = settings.oauth_cognito_client
    rules = TokenRules(
        settings.oauth_issuer,
        settings.oauth_audience or settings.public_url,
        (*settings.oauth_client_ids, *([shim_client] if shim_client else ())),
        settings.oauth_scope_prefix,
    )
    scopes = (*SCOPES, PREMIUM_SCOPE) if settings.oauth_premium_scope else SCOPES
    parts = urlsplit(settings.public_url)
    origin, shim = f"{parts.scheme}://{parts.netloc}", None
    if shim_client:
        requested = ("openid", *(f"{settings.oauth_scope_prefix}{scope}" for scope in scopes))
        shim = CognitoShim(origin, documents, shim_client, settings.oauth_redirect_uris, requested)
    return ResourceServer(
        settings.public_url,
        origin if shim_client else settings.oauth_issuer,
        keys,
        TokenVerifier(rules, keys),
        scopes=scopes,
        scope_prefix=settings.oauth_scope_prefix,
        shim=shim,
    )
