"""What is stored of the sign-ins of users, and the steps by which one of them is begun and ended in a browser.

Records are in a SQLite file of the user, or in the DynamoDB table of the cache. Each is encrypted: a JSON Web
Encryption (RFC 7516) by AES-256-GCM, bound to its name. Its key is made of a secret: a file beside that of the user, so
that a copy of it, or of a log or cache, contains no token, while who can read the whole folder as this user can read
the tokens; and for the table one that the table does not have. A record that is lost is a user who signs in again.

A step is in a link or in a cookie, encrypted as well. It names the caller and the source, so that any process continues
what another one has begun; that each is used once is recorded beside the tokens.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from toolfold.cache import records_in_file, records_in_table
from toolfold.cache.stores import Locked, Records, Unavailable
from toolfold.execution.api_keys import given_secret, own_secret
from toolfold.models import SIGN_IN_S, Tokens

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

_DAY_S = 86_400
_KEPT_S, _KEPT_HERE_S = 90 * _DAY_S, 3650 * _DAY_S
"""Seconds after which a record that was not written again is deleted: as long as many refresh tokens work unused."""

_LOCK_MARGIN_S = 5.0
"""Seconds for which a lock outlives what it was taken for: a process that has ended keeps it no longer."""

_POLL_S = 0.1
_ALGORITHMS = ("dir", "A256GCM")


Kind = Literal["ticket", "person", "source", "key"]
"""What a :class:`Step` is written into: the link, and the cookies until the issuer and the source have answered, or the
person has entered a key."""


class Step(NamedTuple):
    """Where a sign-in is. ``repr`` hides what must not be known.

    Attributes:
        owner: the id of the caller for whom it was begun; empty for the user of this machine.
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


class SignInStore:
    """Tokens by name, and steps. Safe to use from many threads and processes.

    Args:
        records: where they are stored.
        get_secret: returns what the keys of the encryption are made of.
        now: seconds since 1970.
        kept_s: seconds for which tokens are stored that are not written again.

    Each method raises Unavailable where the store or the secret cannot be used.
    """

    def __init__(
        self, records: Records, get_secret: Callable[[], bytes], now: Callable[[], float], kept_s: float = _KEPT_S
    ) -> None:
        self._run, self._get_secret, self._now, self._kept_s = records.run, get_secret, now, kept_s

    def read(self, name: str) -> Tokens | None:
        """Return tokens; None where they are absent, damaged, or encrypted with another key."""
        text = self._run(lambda store: store.get(_row(name)))
        record = self._decrypt("tokens", name, text) if text else None
        try:
            return None if record is None else Tokens(**record)
        except TypeError:  # of another version of toolfold
            return None

    def write(self, name: str, tokens: Tokens) -> None:
        """Store tokens, within :meth:`locked`."""
        self._put(name, self._encrypt("tokens", name, tokens._asdict()).encode(), self._now() + self._kept_s)

    def delete(self, name: str) -> None:
        """Delete tokens, within :meth:`locked`."""
        self._put(name, b"", self._now())

    @contextlib.contextmanager
    def locked(self, name: str, timeout_s: float) -> Iterator[None]:
        """Keep others from changing tokens.

        Raises:
            Locked: another one has the lock.
        """
        lock, end = f"{name}/lock", time.monotonic() + timeout_s
        while not self._use_once(lock, until := self._now() + max(0.0, timeout_s) + _LOCK_MARGIN_S):
            if time.monotonic() + _POLL_S >= end:
                raise Locked
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            with contextlib.suppress(Unavailable):  # it ends in any case
                self._run(lambda store: store.acquire_slot(_row(lock), until, self._now()))

    def first_step(self, source: str, owner: str = "") -> Step:
        """Return the first step of a new sign-in."""
        return Step(secrets.token_urlsafe(16), source, owner, self._now() + SIGN_IN_S)

    def seal(self, step: Step, kind: Kind) -> str:
        """Return a step, encrypted for one use."""
        return self._encrypt("steps", kind, step._asdict())

    def unseal(self, text: str, kind: Kind) -> Step | None:
        """Return what :meth:`seal` has encrypted for this use; None where it is something else, or has ended."""
        record: Any = self._decrypt("steps", kind, text.encode("utf-8", "replace"))
        if record is None or record.keys() != set(Step._fields):  # of another version of toolfold
            return None
        step = Step(**record)
        return step if self._now() < step.until else None

    def returned(self, query: Mapping[str, str], cookie: str, kind: Kind) -> Step | None:
        """Return the step of a browser that returns with ``state``; None where it was not sent away for that."""
        step = self.unseal(cookie, kind)
        given = query.get("state", "").encode("utf-8", "surrogatepass")
        return step if step is not None and step.state and hmac.compare_digest(given, step.state.encode()) else None

    def use(self, step: Step, kind: Kind) -> bool:
        """Return whether this is the first use of a step."""
        return self._use_once(f"{step.id}/{kind}", step.until)

    def _use_once(self, name: str, until: float) -> bool:
        return not self._run(lambda store: store.acquire_slot(_row(name), self._now(), until))

    def _put(self, name: str, content: bytes, expires_at: float) -> None:
        stored = self._run(lambda store: store.get(_row(name)))
        if content or stored:
            self._run(lambda store: store.replace(_row(name), stored, content, expires_at))

    def _encrypt(self, purpose: str, name: str, record: Mapping[str, Any]) -> str:
        header = {"alg": "dir", "enc": "A256GCM", "kid": name}
        return jwe.encrypt_compact(header, json.dumps(record), self._key(purpose), algorithms=_ALGORITHMS)

    def _decrypt(self, purpose: str, name: str, text: bytes) -> Mapping[str, Any] | None:
        """Return a record; None where it is damaged, of another name, or encrypted with another key."""
        try:
            token = jwe.decrypt_compact(text, self._key(purpose), algorithms=_ALGORITHMS)
            record = json.loads(token.plaintext or b"")
        except (JoseError, ValueError, TypeError, RecursionError):
            return None
        return record if token.headers().get("kid") == name and isinstance(record, dict) else None

    def _key(self, purpose: str) -> OctKey:
        message = f"toolfold {purpose} of users".encode()
        return OctKey.import_key(hmac.new(self._get_secret(), message, hashlib.sha256).digest())


def local_sign_ins(folder: str, timeout_s: float, now: Callable[[], float]) -> SignInStore:
    """Return what the user of this machine has in a folder, which is made when it is needed first."""
    records = records_in_file(os.path.join(folder, "sign-ins.sqlite"), timeout_s)
    return SignInStore(records, lambda: own_secret(os.path.join(folder, "key"), is_replaced=True), now, _KEPT_HERE_S)


def hosted_sign_ins(
    settings: Settings, aws: AwsClients, read_reference: Callable[[str], str], now: Callable[[], float]
) -> SignInStore:
    """Return what the callers of a server have, in the table of its cache."""
    secret = settings.token_secret
    get_secret = functools.partial(given_secret, "TOOLFOLD_TOKEN_SECRET", secret, read_reference)
    return SignInStore(records_in_table(settings, aws), get_secret, now)


def _row(name: str) -> str:
    return f"user-token/{name}"
