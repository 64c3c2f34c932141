"""Check an access token: its signature, issuer, audience, times and purpose."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.protocol.http import Principal

if TYPE_CHECKING:
    from toolfold.auth.issuer_keys import IssuerKeys

__all__ = ["ALGORITHMS", "InvalidToken", "TokenVerifier"]

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures with public keys. ``none``, and HS256 with a public key as its secret, are the classic forgeries."""

MAX_TOKEN_CHARS = 16_384
LEEWAY_S = 60
"""Seconds by which the clocks of issuer and server may differ."""


class InvalidToken(Exception):
    """A token is not accepted; the text says why, without a part of the token."""


class TokenVerifier:
    """Check tokens of one issuer for one audience.

    Args:
        issuer: What ``iss`` must be.
        audience: What ``aud`` must be or contain (RFC 8707).
        keys: The issuer's keys.
        now: Seconds since 1970.
    """

    def __init__(self, issuer: str, audience: str, keys: IssuerKeys, now: Callable[[], float] = time.time) -> None:
        from joserfc.errors import SecurityWarning

        self._issuer, self._audience, self._keys, self._now = issuer, audience, keys, now
        # Issuers will write "EdDSA" for years to come, which RFC 9864 replaces by "Ed25519".
        warnings.filterwarnings("ignore", category=SecurityWarning)

    def verify(self, token: str) -> Principal:
        """Return who calls with ``token``.

        Raises:
            InvalidToken: It is not accepted.
            IssuerUnavailable: The issuer's keys cannot be read.
        """
        from joserfc import jwt
        from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError

        if len(token) > MAX_TOKEN_CHARS:
            raise InvalidToken("The token is too long.")
        try:
            claims = jwt.decode(token, self._find_key, algorithms=list(ALGORITHMS)).claims
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            raise InvalidToken("The token is malformed, or its signature is not that of the issuer.") from None
        registry = jwt.JWTClaimsRegistry(
            now=lambda: int(self._now()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True, "value": self._audience},
            exp={"essential": True},
            sub={"essential": "client_id" not in claims},
        )
        try:
            registry.validate(claims)
        except ExpiredTokenError:
            raise InvalidToken("The token has expired.") from None
        except (MissingClaimError, InvalidClaimError) as error:
            raise InvalidToken(f"The token's claim {error.claim!r} is missing or not accepted.") from None
        except (JoseError, ValueError, TypeError):
            raise InvalidToken("The token's claims are not accepted.") from None
        if claims.get("token_use", "access") != "access":
            raise InvalidToken("The token is no access token.")
        subject = f"{self._issuer}|{claims.get('sub') or claims.get('client_id')}"
        return Principal(hashlib.sha256(subject.encode(errors="replace")).hexdigest()[:16], _scopes(claims))

    def _find_key(self, token: Any) -> Any:
        """Return the keys among which joserfc looks for that of ``token``."""
        key_id = token.headers().get("kid")
        return self._keys.with_key(key_id if isinstance(key_id, str) else None)


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes: ``scope`` (RFC 9068) or ``scp``, without the prefix of a resource that some issuers add."""
    given = claims.get("scope") or claims.get("scp") or ""
    words = given if isinstance(given, list) else str(given).split()
    return frozenset(word.rpartition("/")[2] for word in words if isinstance(word, str))
