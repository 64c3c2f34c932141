"""What is stored of a sign-in, and how it is encrypted: a JSON Web Encryption (RFC 7516) by AES-256-GCM."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from toolfold.sources.http_api.authentication import is_token

KEY_BYTES = 32
"""Of the key of the encryption."""

MAX_RECORD_BYTES = 100_000
"""Of an encrypted record: several times two tokens of the longest kind."""

_ALGORITHMS = ("dir", "A256GCM")


class Tokens(NamedTuple):
    """The tokens of a user at a source. ``repr`` hides them.

    Attributes:
        access_token: what calls are made with.
        expires_at: when it is used no more, in seconds since 1970.
        refresh_token: gets the next one; empty where the source gave none.
        code: the authorization code that they were issued for. It works no more, and must not appear in an answer.
    """

    access_token: str
    expires_at: float
    refresh_token: str = ""
    code: str = ""

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at!r})"


def encrypt_record(name: str, record: Mapping[str, Any], key: bytes) -> str:
    """Return a record that is bound to ``name``.

    Args:
        name: of the record.
        record: a JSON object.
        key: of :data:`KEY_BYTES` bytes.
    """
    header = {"alg": "dir", "enc": "A256GCM", "kid": name}
    return jwe.encrypt_compact(header, json.dumps(record), OctKey.import_key(key), algorithms=_ALGORITHMS)


def decrypt_record(name: str, text: str | bytes, key: bytes) -> Mapping[str, Any] | None:
    """Return a record; None where it is damaged, of another name, or encrypted with another key."""
    if len(key) != KEY_BYTES:
        return None
    try:
        token = jwe.decrypt_compact(text, OctKey.import_key(key), algorithms=_ALGORITHMS)
        record = json.loads(token.plaintext or b"")
    except (JoseError, ValueError, RecursionError):
        return None
    return record if token.headers().get("kid") == name and isinstance(record, dict) else None


def decrypt_tokens(name: str, text: str | bytes, key: bytes) -> Tokens | None:
    """Return the tokens of a record as :func:`decrypt_record` does; None also for a record with other fields."""
    record = decrypt_record(name, text, key) or {}  # of another version of toolfold, maybe
    access: Any = record.get("access_token")
    expires_at: Any = record.get("expires_at")
    others = [record.get("refresh_token", ""), record.get("code", "")]
    is_number = isinstance(expires_at, int | float) and not isinstance(expires_at, bool) and math.isfinite(expires_at)
    if not is_token(access) or not is_number or not all(one == "" or is_token(one) for one in others):
        return None
    return Tokens(access, expires_at, *others)
