"""Check an access token: its signature, issuer, audience, client, times and purpose."""

from __future__ import annotations

import binascii
import hashlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.protocol.http import Principal
from toolfold.text_safety import load_json

if TYPE_CHECKING:
    from joserfc.jws import CompactSignature

    from toolfold.auth.issuer_keys import Issuer

ALGORITHMS: Mapping[str, str] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
"""Signatures with public keys → type of key. ``none``, and HS256 with a public key as its secret, are the classic
forgeries."""

MAX_TOKEN_CHARS = 16_384
"""API Gateway accepts headers of 10 KB in all."""

MAX_CANDIDATES = 50
"""Keys that are tried for a token that names none."""

LEEWAY_S = 60
"""Seconds by which the clocks of issuer and server may differ."""

_TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""``typ`` in the header. RFC 9068 has the third; most issuers still write the second."""

_OTHER_PURPOSES = ("id", "refresh", "offline", "logout")
"""The claim ``typ`` of Keycloak in what is no access token."""

_MALFORMED = "The token is malformed, or its signature is not that of the issuer."


class InvalidToken(Exception):
    """A token is not accepted; the text says why, without a part of the token."""


class TokenRules(NamedTuple):
    """What tokens must have.

    Attributes:
        issuer: what ``iss`` must be.
        audience: what ``aud`` must be or contain (RFC 8707).
        client_ids: the clients whose tokens are accepted; empty: all of the issuer. A token without ``aud`` is accepted
            from these only, and only if it says that it is an access token, as those of Amazon Cognito do.
        scope_prefix: what the issuer writes before each scope.
    """

    issuer: str
    audience: str
    client_ids: tuple[str, ...] = ()
    scope_prefix: str = ""


class TokenVerifier:
    """Check tokens of one issuer for one audience."""

    def __init__(self, rules: TokenRules, issuer: Issuer) -> None:
        from joserfc.errors import SecurityWarning
        from joserfc.jws import JWSRegistry

        self._rules, self._issuer = rules, issuer
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
            part = token.partition(".")[0].replace("-", "+").replace("_", "/")
            header = _parse_object(binascii.a2b_base64(part + "=" * (-len(part) % 4), strict_mode=True))
        except (JoseError, ValueError, TypeError, RecursionError):
            raise InvalidToken(_MALFORMED) from None
        key_type, key_id = ALGORITHMS.get(str(header.get("alg"))), header.get("kid")
        # "crit" and "b64" change what is signed; no issuer of access tokens uses them.
        if key_type is None or "crit" in header or "b64" in header or not isinstance(key_id, str | None):
            raise InvalidToken(_MALFORMED)
        kind = header.get("typ")
        if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
            raise InvalidToken("The token is no access token.")
        # A key in the header itself (jwk, jku, x5u, x5c) is never used.
        if not self._is_signed(signed, key_type, key_id, renew=False) and (
            key_id is not None or not self._is_signed(signed, key_type, key_id, renew=True)
        ):
            raise InvalidToken(_MALFORMED)
        try:
            return _parse_object(signed.payload)
        except (ValueError, RecursionError):
            raise InvalidToken(_MALFORMED) from None

    def _is_signed(self, signed: CompactSignature, key_type: str, key_id: str | None, *, renew: bool) -> bool:
        from joserfc.errors import JoseError
        from joserfc.jws import validate_compact

        for key in self._issuer.find_keys(key_type, key_id, renew=renew)[:MAX_CANDIDATES]:
            try:
                if validate_compact(signed, key, registry=self._registry):
                    return True
            except (JoseError, ValueError, TypeError):  # a key for another algorithm
                continue
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
        rules = self._rules
        if claims.get("iss") != rules.issuer:
            raise _wrong("iss")
        if claims.get("token_use", "access") != "access" or str(claims.get("typ")).lower() in _OTHER_PURPOSES:
            raise InvalidToken("The token is no access token.")
        if claims.get("cnf"):
            # A thief could use it: what binds it to its owner (DPoP, mutual TLS) is not checked here.
            raise InvalidToken("The token is bound to a key of its owner, which is not supported.")
        client = next((claims[name] for name in ("client_id", "azp", "appid", "cid") if name in claims), None)
        if rules.client_ids and client not in rules.client_ids:
            raise InvalidToken("The token was issued to a client that is not accepted.")
        if "aud" not in claims and rules.client_ids and "token_use" in claims:
            return
        given = claims.get("aud")
        audiences = given if isinstance(given, list) else [given]
        # Some clients add a slash at the end.
        expected = rules.audience.removesuffix("/")
        if not any(isinstance(one, str) and one.removesuffix("/") == expected for one in audiences):
            raise _wrong("aud")

    def _principal_id(self, claims: Mapping[str, Any]) -> str:
        subject, client = claims.get("sub"), claims.get("client_id")
        if isinstance(subject, str) and subject:
            name = f"{self._rules.issuer}|{subject}"
        elif "sub" not in claims and isinstance(client, str) and client:
            name = f"{self._rules.issuer}||{client}"  # no user: a machine, by client credentials
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
        prefixes = [one for one in (self._rules.scope_prefix, f"{self._rules.audience.rstrip('/')}/") if one]
        return frozenset(
            next((word.removeprefix(prefix) for prefix in prefixes if word.startswith(prefix)), word)
            for word in words
            if isinstance(word, str)
        )


def _wrong(claim: str) -> InvalidToken:
    return InvalidToken(f"The token's claim {claim!r} is missing or not accepted.")


def _parse_object(content: bytes | None) -> dict[str, Any]:
    """Return a JSON object in which no name occurs twice.

    Raises:
        ValueError: It is something else.
    """
    found = load_json(content or b"")
    if not isinstance(found, dict):
        raise ValueError
    return found
