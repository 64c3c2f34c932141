"""The sign-ins of callers of a shared server, each of whom has an access token: links, their steps, and the tokens.

A link has a ticket, and each step of a sign-in a cookie. Both are encrypted and name the caller and the source, so that
any process continues what another one has begun; that each is used once is recorded in the table. The pages are in
``explorer.sign_in_pages``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolfold.aws.clients import AwsClients
from toolfold.cache.dynamodb import DynamoDBStore
from toolfold.execution.token_store import TokenStore, decrypt_record, encrypt_record

if TYPE_CHECKING:
    from toolfold.settings import Settings

LIFETIME_S = 600
"""Seconds in which a caller opens the link and signs in."""

_MIN_SECRET_CHARS = 32
_TABLE = "dynamodb://"

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
        self,
        settings: Settings,
        aws: AwsClients,
        read_reference: Callable[[str], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._secret, self._read_reference, self._now = settings.token_secret, read_reference, now
        self.url = f"{settings.public_url.removesuffix('/').removesuffix('/mcp')}/ui/sign-in/"
        table, timeout_s = settings.cache.removeprefix(_TABLE), settings.secret_timeout_s
        self.tokens = TokenStore(
            lambda: DynamoDBStore(aws, table, "", timeout_s, is_consistent=True), lambda: self._key("tokens"), now
        )

    @staticmethod
    def is_set_up(settings: Settings) -> bool:
        """Return whether the settings have all that sign-ins of callers need."""
        has_table = settings.cache.startswith(_TABLE)
        return bool(has_table and settings.oauth_issuer and settings.oauth_sign_in_client and settings.token_secret)

    def link(self, source: str, owner: str) -> str:
        """Return a new link, for the browser of the caller.

        Raises:
            OSError: the secret cannot be read.
        """
        step = Step(secrets.token_urlsafe(16), source, owner, self._now() + LIFETIME_S)
        return f"{self.url}{source}?ticket={self.write(step, 'ticket')}"

    def write(self, step: Step, kind: Kind) -> str:
        """Return a step, encrypted for one use; raises OSError as :meth:`link`."""
        return encrypt_record(kind, step._asdict(), self._key("steps"))

    def read(self, text: str, kind: Kind) -> Step | None:
        """Return what :meth:`write` has encrypted for this use; None where it is something else, or has ended."""
        record: Any = decrypt_record(kind, text.encode("utf-8", "replace"), self._key("steps"))
        if record is None or record.keys() != set(Step._fields):  # of another version of toolfold
            return None
        step = Step(**record)
        return step if self._now() < step.until else None

    def use(self, step: Step, kind: Kind) -> bool:
        """Return whether this is the first use of a step; raises OSError where that cannot be recorded."""
        return self.tokens.use_once(f"{step.id}/{kind}", step.until)

    def _key(self, purpose: str) -> bytes:
        secret = self._secret
        if secret.startswith(("arn:", "ssm:")):
            secret = self._read_reference(secret)
        if len(secret) < _MIN_SECRET_CHARS:
            raise OSError("TOOLFOLD_TOKEN_SECRET cannot be read from AWS, or is too short")
        return hmac.new(secret.encode(), f"toolfold {purpose} of users".encode(), hashlib.sha256).digest()
