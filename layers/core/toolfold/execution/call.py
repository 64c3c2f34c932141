"""A call and its result, and middleware of users of the package."""

from __future__ import annotations

import importlib
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, SettingsError
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.models import ResultKind, SourceCredentials
from toolfold.redaction import NO_REDACTION, Redactor

if TYPE_CHECKING:
    from toolfold.cache.response_cache import Entry
    from toolfold.catalog.entries import Source, Tool
    from toolfold.catalog.model import Catalog


@dataclass(frozen=True)
class UpstreamUse:
    """What answers cost at the upstream: requests, and the time that they took together."""

    requests: int = 0
    seconds: float = 0.0

    def __add__(self, other: UpstreamUse) -> UpstreamUse:
        """Return the sum of both."""
        return UpstreamUse(self.requests + other.requests, self.seconds + other.seconds)


NO_USE = UpstreamUse()


@dataclass(frozen=True)
class CallResult:
    """A response of the upstream that is data.

    Attributes:
        body: the upstream's text, without a byte order mark and outer white space, the API key replaced.
        kind: the form of ``body``.
        cached: whether it comes from the cache.
        age_s: seconds since it was fetched.
        arguments: the validated arguments.
        stale_reason: for a result past its time, the code of the error for which it is given; else empty.
        notes: what was read in the arguments in a way that the caller may not expect.
        redactor: replaces the keys of this call in what is made of ``body``.
        blocks: see :class:`toolfold.models.ParsedResponse`.
        use: what the call cost at the upstream.
        entry: the cache entry that ``body`` is from; None where it repeats a key, or where no entry exists.
    """

    body: str
    kind: ResultKind
    cached: bool
    age_s: int
    arguments: Mapping[str, Any]
    stale_reason: str = ""
    redactor: Redactor = NO_REDACTION
    notes: tuple[str, ...] = ()
    blocks: str = ""
    use: UpstreamUse = NO_USE
    entry: Entry | None = field(default=None, compare=False, repr=False)


LOGGER_NAME = "toolfold.calls"
"""The logger of lines that are written at every TOOLFOLD_LOG_LEVEL: those that audit a call."""


@dataclass
class CallLog:
    """What is logged of one call, filled in while it runs. Times in seconds.

    Attributes:
        code: ``OK``, or the code of the error.
        error_message: sentence of the error. Those of call errors are fixed texts, without arguments.
        cache: ``miss``; ``memory`` or ``shared`` for a hit; ``joined`` to an equal call that was running; ``stale`` for
            an entry past its time, the reason being in ``error_message``; ``bypass`` where no cache is used.
        upstream_s: time that the ``requests`` to the upstream took.
        wait_s: time spent waiting for a turn and between attempts.
        quota_used_percent: how much of its calls of the day the API key has used, where a limit is known.
        is_operator_key: whether the API key is that of the deployment.
        was_refused: whether the call ended before its next request was sent, by a limit of toolfold's own: then it says
            nothing about the upstream.
        is_counted: whether it is a call in metrics and figures, and not one that was refused for its arguments or for
            what its caller may do.
        audit: fields of ``execution.audit`` for this line; empty: it writes its own, or none.
    """

    tool: str
    source: str = ""
    code: str = "OK"
    error_message: str = ""
    cache: str = "miss"
    requests: int = 0
    upstream_s: float = 0.0
    wait_s: float = 0.0
    response_chars: int = 0
    circuit_breaker: str = "closed"
    quota_used_percent: float | None = None
    is_operator_key: bool = False
    was_refused: bool = True
    is_counted: bool = True
    audit: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the log line, without those that say nothing: zero, empty, or a closed breaker."""
        found = {
            "inner_tool": self.tool,
            "code": self.code,
            "error_message": self.error_message,
            "cache": self.cache if self.is_counted else "",
            "upstream_requests": self.requests,
            "retries": max(0, self.requests - 1),
            "upstream_ms": round(self.upstream_s * 1000, 1),
            "wait_ms": round(self.wait_s * 1000, 1),
            "response_chars": self.response_chars,
            "circuit_breaker": "" if self.circuit_breaker == "closed" else self.circuit_breaker,
            "quota_used_percent": round(self.quota_used_percent or 0, 1),
        }
        return {name: value for name, value in found.items() if value}


def log_call(call: CallLog) -> None:
    """Log the line ``call``, where no transport makes it a part of the line of its request."""
    logger = logging.getLogger(LOGGER_NAME if call.audit else "toolfold")
    if logger.isEnabledFor(logging.INFO):
        logger.info("call", extra={**call.fields(), **call.audit})


@dataclass(eq=False)
class CallContext:
    """One call, from what was requested to what its source is sent. Belongs to one thread.

    Attributes:
        catalog: the catalog that ``tool`` and its ``source`` come from.
        tool: the tool to call.
        arguments: as the caller sent them; the validated ones once they are.
        credentials: of the request.
        bypass_cache: whether to ask the source even when a fresh response is cached.
        only_cached: whether to answer from the memory of this process alone.
        deadline: when the result must be there, by the monotonic clock; None: by the time-outs alone.
        added: those of the arguments that toolfold adds to the caller's, to complete an answer.
        log: the log line.
        notes: what was read in the arguments in a way that the caller may not expect.
        admit: counts the call against the limits of its caller, by ``is_cached``, once it is known whether its answer
            is cached; None: nothing is to be counted.
        approval: the record of its approval, which is not redeemed yet; empty for a call that needs none.
        approval_id: the id of the approval, also of one that is refused.
        source_credentials: the API key that is sent.
        has_entered_key: whether that is the key that the caller has entered on a page of this server.
        operator_key: the API key of the deployment, which no caller may see.
        key_id: the hash of the API key and of the address that it is sent to.
        ends_at: ``deadline``, or the end of the time-out before it.
        keys: of cached data that it may get: what all API keys share, where there is such, then its key's alone.
        own_key: by which it is cached for its API key alone.
    """

    catalog: Catalog
    tool: Tool
    arguments: Mapping[str, Any]
    credentials: RequestCredentials = NO_CREDENTIALS
    bypass_cache: bool = False
    only_cached: bool = False
    deadline: float | None = None
    added: Mapping[str, Any] = field(default_factory=dict)
    source: Source = field(init=False)
    log: CallLog = field(init=False)
    notes: tuple[str, ...] = ()
    admit: Callable[..., None] | None = None
    approval: bytes = b""
    approval_id: str = ""
    source_credentials: SourceCredentials = field(default_factory=SourceCredentials)
    has_entered_key: bool = False
    operator_key: str = field(default="", repr=False)
    key_id: str = ""
    ends_at: float = math.inf
    keys: tuple[str, ...] = ()
    own_key: str = ""

    def __post_init__(self) -> None:
        self.source = self.catalog.source(self.tool.source)
        self.log = CallLog(self.tool.name, self.tool.source, is_counted=False)

    @cached_property
    def redactor(self) -> Redactor:
        """Replaces the API keys and other secrets of the call, once they are known: a response may repeat them."""
        return Redactor((self.source_credentials.api_key, self.operator_key, *self.source_credentials.secrets))


class Middleware:
    """What a user of the package does with each call of a tool. A method that is not overridden changes nothing.

    Methods are called in the thread that performs the call, and at the same time for several calls.
    ``TOOLFOLD_MIDDLEWARE`` names the classes; each is made once, without arguments.
    """

    def before(self, call: CallContext) -> None:
        """Check a call before its first step, or replace ``call.arguments``, which are validated afterwards.

        Raises:
            CallError: the call is refused.
        """

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """Return the result, or another one: ``dataclasses.replace(result, body=…)``. What is cached stays as it is."""
        return result

    def error(self, call: CallContext, error: CallError) -> CallError:
        """Return the error of the call, or another one.

        Also called where the call ended in a defect of toolfold, INTERNAL_ERROR, which stays what it is.
        """
        return error


def load_middleware(names: Sequence[str]) -> list[Middleware]:
    """Make the middleware that ``TOOLFOLD_MIDDLEWARE`` names.

    Args:
        names: ``module:Class`` of each.

    Raises:
        SettingsError: a name is not that of a class derived from :class:`Middleware`, or it cannot be made.
    """
    made = []
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            one = getattr(importlib.import_module(module), attribute)()
        except Exception as error:
            problem = f"TOOLFOLD_MIDDLEWARE names {name}, which cannot be made: {type(error).__name__}: {error}"
            raise SettingsError(problem) from error
        if not isinstance(one, Middleware):
            raise SettingsError(f"TOOLFOLD_MIDDLEWARE names {name}, which is not derived from toolfold.Middleware.")
        made.append(one)
    return made


def sent_values(tool: Tool, declared: Mapping[str, Mapping[str, Any]], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with what is sent for those of ``declared``, the parameters, that are not given."""
    defaults = {name: rule["default"] for name, rule in declared.items() if rule.get("default") is not None}
    return {**defaults, **tool.call.get("sends", {}), **arguments}


def canonical_arguments(call: CallContext) -> str:
    """Return the arguments of a call as JSON: with the defaults of the tool, names in alphabetical order, 5 for 5.0.

    Two calls with the same text ask the source for the same. ``cache_key`` is stricter: it distinguishes what an
    upstream may spell out in its answer. Arguments that are not valid are accepted, for the log of a refused call.
    """
    values = sent_values(call.tool, reader_of(call.catalog, call.tool).properties, call.arguments)
    values = json.loads(json.dumps(values), parse_float=_whole_or_float)
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def _whole_or_float(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number
