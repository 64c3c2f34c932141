"""Approvals as they are signed and recorded: in DynamoDB, in a SQLite file beside the cache, or in this process alone.

A token is what a call is repeated with after it was approved: 40 characters, base64url of a version (1 byte), the id of
the approval (8), when it expires, in seconds since 1970 (5), and the first 16 bytes of an HMAC-SHA256 (RFC 2104) over
all of that and the :class:`Terms`. It is short, because a model repeats it, and has no arguments in it. 30 bytes are
exactly 40 characters: no two texts decode to the same token.

Approving, denying and redeeming a call replace its record, which succeeds for one caller. A record that is lost is a
call that is refused, never one that is performed.

The secret that signs the tokens comes from the settings, from AWS, or from a file beside that of the approvals, where
it is generated.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
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

_VERSION = 1
ID_BYTES, _TIME_BYTES, _MAC_BYTES = 8, 5, 16
_TEXT = re.compile(r"[A-Za-z0-9_-]{40}", re.ASCII)


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


class ApprovalToken(NamedTuple):
    """A token. The id of the approval, in hexadecimal, may be logged: nothing can be approved or called with it."""

    id: str
    expires_at: int
    mac: bytes

    def __repr__(self) -> str:
        return f"ApprovalToken(id={self.id!r}, expires_at={self.expires_at!r})"

    @property
    def text(self) -> str:
        """The token as it is given to a caller."""
        return base64.urlsafe_b64encode(_head(self.id, self.expires_at) + self.mac).decode()

    def is_for(self, secret: bytes, terms: Terms) -> bool:
        """Return whether the token was made with ``secret`` for ``terms``; the time is not checked."""
        return hmac.compare_digest(self.mac, _mac(secret, self.id, self.expires_at, terms))

    def approval_proof(self, secret: bytes) -> str:
        """Return the text that proves that the call of this token was approved with ``secret``."""
        return hmac.new(secret, b"toolfold approved " + self.text.encode(), hashlib.sha256).hexdigest()


def mint(secret: bytes, terms: Terms, id_: bytes, expires_at: int) -> ApprovalToken:
    """Return a new token for the call ``terms``."""
    return ApprovalToken(id_.hex(), expires_at, _mac(secret, id_.hex(), expires_at, terms))


def parse(text: str) -> ApprovalToken | None:
    """Return the token in ``text``, which may be forged; None for any other text."""
    if _TEXT.fullmatch(text) is None:
        return None
    raw = base64.urlsafe_b64decode(text)
    if raw[0] != _VERSION:
        return None
    id_, time_, mac = raw[1 : 1 + ID_BYTES], raw[1 + ID_BYTES : -_MAC_BYTES], raw[-_MAC_BYTES:]
    return ApprovalToken(id_.hex(), int.from_bytes(time_, "big"), mac)


def _head(id_: str, expires_at: int) -> bytes:
    return bytes([_VERSION]) + bytes.fromhex(id_) + expires_at.to_bytes(_TIME_BYTES, "big")


def _mac(secret: bytes, id_: str, expires_at: int, terms: Terms) -> bytes:
    message = json.dumps(["toolfold approval", _head(id_, expires_at).hex(), *terms]).encode()
    return hmac.new(secret, message, hashlib.sha256).digest()[:_MAC_BYTES]


State = Literal["requested", "approved", "denied", "redeemed"]


class ApprovalRecord(NamedTuple):
    """The state of an approval, and what a person must know to decide.

    Attributes:
        state: ``requested``; then ``approved`` or ``denied``; ``redeemed`` once the call was sent.
        expires_at: when its token expires, in seconds since 1970.
        terms: the call; None where no person decides, so that arguments are stored only where they are needed.
        reason: what the catalog says about calls of the tool.
        proof: for an approved one, that it was approved with the secret.
    """

    state: State
    expires_at: int = 0
    terms: Terms | None = None
    reason: str = ""
    proof: str = ""

    def encode(self) -> bytes:
        """Return the record as it is stored. Equal records have equal bytes."""
        return json.dumps(self._asdict(), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> ApprovalRecord:
        """Return the record that was stored.

        Raises:
            ValueError: it is damaged.
        """
        try:
            record = cls(**json.loads(stored))
            terms = None if record.terms is None else Terms(*record.terms)
            texts = (record.reason, record.proof, *(terms or ()))
            is_time = type(record.expires_at) is int and 0 <= record.expires_at < 256**_TIME_BYTES
            if record.state not in get_args(State) or not is_time or not all(isinstance(text, str) for text in texts):
                raise ValueError
            json.loads("null" if terms is None else terms.arguments)
        except (TypeError, ValueError, RecursionError):
            raise ValueError("damaged") from None
        return record._replace(terms=terms)


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
