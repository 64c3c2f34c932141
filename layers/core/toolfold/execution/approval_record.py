"""What is recorded about one approval."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

from toolfold.execution.approval_token import Terms

__all__ = ["ApprovalRecord", "State"]

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
            ValueError, TypeError, LookupError: it is damaged.
        """
        found = json.loads(stored)
        terms = found["terms"]
        if found["state"] not in ("requested", "approved", "denied", "redeemed"):
            raise ValueError("unknown state")
        return cls(found["state"], None if terms is None else Terms(*terms), str(found["reason"]), str(found["proof"]))
