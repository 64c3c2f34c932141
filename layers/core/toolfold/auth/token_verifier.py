"""Check an access token: its signature, issuer, audience, client, times and purpose."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.protocol.http import Principal
from toolfold.text_safety import load_json

if TYPE_CHECKING:
    from joserfc.jwk import Key
    from joserfc.jws import CompactSignature

    from toolfold.auth.issuer_keys import Issuer
    from toolfold.settings import Settings

ALGORITHMS: Mapping[str, str] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
"""Signatures with public keys → type of key. ``none``, and HS256 with a public key as its secret, are the classic
forgeries."""

MAX_TOKEN_CHARS = 16_384
"""API Gateway accepts headers of 10 KB in all."""

LEEWAY_S = 60
"""Seconds by which the clocks of issuer and server may differ."""

_TYPES = ("jwt", "at+jwt", "application/at+jwt")
"""``typ`` in the header. RFC 9068 has the second; most issuers still write the first, or none."""

_MALFORMED = "The token is malformed, or its signature is not that of the issuer."


class InvalidToken(Exception):
    """A token is not accepted; the text says why, without a part of the token."""


class TokenVerifier:
    """Check tokens of one issuer for one audience, by the settings.

    A token without ``aud`` is accepted from the clients of the settings only, and only if it says that it is an access
    token, as those of Amazon Cognito do.
    """

    def __init__(self, settings: Settings, issuer: Issuer) -> None:
        from joserfc.errors import SecurityWarning
        from joserfc.jws import JWSRegistry

        self._issuer, self._audience = issuer, (settings.oauth_audience or settings.public_url).rstrip("/")
        self._prefixes = tuple(filter(None, (settings.oauth_scope_prefix, f"{self._audience}/")))
        self._clients = [*settings.oauth_client_ids, *filter(None, [settings.oauth_cognito_client])]
        if self._clients and settings.oauth_sign_in_client:  # its tokens never leave this server
            self._clients.append(settings.oauth_sign_in_client)
        # Unknown headers are ignored (RFC 7515, section 4). One with certificates is longer than the default.
        self._registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
        self._registry.max_header_length = MAX_TOKEN_CHARS
        # Issuers will write "EdDSA" for years to come, which RFC 9864 replaces by "Ed25519".
        warnings.filterwarnings("ignore", category=SecurityWarning)

    def verify(self, token: str) -> Principal:
        """Return who calls with ``token``.

        Raises:
            InvalidToken: It is not accepted.
            IssuerUnreachable: The issuer's keys cannot be read.
        """
        if len(token) > MAX_TOKEN_CHARS:
            raise InvalidToken("The token is too long.")
        claims = self._signed_claims(token)
        self._check_times(claims)
        self._check_origin(claims)
        return Principal(self._principal_id(claims), self._scopes(claims))

    def _signed_claims(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token whose signature is that of the issuer."""
        from joserfc.errors import JoseError
        from joserfc.jws import extract_compact

        try:
            signed = extract_compact(token.encode(), registry=self._registry)
        except (JoseError, ValueError, TypeError, RecursionError):
            raise InvalidToken(_MALFORMED) from None
        header = signed.headers()
        if not isinstance(header, dict):
            raise InvalidToken(_MALFORMED)
        key_type, key_id = ALGORITHMS.get(str(header.get("alg"))), header.get("kid")
        # "crit" and "b64" change what is signed; no issuer of access tokens uses them.
        if key_type is None or "crit" in header or "b64" in header or not isinstance(key_id, str | None):
            raise InvalidToken(_MALFORMED)
        if str(header.get("typ", "jwt")).lower() not in _TYPES:
            raise InvalidToken("The token is no access token.")
        # A key in the header itself (jwk, jku, x5u, x5c) is never used.
        if not any(self._is_signed(signed, key) for key in self._issuer.find_keys(key_type, key_id)):
            raise InvalidToken(_MALFORMED)
        try:
            claims = load_json(signed.payload or b"")  # no name may occur twice
        except (ValueError, RecursionError):
            claims = None
        if not isinstance(claims, dict):
            raise InvalidToken(_MALFORMED)
        return claims

    def _is_signed(self, signed: CompactSignature, key: Key) -> bool:
        from joserfc.errors import JoseError
        from joserfc.jws import validate_compact

        try:
            return validate_compact(signed, key, registry=self._registry)
        except (JoseError, ValueError, TypeError):  # a key for another algorithm
            return False

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        from joserfc.errors import ClaimError, ExpiredTokenError
        from joserfc.jwt import JWTClaimsRegistry

        registry = JWTClaimsRegistry(leeway=LEEWAY_S, exp={"essential": True})
        times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
        try:
            registry.validate(times)
        except ExpiredTokenError:
            raise InvalidToken("The token has expired.") from None
        except ClaimError as error:
            raise _wrong(error.claim) from None
        except (ValueError, TypeError, OverflowError):
            raise InvalidToken(_MALFORMED) from None

    def _check_origin(self, claims: Mapping[str, Any]) -> None:
        """Check for whom, by whom and what for the token was issued."""
        if claims.get("iss") != self._issuer.documents.issuer:
            raise _wrong("iss")
        is_other = str(claims.get("typ")).lower() in ("id", "refresh", "offline", "logout")  # as Keycloak has it
        if is_other or claims.get("token_use", "access") != "access":
            raise InvalidToken("The token is no access token.")
        if claims.get("cnf"):
            # A thief could use it: what binds it to its owner (DPoP, mutual TLS) is not checked here.
            raise InvalidToken("The token is bound to a key of its owner, which is not supported.")
        client = next((claims[name] for name in ("client_id", "azp", "appid", "cid") if name in claims), None)
        if self._clients and client not in self._clients:
            raise InvalidToken("The token was issued to a client that is not accepted.")
        if "aud" not in claims and self._clients and "token_use" in claims:
            return
        given = claims.get("aud")
        # Some clients add a slash at the end.
        if self._audience not in [
            str(one).removesuffix("/") for one in (given if isinstance(given, list) else [given])
        ]:
            raise _wrong("aud")

    def _principal_id(self, claims: Mapping[str, Any]) -> str:
        subject, client = claims.get("sub"), claims.get("client_id")
        if isinstance(subject, str) and subject:
            name = f"{self._issuer.documents.issuer}|{subject}"
        elif "sub" not in claims and isinstance(client, str) and client:
            name = f"{self._issuer.documents.issuer}||{client}"  # no user: a machine, by client credentials
        else:
            raise _wrong("sub")
        return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]

    def _scopes(self, claims: Mapping[str, Any]) -> frozenset[str]:
        """Return the scopes: ``scope`` (RFC 9068), ``scp`` (Entra ID, Okta), or ``roles`` (Entra ID for machines).

        A prefix names the API that a scope is of, so only ours is removed: a token for another API of the issuer must
        not be accepted here.
        """
        given = next((claims[name] for name in ("scope", "scp", "roles") if claims.get(name)), "")
        words = given if isinstance(given, list) else given.split() if isinstance(given, str) else []
        return frozenset(
            next((word.removeprefix(prefix) for prefix in self._prefixes if word.startswith(prefix)), word)
            for word in words
            if isinstance(word, str)
        )


def _wrong(claim: str) -> InvalidToken:
    return InvalidToken(f"The token's claim {claim!r} is missing or not accepted.")
