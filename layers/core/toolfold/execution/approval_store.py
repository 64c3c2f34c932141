"""Approvals as they are signed and recorded: in DynamoDB, in a SQLite file beside the cache, or in this process alone.

A token is what a call is repeated with after it was approved: 40 characters, base64url of a version (1 byte), the id of
the approval (8), when it expires, in seconds since 1970 (5), and the first 16 bytes of an HMAC-SHA256 (RFC 2104) over
all of that and the :class:`Terms`. It is short, because a model repeats it, and has no arguments in it. 30 bytes are
exactly 40 characters: no two texts decode to the same token.

Approving, denying and redeeming a call replace its record, which succeeds for one caller. A record that is lost is a
call that is refused, never one that is performed.

The secret that signs the tokens comes from the settings, from AWS, or from a file beside that of the approvals, where
it is generated. :class:`ApprovalResources` has both, for approvals and for tokens that are used once.
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
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, get_args

from toolfold import messages, private_folder
from toolfold.aws.clients import error_code
from toolfold.cache.response_cache import MemoryStore
from toolfold.errors import ApprovalUnavailable
from toolfold.files import replace_file
from toolfold.local_defaults import with_local_defaults
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.cache.base import RecordStore
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

T = TypeVar("T")

_VERSION = 1
_ID_BYTES, _TIME_BYTES, _MAC_BYTES = 8, 5, 16
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
        """Return whether the token was made with ``secret`` for the call ``terms``; the time is not checked."""
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
    id_, time_, mac = raw[1 : 1 + _ID_BYTES], raw[1 + _ID_BYTES : -_MAC_BYTES], raw[-_MAC_BYTES:]
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


class Approval(NamedTuple):
    """An approval that was checked and is not redeemed yet, with its record as it is stored."""

    token: ApprovalToken
    stored: bytes


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
        from toolfold.cache.dynamodb import DynamoDBStore

        table = settings.cache.removeprefix(_DYNAMODB)
        return DynamoDBStore(aws, table, "", settings.secret_timeout_s, is_consistent=True)
    if _is_in_memory(settings):
        return MemoryStore(_MAX_BYTES)
    path = approval_file(settings)
    if not path:
        raise FileNotFoundError("this user has no home folder")
    from toolfold.cache.sqlite import SQLiteStore

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
    path = os.path.join(private_folder.own_folder(os.path.dirname(path)), KEY_FILE_NAME)
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):  # of several processes, the first one writes it
            replace_file(path, os.urandom(32).hex().encode() + b"\n", overwrite=False, mode=0o600)
    return _read(path)


def _read(path: str) -> bytes:
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


TTL_S = 600
"""Seconds for which a token can be used: an agent continues at once."""

_MAC_CHARS = 32
_OPEN, _USED = b"open", b"used"


class ApprovalResources:
    """Secret and store, which is opened when it is needed first. One for a process; safe to use from many threads.

    They also sign tokens that hold calls, and let each be used once, as calls must not be performed twice.
    """

    def __init__(
        self, settings: Settings, aws: AwsClients, read_reference: Callable[[str], str], now: Callable[[], float]
    ) -> None:
        self.settings, self.now = settings, now
        self._aws, self._read_reference = aws, read_reference
        self._own_secret = os.urandom(32)
        self._opened: RecordStore | None = None

    def secret(self) -> bytes:
        """Return the secret; see :func:`toolfold.execution.approval_store.signing_secret`.

        Raises:
            ApprovalUnavailable: there is no secret, or its file cannot be used.
        """
        try:
            return signing_secret(self.settings, self._read_reference, self._own_secret)
        except (SecretUnavailable, PathRefused) as error:
            raise unavailable(str(error)) from None
        except OSError as error:
            raise unavailable(type(error).__name__) from None

    def get(self, id_: str) -> bytes | None:
        """Return the record of an approval as it is stored, or None; raises ApprovalUnavailable, as all that follow."""
        return self._run(lambda store: store.get(record_key(id_)))

    def add(self, id_: str, record: bytes, expires_at: float) -> None:
        """Store the record of a new approval."""
        self._run(lambda store: store.add(record_key(id_), record, expires_at + KEPT_AFTER_S))

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace a record if it is ``expected``; return whether it was. Of several callers one gets True."""
        return self._run(lambda store: store.replace(record_key(id_), expected, record))

    def open_once(self, text: str) -> tuple[str, int, str]:
        """Return a new id, when it ends, in seconds since 1970, and the signature of ``text`` with both.

        Raises:
            ApprovalUnavailable: nothing can be signed or recorded.
        """
        id_, expires_at = os.urandom(_ID_BYTES).hex(), int(self.now() + TTL_S)
        mac = self._sign_once(id_, expires_at, text)
        self.add(f"continue-{id_}", _OPEN, expires_at)
        return id_, expires_at, mac

    def use_once(self, id_: str, expires_at: int, mac: str, text: str) -> bool:
        """Return whether this is the first use of what :meth:`open_once` returned for ``text``: of several one is.

        Raises:
            ApprovalUnavailable: nothing can be checked or recorded.
        """
        signed = self._sign_once(id_, expires_at, text)
        if not hmac.compare_digest(mac.encode(), signed.encode()) or expires_at < self.now():
            return False
        return self.replace(f"continue-{id_}", _OPEN, _USED)

    def _sign_once(self, id_: str, expires_at: int, text: str) -> str:
        message = f"toolfold continue {id_} {expires_at} {text}".encode()
        return hmac.new(self.secret(), message, hashlib.sha256).hexdigest()[:_MAC_CHARS]

    def _run(self, operation: Callable[[RecordStore], T]) -> T:
        try:
            if self._opened is None:
                self._opened = open_approvals(self.settings, self._aws)
            return operation(self._opened)
        except PathRefused as error:
            raise unavailable(str(error)) from None
        except Exception as error:  # noqa: BLE001 - after any failure nothing is known about the approval
            if isinstance(error, OSError):
                self._opened = None  # opened again when it is needed next: a file may have been deleted
            raise unavailable(error_code(error)) from None


def unavailable(reason: str) -> ApprovalUnavailable:
    """Return the error for a fault of this deployment. The reason is for the log: it may name a path."""
    logger.error("approvals unavailable: %s", reason)
    return ApprovalUnavailable(
        "Approvals cannot be recorded or checked here at the moment, so the call was refused; nothing was sent.",
        messages.TELL_OPERATOR,
    )
