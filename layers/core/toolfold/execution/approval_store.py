"""Approvals as they are signed and recorded: in DynamoDB, in a SQLite file beside the cache, or in this process alone.

A token is what a call is repeated with after it was approved: 40 random characters, short because a model repeats it.
What it is for is recorded under its id: an HMAC-SHA256 (RFC 2104) over the id, when it expires, and the :class:`Terms`.
The id is an HMAC of the token: it may be logged, because nothing can be approved or called with it.

Approving, denying and redeeming a call replace its record, which succeeds for one caller. A record that is lost is a
call that is refused, never one that is performed.

The secret that signs the tokens comes from the settings, from AWS, or from a file beside that of the approvals, where
it is generated.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from toolfold.cache import records_in_file, records_in_table
from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.stores import Records, Unavailable
from toolfold.execution.api_keys import given_secret, own_secret
from toolfold.local_defaults import with_local_defaults

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings


State = Literal["requested", "approved", "denied", "redeemed"]


class Terms(NamedTuple):
    """What is approved: one call by one caller.

    Attributes:
        principal: who calls; see ``execution.credentials``.
        endpoint: where the source is reached.
        tool_hash: hash of its entry in the catalog: another version of the tool is another call.
        arguments: what ``execution.call.canonical_arguments`` returns for them.
    """

    principal: str
    source: str
    endpoint: str
    tool: str
    tool_hash: str
    arguments: str


def approval_id(secret: bytes, token: str) -> str:
    """Return the id of the approval of ``token``, which may be any text, in hexadecimal."""
    message = b"toolfold approval id " + token.encode(errors="surrogatepass")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:16]


def sign(secret: bytes, id_: str, expires_at: int, terms: Terms, state: State = "requested") -> str:
    """Return what proves, to who has the secret, that an approval for ``terms`` was ``requested`` or ``approved``."""
    message = json.dumps(["toolfold approval", state, id_, expires_at, *terms]).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


class ApprovalRecord(NamedTuple):
    """The state of an approval, and what a person must know to decide.

    Attributes:
        state: ``requested``; then ``approved`` or ``denied``; ``redeemed`` once the call was sent.
        expires_at: when its token expires, in seconds since 1970.
        mac: of the call, by :func:`sign`.
        terms: the call; None where no person decides, so that arguments are stored only where they are needed.
        reason: what the catalog says about calls of the tool.
        proof: for an approved one, that it was approved with the secret.
    """

    state: State
    expires_at: int
    mac: str
    terms: Terms | None = None
    reason: str = ""
    proof: str = ""

    def encode(self) -> bytes:
        """Return the record as it is stored. Equal records have equal bytes."""
        return json.dumps(self._asdict(), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> ApprovalRecord:
        """Return the record that was stored, whose fields :meth:`is_for` vouches for, but state, reason and proof.

        Raises:
            ValueError: it is damaged.
        """
        try:
            record = cls(**json.loads(stored))
            if record.state not in get_args(State) or not isinstance(record.reason, str):
                raise ValueError
            return record if record.terms is None else record._replace(terms=Terms(*record.terms))
        except (TypeError, ValueError, RecursionError):
            raise ValueError("damaged") from None

    def is_for(self, secret: bytes, id_: str, terms: Terms) -> bool:
        """Return whether this is the record of the approval ``id_`` of the call ``terms``; the time is not checked."""
        return self.mac == sign(secret, id_, self.expires_at, terms)

    def ended(self, state: State) -> ApprovalRecord:
        """Return the record of a call that is denied or redeemed: its arguments are needed no more."""
        return self._replace(state=state, terms=None)


FILE_NAME, KEY_FILE_NAME = "approvals.sqlite", "approvals.secret"
"""In the folder of the cache file. Not in that file: a full cache evicts what expires first."""

KEPT_AFTER_S = 3600
"""Seconds after its expiry for which a record is stored, so that the answer to a late call names the reason."""


def record_key(id_: str) -> str:
    """Return the key of the record of an approval."""
    return f"approval/{id_}"


def approval_file(settings: Settings, name: str = FILE_NAME) -> str:
    """Return the path of a file of approvals, beside that of the cache; empty: the user has no folder for it."""
    location = settings.cache_file or with_local_defaults(settings.replaced(cache="")).cache
    folder = os.path.dirname(os.path.abspath(os.path.expanduser(location)))
    return "" if location == "memory" else os.path.join(folder, name)


def _is_in_memory(settings: Settings) -> bool:
    """Return whether approvals are recorded in this process alone, where no person can approve one."""
    if settings.approve == "human" or settings.cache_table or settings.cache_file:
        return False
    return settings.cache == "memory" or not approval_file(settings)


def approval_records(settings: Settings, aws: AwsClients) -> Records:
    """Return the records where ``settings.cache`` is, or for ``approve=human`` where another process finds them too."""
    if settings.cache_table:
        return records_in_table(settings, aws)
    if _is_in_memory(settings):
        return Records(MemoryStore(0))
    return records_in_file(approval_file(settings), settings.secret_timeout_s)


def signing_secret(settings: Settings, read_reference: Callable[[str], str], own: bytes) -> bytes:
    """Return the secret that signs and checks tokens; ``own``: one of this process, for approvals in its memory.

    Raises:
        Unavailable: there is no secret.
    """
    if given := given_secret("TOOLFOLD_APPROVAL_SECRET", settings.approval_secret, read_reference):
        return given
    if settings.cache_table:
        raise Unavailable("TOOLFOLD_APPROVAL_SECRET is not set")
    return own if _is_in_memory(settings) else local_secret(settings)


def local_secret(settings: Settings) -> bytes:
    """Return the secret of this user, beside the approvals; raises Unavailable where its file cannot be used."""
    return own_secret(approval_file(settings, KEY_FILE_NAME))
