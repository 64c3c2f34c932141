"""Approval of calls that need it: those of destructive tools, and of tools with ``confirm``.

``toolfold.execution.pipeline`` passes each such call to :class:`Approvals`, however it was made. A call without
a token is answered with APPROVAL_REQUIRED and a token; the same call with the token is performed, once. "The same" is
decided after validation: the token is for the validated arguments, the tool as the catalog has it, and the caller.

Where nothing can be recorded or checked, the call is refused. A token is redeemed before the request is sent: a call
that then fails needs a new approval, because what the source has done is not known.

:func:`write_prompt` has the question that a person answers.
"""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold import messages
from toolfold.cache.sqlite import SQLiteStore
from toolfold.cache.stores import Unavailable
from toolfold.client_call import iso_time
from toolfold.errors import (
    ApprovalDenied,
    ApprovalPending,
    ApprovalRequired,
    ApprovalUnavailable,
    ToolfoldError,
)
from toolfold.execution.api_keys import SecretProvider
from toolfold.execution.approval_store import (
    KEPT_AFTER_S,
    ApprovalRecord,
    Terms,
    approval_file,
    approval_id,
    approval_records,
    record_key,
    sign,
    signing_secret,
)
from toolfold.execution.call import canonical_arguments
from toolfold.execution.credentials import principal_id
from toolfold.local_defaults import with_local_defaults
from toolfold.text_safety import counted, escape_unsafe

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.catalog.entries import Source, Tool
    from toolfold.execution.call import CallContext
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

_MAX_VALUE_CHARS, _MAX_SHOWN = 200, 30
_DESTRUCTIVE = "It changes or deletes data that cannot be restored"


def reason_of(tool: Tool) -> str:
    """Return the sentence about calls of ``tool``: what the catalog says, else what its effect means."""
    return f"{tool.confirm or _DESTRUCTIVE}."


def write_prompt(source: Source, tool: Tool, arguments: str) -> str:
    """Return the question in one line. All names of arguments are in it; what is left out of a value is counted."""
    values: dict[str, Any] = json.loads(arguments)
    shown = []
    for name, value in list(values.items())[:_MAX_SHOWN]:
        text = json.dumps(value, ensure_ascii=False)
        cut = f"{text[:_MAX_VALUE_CHARS]}… ({len(text):,} characters)" if len(text) > _MAX_VALUE_CHARS else text
        shown.append(f"{name[:_MAX_VALUE_CHARS]}={cut}")
    if len(values) > _MAX_SHOWN:
        shown.append(f"and {counted(len(values) - _MAX_SHOWN, 'more argument')}")
    called = f" with {', '.join(shown)}" if shown else ""
    return escape_unsafe(f"Allow {tool.name} of {source.title}{called}? {reason_of(tool)}")


_TOKEN_BYTES = 20
"""Random bytes of a token, which is hexadecimal: people give it to a command, and ``-J…`` would be an option."""


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse a call where nothing can be recorded or checked. The reason is for the log: it may name a path."""
    try:
        yield
    except Unavailable as error:
        logger.error("approvals unavailable: %s", error)
        raise ApprovalUnavailable(
            "Approvals cannot be recorded or checked here at the moment, so the call was refused; nothing was sent.",
            messages.SEE_LOG.filled(what="why"),
        ) from None


class Approvals:
    """Decides whether calls may be performed. One for a process; safe to use from many threads.

    Secret and store are opened when they are needed first.
    """

    def __init__(
        self, settings: Settings, aws: AwsClients, read_reference: Callable[[str], str], now: Callable[[], float]
    ) -> None:
        self._settings, self._read_reference, self._now = settings, read_reference, now
        self._own_secret, self._records = os.urandom(32), approval_records(settings, aws)

    @_refusing()
    def check(self, call: CallContext) -> None:
        """Set the approval of a call, which :meth:`redeem` uses up, and its id, also where the call is refused.

        Raises:
            ApprovalRequired: there is no token, or not one for this call.
            ApprovalPending: no person has approved the call yet.
            ApprovalDenied: a person or the settings do not allow the call.
            ApprovalUnavailable: nothing can be recorded or checked.
        """
        source, tool, credentials = call.source, call.tool, call.credentials
        if self._settings.approve == "deny":
            raise ApprovalDenied(
                f"{tool.name} needs approval, and this server performs no such calls; nothing was sent.",
                messages.NOT_ALLOWED,
            )
        secret = self._secret()
        terms = Terms(
            principal_id(credentials, secret),
            source.id,
            self._settings.source_urls.get(source.id, source.base_url),
            tool.name,
            tool.hash,
            canonical_arguments(call),
        )
        problem, text = "", credentials.approval_token.strip()
        if text:
            problem = self._problem(secret, call, terms, text)
            if not problem:
                return
        if credentials.is_declined:
            raise _denied(tool)
        raise self._request(call, secret, terms, problem)

    @_refusing()
    def redeem(self, call: CallContext) -> None:
        """Use up the approval of a call. Call this last before the request is sent.

        Raises:
            ApprovalRequired: another call was faster.
            ApprovalUnavailable: it cannot be recorded.
        """
        redeemed = ApprovalRecord.decode(call.approval).ended("redeemed")
        if not self._replace(call.approval_id, call.approval, redeemed):
            raise ApprovalRequired(
                f"The approval of this call of {call.tool.name} was used already; nothing was sent.",
                messages.CALL_WITHOUT_TOKEN,
            )

    def _problem(self, secret: bytes, call: CallContext, terms: Terms, text: str) -> str:
        """Return why the token in ``text`` cannot be redeemed for a call; empty if it can, which is then set."""
        id_, is_declined = approval_id(secret, text), call.credentials.is_declined
        stored = self._records.run(lambda store: store.get(record_key(id_)))
        if stored is None:
            return "is not known here, or not any more"
        try:
            record = ApprovalRecord.decode(stored)
        except ValueError:
            raise Unavailable("a record is damaged") from None
        if not record.is_for(secret, id_, terms):
            return "is not for this call: tool, arguments or caller differ"
        call.approval_id = id_
        if record.expires_at <= self._now():
            return "has expired"
        if record.state == "redeemed":
            return "was used already"
        if is_declined and record.state != "denied":
            self._replace(id_, stored, record.ended("denied"))
        if is_declined or record.state == "denied":
            raise _denied(call.tool)
        proof = sign(secret, id_, record.expires_at, terms, "approved")
        if self._settings.approve == "agent" or (record.state == "approved" and record.proof == proof):
            call.approval = stored
            return ""
        raise ApprovalPending(
            f"{call.tool.name} is not approved yet; nothing was sent.",
            messages.LET_APPROVE.filled(approval_token=text),
            approval_token=text,
            expires_at=iso_time(record.expires_at),
        )

    def _request(self, call: CallContext, secret: bytes, terms: Terms, problem: str) -> ApprovalRequired:
        """Record that a call waits for approval, and return the error with its token."""
        source, tool = call.source, call.tool
        is_human = self._settings.approve == "human"
        token = secrets.token_hex(_TOKEN_BYTES)
        id_, expires_at = approval_id(secret, token), math.floor(self._now() + self._settings.approval_ttl_s)
        # Arguments are stored only where a person has to read them.
        told = (terms, reason_of(tool)) if is_human else ()
        record = ApprovalRecord("requested", expires_at, sign(secret, id_, expires_at, terms), *told)
        if not self._replace(id_, None, record, expires_at + KEPT_AFTER_S):
            raise Unavailable("an id is taken")
        call.approval_id = id_
        why = f"The approval token {problem}; {tool.name}" if problem else tool.name
        step = messages.LET_APPROVE if is_human else messages.ASK_USER
        return ApprovalRequired(
            f"{why} needs approval; nothing was sent.",
            step.filled(approval_token=token),
            prompt=write_prompt(source, tool, terms.arguments),
            approval_token=token,
            expires_at=iso_time(expires_at),
        )

    def _replace(
        self, id_: str, expected: bytes | None, record: ApprovalRecord, kept_until: float | None = None
    ) -> bool:
        return self._records.run(lambda store: store.replace(record_key(id_), expected, record.encode(), kept_until))

    def _secret(self) -> bytes:
        return signing_secret(self._settings, self._read_reference, self._own_secret)


def _denied(tool: Tool) -> ApprovalDenied:
    return ApprovalDenied(f"The user does not allow this call of {tool.name}; nothing was sent.", messages.DENIED)


MAX_LISTED = 200
"""Waiting calls that are listed; a person reads each of them."""


class CannotDecide(ToolfoldError):
    """A call cannot be approved or denied, or no longer; ``str()`` says why and what to do."""


class WaitingCall(NamedTuple):
    """A call that waits for a decision: the id of its approval, its terms, and the record, decoded and as stored."""

    id: str
    terms: Terms
    record: ApprovalRecord
    stored: bytes


class ApprovalDesk:
    """Finds waiting calls and records decisions, for ``toolfold approve`` and the page of ``toolfold ui``.

    That requires the store of the approvals and the secret that signs them. One whose record was changed in the
    store cannot be approved: its signature is that of another call.

    Raises:
        Unavailable: the secret cannot be used; by each method, the store cannot.
    """

    def __init__(self, settings: Settings, aws: AwsClients) -> None:
        # Approvals in the memory of a server cannot be reached from here.
        self._settings, self._now = with_local_defaults(settings).replaced(approve="human"), time.time
        self._secret = signing_secret(self._settings, SecretProvider(settings, aws).get_secret, b"")
        self._records = approval_records(self._settings, aws)

    def find(self, token: str) -> WaitingCall:
        """Return the call that waits with a token; raises as :meth:`find_waiting`."""
        return self.find_waiting(approval_id(self._secret, token.strip()))

    def find_waiting(self, id_: str) -> WaitingCall:
        """Return the call whose approval has this id.

        Raises:
            CannotDecide: there is no such call, it was decided elsewhere or has expired, or no person decides about it.
        """
        stored = self._records.run(lambda store: store.get(record_key(id_)))
        if stored is None:
            place = self._settings.cache if self._settings.cache_table else approval_file(self._settings)
            raise CannotDecide(
                f"No call waits with this token in {place}. TOOLFOLD_CACHE and TOOLFOLD_APPROVAL_SECRET must be those "
                "of the server."
            )
        return self._waiting(id_, stored)

    def _waiting(self, id_: str, stored: bytes) -> WaitingCall:
        try:
            record = ApprovalRecord.decode(stored)
        except ValueError:
            raise CannotDecide("The record of this call is damaged. Let the call be made again.") from None
        if record.state != "requested":
            raise CannotDecide(f"This call was {record.state} already.")
        if record.terms is None:
            raise CannotDecide(
                "This call needs no person: its server has TOOLFOLD_APPROVE=agent. Repeat it with the token."
            )
        if not record.is_for(self._secret, id_, record.terms):
            raise CannotDecide("The record of this call was changed, or the secret of the server is another one.")
        if record.expires_at <= self._now():
            raise CannotDecide("This call waits no longer: it has expired. Let it be made again.")
        return WaitingCall(id_, record.terms, record, stored)

    def waiting(self) -> list[WaitingCall]:
        """Return the calls that wait for a decision, those first that expire soonest; at most :data:`MAX_LISTED`.

        In DynamoDB they are found by their tokens alone, and not listed.
        """
        since, most = self._now() + KEPT_AFTER_S, 10 * MAX_LISTED
        found: list[WaitingCall] = []
        for key, stored in self._records.run(
            lambda store: store.unexpired(since, most) if isinstance(store, SQLiteStore) else []
        ):
            with suppress(CannotDecide, ValueError):  # decided, or damaged: its token is refused as well
                found.append(self._waiting(key.removeprefix(record_key("")), stored))
        return found[:MAX_LISTED]

    def decide(self, call: WaitingCall, *, approve: bool) -> None:
        """Record the decision about a call.

        Raises:
            CannotDecide: another decision was faster.
        """
        record = call.record.ended("denied")
        if approve:
            proof = sign(self._secret, call.id, call.record.expires_at, call.terms, "approved")
            record = call.record._replace(state="approved", proof=proof, terms=None)
        key = record_key(call.id)
        if not self._records.run(lambda store: store.replace(key, call.stored, record.encode())):
            raise CannotDecide("Another decision about this call was made at the same moment.")
