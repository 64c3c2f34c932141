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
import contextlib
import hashlib
import hmac
import json
import logging
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from toolfold import messages, private_folder
from toolfold.cache.dynamodb import DynamoDBStore
from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.sqlite import SQLiteStore
from toolfold.errors import ApprovalUnavailable
from toolfold.files import replace_file
from toolfold.local_defaults import with_local_defaults

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.cache.base import RecordStore
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

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

    def is_for(self, secret: bytes, terms: Terms | tuple[str]) -> bool:
        """Return whether the token was made with ``secret`` for ``terms``; the time is not checked."""
        return hmac.compare_digest(self.mac, _mac(secret, self.id, self.expires_at, terms))

    def approval_proof(self, secret: bytes) -> str:
        """Return the text that proves that the call of this token was approved with ``secret``."""
        return hmac.new(secret, b"toolfold approved " + self.text.encode(), hashlib.sha256).hexdigest()


def mint(secret: bytes, terms: Terms | tuple[str], id_: bytes, expires_at: int) -> ApprovalToken:
    """Return a new token for the call ``terms``, or for a text."""
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


def _mac(secret: bytes, id_: str, expires_at: int, terms: Terms | tuple[str]) -> bytes:
    message = json.dumps(["toolfold approval", _head(id_, expires_at).hex(), *terms]).encode()
    return hmac.new(secret, message, hashlib.sha256).digest()[:_MAC_BYTES]


State = Literal["requested", "approved", "denied", "redeemed"]


class ApprovalRecord(NamedTuple):
    """The state of an approval, and what a person must know to decide.

    Attributes:
        state: ``requested``; then ``approved`` or ``denied``; ``redeemed`` once the call was sent.
        terms: the call; None where no person decides, so that arguments are stored only where they are needed.
        reason: what the catalog says about calls of the tool.
        proof: for an approved one, that it was approved with the secret.
    """

    state: State
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
        except TypeError:
            raise ValueError("damaged") from None
        texts = (record.reason, record.proof, *(terms or ()))
        if record.state not in get_args(State) or not all(isinstance(text, str) for text in texts):
            raise ValueError("damaged")
        return record._replace(terms=terms)


FILE_NAME = "approvals.sqlite"
"""In the folder of the cache file. Not in that file: a full cache evicts what expires first."""

_MAX_BYTES = 8_000_000
KEPT_AFTER_S = 3600
"""Seconds after its expiry for which a record is stored, so that the answer to a late call names the reason."""

_DYNAMODB = "dynamodb://"


def record_key(id_: str) -> str:
    """Return the key of the record of an approval."""
    return f"approval/{id_}"


def approval_file(settings: Settings) -> str:
    """Return the path of the SQLite file for a deployment without DynamoDB; empty: the user has no folder for it."""
    location = settings.cache
    if location in ("", "memory", "off"):
        location = with_local_defaults(settings.replaced(cache="")).cache
    return "" if location == "memory" else os.path.join(os.path.dirname(os.path.abspath(location)), FILE_NAME)


def _is_in_memory(settings: Settings) -> bool:
    """Return whether approvals are recorded in this process alone, where no person can approve one."""
    if settings.approve == "human" or settings.cache not in ("", "memory", "off"):
        return False
    return settings.cache == "memory" or not approval_file(settings)


def open_approvals(settings: Settings, aws: AwsClients) -> RecordStore:
    """Open the store that ``settings.cache`` names, or for ``approve=human`` one that another process can open too.

    Raises:
        OSError: there is no such place.
    """
    if settings.cache.startswith(_DYNAMODB):
        table = settings.cache.removeprefix(_DYNAMODB)
        return DynamoDBStore(aws, table, "", settings.secret_timeout_s, is_consistent=True)
    if _is_in_memory(settings):
        return MemoryStore(_MAX_BYTES)
    path = approval_file(settings)
    if not path:
        raise FileNotFoundError("this user has no home folder")
    return SQLiteStore(path, _MAX_BYTES, settings.secret_timeout_s, is_durable=True)


KEY_FILE_NAME = "approvals.secret"
_MIN_CHARACTERS = 32
_SECRET = re.compile(rb"[0-9a-f]{64}\n")


class SecretUnavailable(Exception):
    """There is no secret to sign with; ``str()`` says why, and names no secret."""


def signing_secret(settings: Settings, read_reference: Callable[[str], str], own: bytes) -> bytes:
    """Return the secret that signs and checks tokens; ``own``: one of this process, for approvals in its memory.

    Raises:
        SecretUnavailable: there is no secret.
        OSError, PathRefused: the file of the generated one cannot be used.
    """
    given = settings.approval_secret
    if given.startswith(("arn:", "ssm:")):
        given = read_reference(given)
        if len(given) < _MIN_CHARACTERS:
            raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET cannot be read from AWS, or is too short")
    if given:
        return given.encode()
    if settings.cache.startswith(_DYNAMODB):
        raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET is not set")
    if _is_in_memory(settings):
        return own
    return local_secret(settings)


def local_secret(settings: Settings) -> bytes:
    """Return the secret of this user, which is generated when it is needed first: a file that only the user can read.

    Raises:
        SecretUnavailable: there is no place for it, or the file is not one that toolfold has made.
        OSError, PathRefused: the file cannot be used.
    """
    path = approval_file(settings)
    if not path:
        raise SecretUnavailable("this user has no home folder")
    path = os.path.join(private_folder.resolve(os.path.dirname(path), create=True), KEY_FILE_NAME)
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):  # of several processes, the first one writes it
            replace_file(path, os.urandom(32).hex().encode() + b"\n", overwrite=False, mode=0o600)
    descriptor = os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW)
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, 100) if stat.S_ISREG(status.st_mode) else b""
    finally:
        os.close(descriptor)
    if os.name != "nt" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise SecretUnavailable(f"other users can read {path}, or it belongs to one: delete it")
    if _SECRET.fullmatch(content) is None:
        raise SecretUnavailable(f"{path} was not made by toolfold: delete or move it")
    return content.strip()


def unavailable(reason: str) -> ApprovalUnavailable:
    """Return the error for a fault of this deployment. The reason is for the log: it may name a path."""
    logger.error("approvals unavailable: %s", reason)
    return ApprovalUnavailable(
        "Approvals cannot be recorded or checked here at the moment, so the call was refused; nothing was sent.",
        messages.TELL_OPERATOR,
    )
