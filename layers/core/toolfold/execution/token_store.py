"""What is stored of the sign-ins of users, and the links by which callers of a shared server sign in.

Records are in a SQLite file of the user, or in the DynamoDB table of the cache. Each is encrypted: a JSON Web
Encryption (RFC 7516) by AES-256-GCM, bound to its name. The file has its key beside it, so that a copy of it, or of a
log or cache, contains no token; who can read the whole folder as this user can read the tokens. The key for the table
is made of a secret that the table does not have. A record that is lost is a user who signs in again.

A link has a ticket, and each step of a sign-in a cookie. Both are encrypted and name the caller, who has an access
token, and the source, so that any process continues what another one has begun; that each is used once is recorded in
the table. The pages are in ``explorer.sign_in_pages``.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from toolfold.cache.records import (
    Locked,
    Records,
    Unavailable,
    given_secret,
    own_secret,
    records_in_file,
    records_in_table,
)
from toolfold.models import Tokens
from toolfold.sources.http_api.authentication import is_token

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

_DAY_S = 86_400
_KEPT_S = 90 * _DAY_S
"""Seconds after which a record that was not written again is deleted: as long as many refresh tokens work unused."""

_LOCK_MARGIN_S = 5.0
"""Seconds for which a lock outlives what it was taken for: a process that has ended keeps it no longer."""

_POLL_S = 0.1
_ALGORITHMS = ("dir", "A256GCM")


class TokenStore:
    """Tokens by name. Safe to use from many threads and processes.

    Args:
        records: where they are stored.
        get_key: returns the key of the encryption.
        now: seconds since 1970.
        kept_s: seconds for which a record is stored that is not written again.

    Each method raises Unavailable where the store or the key cannot be used.
    """

    def __init__(
        self, records: Records, get_key: Callable[[], bytes], now: Callable[[], float], kept_s: float = _KEPT_S
    ) -> None:
        self._run, self._get_key, self._now, self._kept_s = records.run, get_key, now, kept_s

    def read(self, name: str) -> Tokens | None:
        """Return a record; None where it is absent, damaged, or encrypted with another key."""
        text = self._run(lambda store: store.get(_row(name)))
        record = (decrypt_record(name, text, self._get_key()) if text else None) or {}
        access: Any = record.get("access_token")
        expires_at: Any = record.get("expires_at")
        others = [record.get("refresh_token", ""), record.get("code", "")]
        is_number = type(expires_at) in (int, float) and math.isfinite(expires_at)
        if not is_token(access) or not is_number or not all(one == "" or is_token(one) for one in others):
            return None
        return Tokens(access, expires_at, *others)

    def write(self, name: str, tokens: Tokens) -> None:
        """Store a record, within :meth:`locked`."""
        self._put(name, encrypt_record(name, tokens._asdict(), self._get_key()).encode(), self._now() + self._kept_s)

    def delete(self, name: str) -> None:
        """Delete a record, within :meth:`locked`."""
        self._put(name, b"", self._now())

    @contextlib.contextmanager
    def locked(self, name: str, timeout_s: float) -> Iterator[None]:
        """Keep others from changing a record.

        Raises:
            Locked: another one has the lock.
        """
        lock, end = f"{name}/lock", time.monotonic() + timeout_s
        while not self.use_once(lock, until := self._now() + max(0.0, timeout_s) + _LOCK_MARGIN_S):
            if time.monotonic() + _POLL_S >= end:
                raise Locked
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            with contextlib.suppress(Unavailable):  # it ends in any case
                self._run(lambda store: store.acquire_slot(_row(lock), until, self._now()))

    def use_once(self, name: str, until: float) -> bool:
        """Return whether this is the first use of ``name`` until a time, in seconds since 1970."""
        return not self._run(lambda store: store.acquire_slot(_row(name), self._now(), until))

    def _put(self, name: str, content: bytes, expires_at: float) -> None:
        stored = self._run(lambda store: store.get(_row(name)))
        if stored is not None:
            self._run(lambda store: store.replace(_row(name), stored, content, expires_at))
        elif content:
            self._run(lambda store: store.add(_row(name), content, expires_at))


def local_tokens(path: str, timeout_s: float, now: Callable[[], float]) -> TokenStore:
    """Return the store of the user of this machine: a folder, which is made when it is needed first."""

    def key() -> bytes:
        return bytes.fromhex(own_secret(os.path.join(path, "key"), is_replaced=True).decode())

    return TokenStore(records_in_file(os.path.join(path, "sign-ins.sqlite"), timeout_s), key, now, 3650 * _DAY_S)


def _row(name: str) -> str:
    return f"user-token/{name}"


def encrypt_record(name: str, record: Mapping[str, Any], key: bytes) -> str:
    """Return a record, a JSON object, encrypted with a key of 32 bytes and bound to ``name``."""
    header = {"alg": "dir", "enc": "A256GCM", "kid": name}
    return jwe.encrypt_compact(header, json.dumps(record), OctKey.import_key(key), algorithms=_ALGORITHMS)


def decrypt_record(name: str, text: str | bytes, key: bytes) -> Mapping[str, Any] | None:
    """Return a record; None where it is damaged, of another name, or encrypted with another key."""
    try:
        token = jwe.decrypt_compact(text, OctKey.import_key(key), algorithms=_ALGORITHMS)
        record = json.loads(token.plaintext or b"")
    except (JoseError, ValueError, RecursionError):
        return None
    return record if token.headers().get("kid") == name and isinstance(record, dict) else None


LIFETIME_S = 600
"""Seconds in which a caller opens the link and signs in."""

Kind = Literal["ticket", "person", "source", "key"]
"""What a :class:`Step` is written into: the link, and the cookies until the issuer and the source have answered, or the
person has entered a key."""


class Step(NamedTuple):
    """Where a sign-in is. ``repr`` hides what must not be known.

    Attributes:
        owner: the id of the caller for whom it was begun.
        until: when it ends, in seconds since 1970.
        state: of the request that the browser was sent away with; empty in a ticket.
        verifier: of the same request (RFC 7636).
    """

    id: str
    source: str
    owner: str
    until: float
    state: str = ""
    verifier: str = ""

    def __repr__(self) -> str:
        return f"Step(source={self.source!r})"

    def next(self) -> Step:
        """Return the step with another state and verifier."""
        return self._replace(state=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(32))


class HostedSignIns:
    """Write and read the steps of sign-ins. One for a process; safe to use from many threads.

    ``tokens`` are the records of the callers; ``url`` is what the pages are below: ``protocol.http.SIGN_IN_PATH`` of
    this server.
    """

    def __init__(
        self, settings: Settings, aws: AwsClients, read_reference: Callable[[str], str], now: Callable[[], float]
    ) -> None:
        self._secret, self._read_reference, self._now = settings.token_secret, read_reference, now
        self.url = f"{settings.public_url.removesuffix('/').removesuffix('/mcp')}/ui/sign-in/"
        self.tokens = TokenStore(records_in_table(settings, aws), lambda: self._key("tokens"), now)

    def link(self, source: str, owner: str) -> str:
        """Return a new link, for the browser of the caller.

        Raises:
            Unavailable: the secret cannot be read.
        """
        step = Step(secrets.token_urlsafe(16), source, owner, self._now() + LIFETIME_S)
        return f"{self.url}{source}?ticket={self.write(step, 'ticket')}"

    def write(self, step: Step, kind: Kind) -> str:
        """Return a step, encrypted for one use; raises Unavailable as :meth:`link`."""
        return encrypt_record(kind, step._asdict(), self._key("steps"))

    def read(self, text: str, kind: Kind) -> Step | None:
        """Return what :meth:`write` has encrypted for this use; None where it is something else, or has ended."""
        record: Any = decrypt_record(kind, text.encode("utf-8", "replace"), self._key("steps"))
        if record is None or record.keys() != set(Step._fields):  # of another version of toolfold
            return None
        step = Step(**record)
        return step if self._now() < step.until else None

    def use(self, step: Step, kind: Kind) -> bool:
        """Return whether this is the first use of a step; raises Unavailable where that cannot be recorded."""
        return self.tokens.use_once(f"{step.id}/{kind}", step.until)

    def _key(self, purpose: str) -> bytes:
        secret = given_secret("TOOLFOLD_TOKEN_SECRET", self._secret, self._read_reference)
        return hmac.new(secret, f"toolfold {purpose} of users".encode(), hashlib.sha256).digest()
