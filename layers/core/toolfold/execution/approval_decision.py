"""Decide about a call that waits for a person: what ``toolfold approve`` does, and the page of ``toolfold ui``.

Deciding requires the store of the approvals and the secret that signs them. What is shown is what the token is for:
a record that was changed in the store does not fit its token.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.errors import ToolfoldError
from toolfold.execution.approval_store import (
    FileApprovals,
    SecretUnavailable,
    approval_file,
    open_approvals,
    signing_secret,
)
from toolfold.execution.approval_token import ApprovalRecord, ApprovalToken, Terms, mint, parse

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

__all__ = ["AlreadyDecided", "ApprovalDesk", "CannotDecide", "WaitingCall"]

MAX_LISTED = 200
"""Waiting calls that are listed; a person reads each of them."""

_STATES = {"approved": "approved already", "denied": "denied already", "redeemed": "used already"}


class CannotDecide(ToolfoldError):
    """The call of a token cannot be approved or denied; ``str()`` says why and what to do."""


class AlreadyDecided(CannotDecide):
    """The call waits no longer: it was decided elsewhere, or has expired."""


class WaitingCall:
    """A call that waits for a decision.

    Attributes:
        token: its token.
        terms: the call.
        reason: what the catalog says about calls of the tool.
        stored: its record, as it is in the store.
    """

    def __init__(self, token: ApprovalToken, terms: Terms, reason: str, stored: bytes) -> None:
        self.token, self.terms, self.reason, self.stored = token, terms, reason, stored


class ApprovalDesk:
    """Finds waiting calls and records decisions.

    Args:
        settings: those of the server that issued the tokens, as far as cache and secret are concerned.
        aws: creates the clients of AWS.
        read_reference: reads a secret of AWS.
        now: the time, in seconds since 1970.

    Raises:
        CannotDecide: there is no secret.
    """

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        read_reference: Callable[[str], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        # Approvals in the memory of a server cannot be reached from here.
        self._settings, self._now = settings.replaced(approve="human"), now
        try:
            self._secret = signing_secret(self._settings, read_reference, b"")
        except SecretUnavailable as error:
            raise CannotDecide(f"The secret of the server is needed: {error}.") from None
        self._store = open_approvals(self._settings, aws, now)

    def find(self, text: str) -> WaitingCall:
        """Return the call that waits with a token.

        Raises:
            CannotDecide: no call waits with it, or the call is decided already.
        """
        token = parse(text.strip())
        if token is None:
            raise CannotDecide("This is no approval token: it has 40 letters, digits, - and _. Copy all of it.")
        stored = self._store.get(token.id)
        if stored is None:
            raise CannotDecide(
                f"No call waits with this token in {self._place()}. TOOLFOLD_CACHE must be the server's."
            )
        try:
            record = ApprovalRecord.decode(stored)
        except (ValueError, TypeError, LookupError):
            raise CannotDecide("The record of this token is damaged. Let the call be made again.") from None
        if record.state != "requested":
            raise AlreadyDecided(f"This call was {_STATES[record.state]}.")
        if token.expires_at <= self._now():
            raise AlreadyDecided("This token has expired. Let the call be made again.")
        if record.terms is None:
            raise CannotDecide(
                "This call needs no person: its server has TOOLFOLD_APPROVE=agent. Repeat it with the token."
            )
        if not token.is_for(self._secret, record.terms):
            raise CannotDecide(
                "The token does not fit what was recorded: it was changed, or the secret of the server is another one."
            )
        return WaitingCall(token, record.terms, record.reason, stored)

    def waiting(self) -> list[WaitingCall]:
        """Return the calls that wait for a decision, those first that expire soonest; at most :data:`MAX_LISTED`.

        The tokens are made again from what is recorded, with the secret. An approval of a record that was changed is
        for the changed call, which is the one that is shown, and fits no token that a caller has.

        Raises:
            CannotDecide: the approvals are in DynamoDB, where they are found by their tokens alone.
        """
        if not isinstance(self._store, FileApprovals):
            raise CannotDecide("Waiting calls in DynamoDB are found by their tokens alone: toolfold approve TOKEN.")
        found = []
        for id_, stored, expires_at in self._store.unexpired(self._now(), 10 * MAX_LISTED):
            try:
                record = ApprovalRecord.decode(stored)
                json.loads("null" if record.terms is None else record.terms.arguments)
                key = bytes.fromhex(id_)
            except (ValueError, TypeError, LookupError):
                continue  # damaged: its token is refused as well
            if record.state == "requested" and record.terms is not None:
                token = mint(self._secret, record.terms, key, int(expires_at))
                found.append(WaitingCall(token, record.terms, record.reason, stored))
        return found[:MAX_LISTED]

    def find_waiting(self, id_: str) -> WaitingCall:
        """Return the call whose approval has this id.

        Raises:
            AlreadyDecided: it was decided elsewhere, or has expired.
            CannotDecide: there is no such call.
        """
        for call in self.waiting():
            if call.token.id == id_:
                return call
        stored = self._store.get(id_)
        if stored is None:
            raise CannotDecide("No call waits with this id any more. Let the call be made again.")
        try:
            state = ApprovalRecord.decode(stored).state
        except (ValueError, TypeError, LookupError):
            raise CannotDecide("The record of this call is damaged. Let the call be made again.") from None
        raise AlreadyDecided(
            f"This call was {_STATES[state]}."
            if state != "requested"
            else "This call waits no longer: it has expired. Let it be made again."
        )

    def decide(self, call: WaitingCall, *, approve: bool) -> None:
        """Record the decision about a call.

        Raises:
            CannotDecide: another decision was faster.
        """
        if approve:
            proof = call.token.approval_proof(self._secret)
            record = ApprovalRecord("approved", call.terms, call.reason, proof)
        else:
            record = ApprovalRecord("denied")
        if not self._store.replace(call.token.id, call.stored, record.encode()):
            raise AlreadyDecided("Another decision about this call was made at the same moment.")

    def _place(self) -> str:
        cache = self._settings.cache
        return cache if cache.startswith("dynamodb://") else approval_file(self._settings)
