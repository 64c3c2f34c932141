"""Find out who is at a browser: the person signs in at the issuer of the access tokens, and gets a token like callers.

Authorization code with PKCE (RFC 7636, S256), which also keeps the code of another browser from being used. The access
token, not an ID token, says who it is: both are checked for the same audience, for which issuers with pairwise
subjects have the same ``sub``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from toolfold.auth.issuer_keys import IssuerDocuments, IssuerKeys, UnusableDocument, new_deadline
from toolfold.auth.resource_server import SCOPES, token_rules
from toolfold.auth.token_verifier import InvalidToken, TokenVerifier
from toolfold.catalog.text_checks import host_of
from toolfold.sources.http_api.authentication import authorization_query

if TYPE_CHECKING:
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings


class PersonCheck:
    """Send browsers to the issuer, and read who returns. Safe to use from many threads.

    Args:
        settings: the settings in force.
        get_http_client: returns the HTTP client.
    """

    def __init__(self, settings: Settings, get_http_client: Callable[[], HttpClient]) -> None:
        self.issuer, self._client = settings.oauth_issuer, settings.oauth_sign_in_client
        self._requested = {
            "scope": f"{settings.oauth_scope_prefix}{SCOPES[0]}",
            "resource": settings.oauth_audience or settings.public_url,
        }
        self._documents = IssuerDocuments(settings.oauth_issuer, get_http_client)
        self._verifier = TokenVerifier(token_rules(settings), IssuerKeys(self._documents))

    def authorization_url(self, state: str, verifier: str, redirect_uri: str) -> str:
        """Return where the browser is sent.

        Raises:
            UnusableDocument: The metadata of the issuer cannot be read.
        """
        endpoint = self._documents.metadata(new_deadline()).get("authorization_endpoint")
        if not isinstance(endpoint, str) or not host_of(endpoint):
            raise UnusableDocument("its metadata name no authorization endpoint that can be used")
        query = authorization_query(self._client, state, verifier, redirect_uri) | self._requested
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def principal_id(self, code: str, verifier: str, redirect_uri: str) -> str:
        """Return the id of the person's principal, as calls with a token of the person have it.

        Raises:
            UnusableDocument: The issuer gives no token for the code.
            InvalidToken: Its token is not accepted.
            IssuerUnreachable: The keys of the issuer cannot be read.
        """
        deadline = new_deadline()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
            "client_id": self._client,
            "resource": self._requested["resource"],
        }
        answer: Any = self._documents.json(self._documents.metadata(deadline).get("token_endpoint"), deadline, form)
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise InvalidToken("The issuer gave no access token.")
        return self._verifier.verify(token).id
