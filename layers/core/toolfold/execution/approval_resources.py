"""The secret that signs tokens, and the store that records their use: for approvals, and for tokens used once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.execution.approval_secret import signing_secret
from toolfold.execution.approval_store import ApprovalStore, open_approvals

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

__all__ = ["ApprovalResources"]


class ApprovalResources:
    """Reads the secret, and opens the store when it is needed first. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS.
        read_reference: reads a secret of AWS.
        now: the time, in seconds since 1970.

    Attributes:
        settings: see above.
        now: see above.
    """

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        read_reference: Callable[[str], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.now = settings, now
        self._aws, self._read_reference = aws, read_reference
        self._own_secret = os.urandom(32)
        self._opened: ApprovalStore | None = None

    def secret(self) -> bytes:
        """Return the secret; see :func:`toolfold.execution.approval_secret.signing_secret`.

        Raises:
            SecretUnavailable: there is no secret.
            OSError, PathRefused: the file of the generated one cannot be used.
        """
        return signing_secret(self.settings, self._read_reference, self._own_secret)

    def store(self) -> ApprovalStore:
        """Return the store. May raise anything that opening it raises."""
        if self._opened is None:
            self._opened = open_approvals(self.settings, self._aws, self.now)
        return self._opened

    def reopen(self) -> None:
        """Open the store again when it is needed next: a file may have been deleted."""
        self._opened = None
