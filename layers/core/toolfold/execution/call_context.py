"""One call, from what was requested to what its source is sent."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.execution.call_log import CallLog
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.models import SourceCredentials
from toolfold.redaction import Redactor

if TYPE_CHECKING:
    from toolfold.cache.key import CacheKeys
    from toolfold.catalog.entries import Source, Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.approval import Approval

__all__ = ["Admit", "CallContext"]


class Admit(Protocol):
    """Counts a call against the limits of its caller."""

    def __call__(self, *, is_cached: bool) -> None:
        """Count the call.

        Raises:
            ClientLimit: the caller has made as many calls as it may.
        """


@dataclass(eq=False)
class CallContext:
    """One call, from what was requested to what its source is sent. Belongs to one thread.

    Attributes:
        catalog: the catalog that ``tool`` comes from.
        tool: the tool to call.
        arguments: as the caller sent them; the validated ones once they are.
        credentials: of the request.
        bypass_cache: whether to ask the source even when a fresh response is cached.
        only_cached: whether to answer from the memory of this process alone.
        deadline: when the result must be there, by the monotonic clock; None: by the time-outs alone.
        added: those of the arguments that toolfold adds to the caller's, to complete an answer.
        log: the log line.
        notes: what was read in the arguments in a way that the caller may not expect.
        admit: counts the call once it is known whether its answer is cached; None: nothing is to be counted.
        approval: its approval, which is not redeemed yet; None for a call that needs none.
        approval_id: the id of the approval, also of one that is refused.
        source_credentials: the API key that is sent.
        operator_key: the API key of the deployment, which no caller may see.
        key_id: the hash of the API key and of the address that it is sent to.
        ends_at: ``deadline``, or the end of the time-out before it.
        keys: by which it is cached.
    """

    catalog: Catalog
    tool: Tool
    arguments: Mapping[str, Any]
    credentials: RequestCredentials = NO_CREDENTIALS
    bypass_cache: bool = False
    only_cached: bool = False
    deadline: float | None = None
    added: Mapping[str, Any] = field(default_factory=dict)
    log: CallLog = field(init=False)
    notes: tuple[str, ...] = ()
    admit: Admit | None = None
    approval: Approval | None = None
    approval_id: str = ""
    source_credentials: SourceCredentials = field(default_factory=SourceCredentials)
    operator_key: str = field(default="", repr=False)
    key_id: str = ""
    ends_at: float = math.inf
    keys: CacheKeys = field(init=False)

    def __post_init__(self) -> None:
        self.log = CallLog(self.tool.name, self.tool.source, is_counted=False)

    @functools.cached_property
    def source(self) -> Source:
        """The source of the tool."""
        return self.catalog.source(self.tool.source)

    @property
    def is_plain_read(self) -> bool:
        """Whether it changes nothing, and needs no approval."""
        return self.tool.effect == "read" and not self.tool.needs_approval

    @property
    def known_keys(self) -> tuple[str, str]:
        """The API keys that a response of the upstream may repeat."""
        return self.source_credentials.api_key, self.operator_key

    @functools.cached_property
    def redactor(self) -> Redactor:
        """Replaces the keys of the call. For use once they are known."""
        return Redactor(self.known_keys)
