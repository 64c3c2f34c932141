"""Approval tokens: what a call is repeated with after it was approved, and the record of one. No I/O.

A token is 40 characters: base64url of a version (1 byte), the id of the approval (8), when it expires, in seconds since
1970 (5), and the first 16 bytes of an HMAC-SHA256 (RFC 2104) over all of that and the :class:`Terms`. It is short,
because a model repeats it, and has no arguments in it. 30 bytes are exactly 40 characters: no two texts decode to the
same token.

The arguments of a call are signed and recorded as one text, the same for all spellings that validation accepts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    pass

_VERSION = 1
_ID_BYTES, _TIME_BYTES, _MAC_BYTES = 8, 5, 16
_TEXT = re.compile(r"[A-Za-z0-9_-]{40}", re.ASCII)


class Terms(NamedTuple):
    """What is approved: one call by one caller.

    Attributes:
        principal: who calls; see ``execution.credentials``.
        source: the id of the source.
        endpoint: where the source is reached.
        tool: the name of the tool.
        tool_hash: hash of its entry in the catalog: another version of the tool is another call.
        arguments: what :func:`canonical_arguments` returns for them.
    """

    principal: str
    source: str
    endpoint: str
    tool: str
    tool_hash: str
    arguments: str


class ApprovalToken(NamedTuple):
    """A token.

    Attributes:
        id: of the approval, in hexadecimal. It may be logged: nothing can be approved or called with it.
        expires_at: seconds since 1970.
        mac: the authentication code.
    """

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
            found = json.loads(stored)
            terms = found["terms"]
            record = cls(
                found["state"], None if terms is None else Terms(*terms), str(found["reason"]), str(found["proof"])
            )
        except (TypeError, LookupError):
            raise ValueError("damaged") from None
        texts = all(isinstance(text, str) for text in record.terms or ())
        if record.state not in get_args(State) or not texts:
            raise ValueError("damaged")
        return record


class Approval(NamedTuple):
    """An approval that was checked and is not redeemed yet, with its record as it is stored."""

    token: ApprovalToken
    stored: bytes
