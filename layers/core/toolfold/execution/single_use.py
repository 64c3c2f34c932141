"""Tokens that hold calls, and may be used once: for calls that must not be performed twice.

The secret and the store are those of approvals: a token that was signed by one process is checked by another, and of
several uses one succeeds. Where nothing can be signed or recorded there is no token.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING

from toolfold.execution.approval_store import SecretUnavailable
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from toolfold.execution.approval_store import ApprovalResources

__all__ = ["SingleUse", "Unavailable"]

TTL_S = 600
"""Seconds for which a token can be used: an agent continues at once."""

_ID_BYTES, _MAC_CHARS = 8, 32
_OPEN, _USED = b"open", b"used"


class Unavailable(Exception):
    """Nothing can be signed or recorded here."""


class SingleUse:
    """Sign tokens, and let each be used once. One for a process; safe to use from many threads.

    Args:
        resources: signs tokens, and records what becomes of them.
    """

    def __init__(self, resources: ApprovalResources) -> None:
        self._resources, self._now = resources, resources.now

    def open(self, text: str) -> tuple[str, int, str]:
        """Return a new id, when it ends, in seconds since 1970, and the signature of ``text`` with both.

        Raises:
            Unavailable: nothing can be signed or recorded.
        """
        id_, expires_at = os.urandom(_ID_BYTES).hex(), int(self._now() + TTL_S)
        mac = self._mac(id_, expires_at, text)
        try:
            self._resources.store().add(_key(id_), _OPEN, expires_at)
        except Exception as error:  # noqa: BLE001 - as in the gate of approvals: then nothing is known
            raise Unavailable(type(error).__name__) from None
        return id_, expires_at, mac

    def use(self, id_: str, expires_at: int, mac: str, text: str) -> bool:
        """Return whether this is the first use of what :meth:`open` returned for ``text``.

        Raises:
            Unavailable: nothing can be checked or recorded.
        """
        if not hmac.compare_digest(mac.encode(), self._mac(id_, expires_at, text).encode()) or expires_at < self._now():
            return False
        try:
            return self._resources.store().replace(_key(id_), _OPEN, _USED)
        except Exception as error:  # noqa: BLE001 - as in the gate of approvals: then nothing is known
            raise Unavailable(type(error).__name__) from None

    def _mac(self, id_: str, expires_at: int, text: str) -> str:
        try:
            secret = self._resources.secret()
        except (SecretUnavailable, PathRefused, OSError) as error:
            raise Unavailable(type(error).__name__) from None
        message = f"toolfold continue {id_} {expires_at} {text}".encode()
        return hmac.new(secret, message, hashlib.sha256).hexdigest()[:_MAC_CHARS]


def _key(id_: str) -> str:
    return f"continue-{id_}"
