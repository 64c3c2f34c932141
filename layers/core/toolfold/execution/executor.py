"""Perform one call: validate the arguments, find the API key, and hand over to the cached executor.

A :class:`ToolExecutor` is made once per process. What a call needs beyond this is imported by the first call, so that
listing and describing tools never pays for it.

An :class:`Observer`, the page of ``toolfold ui``, sees requests and calls while they run; the log (``call_log``) has
what is left of a call when it has ended.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.aws.clients import AwsClients
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import (
    CallError,
    ClientLimit,
    InternalError,
    InvalidArguments,
    NotCached,
    WriteNotAllowed,
)
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials

if TYPE_CHECKING:
    from toolfold.cache.memory import Memo
    from toolfold.call_context import Clock
    from toolfold.catalog.entries import Source, Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.approval import Approval
    from toolfold.execution.audit import AuditLine
    from toolfold.execution.cached_executor import Admit
    from toolfold.execution.call_log import CallLog
    from toolfold.execution.call_resources import CallResources
    from toolfold.execution.result import CallResult
    from toolfold.execution.source_health import Trouble
    from toolfold.execution.validation_problems import ResolvedArguments
    from toolfold.settings import Settings
    from toolfold.sources.registry import AdapterRegistry


class Observer(Protocol):
    """Is called from many threads, must return at once, and must not raise."""

    def start_request(
        self, name: str, arguments: Mapping[str, Any], profile: str
    ) -> Callable[[Mapping[str, Any]], None]:
        """Note that a call of a meta-tool begins.

        Args:
            name: The meta-tool.
            arguments: As the client sent them.
            profile: The profile of the request; empty: the path without a name.

        Returns:
            What is called with the fields of the log line of the answer: ``error`` and the figures of
            ``meta_tools.usage``.
        """

    def start_call(self, tool: Tool, profile: str) -> Callable[[str], None]:
        """Note that a call of ``tool`` begins, in the thread that performs it.

        Returns:
            What is called with ``OK``, or with the code of the error; with an empty code for a call that was not made,
            because its answer is not in memory.
        """

    def record_call(self, call: CallLog) -> None:
        """Note the log line of a call, in the thread that performs it, before the call ends."""


class ToolExecutor:
    """Perform calls. Holds everything that outlives a call. Safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS (default: its own).
        on_call: called with the log of every finished call, successful or not; None: it is a log line of its own.
        on_failure: called with a code when something of the deployment fails without failing a call.
        uses_own_keys: whether calls without a key may use those of the deployment.
        logs_audit: whether the log of a call has what the audit log says of it, where no file is set for that.
        adapters: finds the adapters of sources (default: the built-in and installed ones).
        clock: the clocks (default: the system's).
        read_file: returns content of the current catalog by its SHA-256, for sources whose answers are in it.

    Attributes:
        observer: sees calls while they run; None: none does. Set before the first call.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        on_call: Callable[[CallLog], None] | None = None,
        on_failure: Callable[[str], None] | None = None,
        uses_own_keys: bool = True,
        logs_audit: bool = False,
        adapters: AdapterRegistry | None = None,
        clock: Clock | None = None,
        read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None,
    ) -> None:
        self.settings = settings
        self.aws = aws or AwsClients()
        self._allow_list = AllowList.from_settings(settings)
        self._on_call, self._adapters, self._clock, self._read_file = on_call, adapters, clock, read_file
        self._on_failure, self._uses_own_keys = on_failure, uses_own_keys
        self._is_audited = logs_audit or bool(settings.audit_file)
        self._resources: CallResources | None = None
        self.observer: Observer | None = None
        self._lock = threading.Lock()

    @property
    def resources(self) -> CallResources:
        """What calls share; made by the first call."""
        if self._resources is None:
            from toolfold.execution.call_resources import CallResources

            with self._lock:
                if self._resources is None:
                    self._resources = CallResources(
                        self.settings,
                        self.aws,
                        on_failure=self._on_failure,
                        adapters=self._adapters,
                        clock=self._clock,
                        read_file=self._read_file,
                    )
        return self._resources

    def call(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: Mapping[str, Any],
        credentials: RequestCredentials = NO_CREDENTIALS,
        *,
        bypass_cache: bool = False,
        deadline: float | None = None,
        added: Mapping[str, Any] | None = None,
        only_cached: bool = False,
    ) -> CallResult:
        """Perform one call, or answer it from the cache.

        Args:
            catalog: the catalog that ``tool`` comes from.
            tool: the tool to call.
            arguments: as the model sent them; validated here, before anything is sent.
            credentials: the keys that came with the request.
            bypass_cache: whether to ask the upstream even when a fresh response is cached.
            deadline: when the result must be there, by the monotonic clock; the settings' time-out holds in any case.
            added: arguments that toolfold adds to those of the caller, to complete an answer.
            only_cached: whether to answer from the memory of this process alone, in no time; for tools that read and
                need no approval.

        Raises:
            CallError: every way in which a call can fail; see ``errors``.
            NotCached: ``only_cached`` is set, and there is no answer in memory. Nothing was logged or counted.
        """
        from toolfold.execution import audit, call_log

        call = call_log.CallLog(tool.name, tool.source, is_counted=False)
        line, is_made = audit.AuditLine(tool, arguments, credentials, call), True
        end = None if self.observer is None else self.observer.start_call(tool, credentials.profile)
        try:
            result = self._call(catalog, line, bypass_cache, deadline, added or {}, only_cached=only_cached)
            if not result.cached:
                self.resources.record_success(tool)
            return result
        except NotCached:
            is_made = False
            raise
        except CallError as error:
            call.code = error.code
            if call.is_counted:  # the message of another may quote arguments
                call.error_message = error.message
            self.resources.record_failure(tool, error)
            raise
        except BaseException:
            call.code = InternalError.code
            raise
        finally:
            if self.observer is not None and is_made and call.is_counted:
                self.observer.record_call(call)
            if end is not None:
                end(call.code if is_made else "")
            if is_made:
                self._log(line)

    def _log(self, line: AuditLine) -> None:
        """Write the audit line of a finished call, and pass its log line on."""
        from toolfold.execution.call_log import log_call

        if self._is_audited:
            self.resources.audit_log().write(line)
        if line.call.is_counted or line.call.audit:
            (self._on_call or log_call)(line.call)

    def _call(
        self,
        catalog: Catalog,
        line: AuditLine,
        bypass_cache: bool,
        deadline: float | None,
        added: Mapping[str, Any],
        *,
        only_cached: bool,
    ) -> CallResult:
        """Perform the call of ``line``, which is completed."""
        from toolfold.execution import api_keys, validation
        from toolfold.models import SourceCredentials

        tool, credentials = line.tool, line.credentials
        self._require_allowed(catalog, tool, credentials)
        resolved = validation.validator_of(catalog, tool).resolve({**line.arguments, **added}, self.memo)
        if resolved.problems:
            raise _invalid(tool, resolved)
        line.arguments = resolved.arguments
        if only_cached and (bypass_cache or tool.effect != "read" or tool.needs_approval):
            raise NotCached
        source = catalog.source(tool.source)
        # Again: this is where the key is read, and not every catalog was opened with these settings.
        self._allow_list.check(source)
        admit = self._admission(source, tool, line)
        approval = self._approval(source, tool, resolved.arguments, credentials, line)
        secrets = self.resources.secret_provider()
        api_key = api_keys.resolve_api_key(
            source,
            credentials,
            secrets,
            is_only_one=_key_takers(catalog) <= 1,
            uses_own=self._uses_own_keys,
            need=tool.call.get("credentials", "required"),
        )
        if approval is not None:
            self.resources.approval_gate().redeem(tool, approval)
        result = self.resources.cached_executor().call(
            source,
            tool,
            resolved.arguments,
            SourceCredentials(api_key),
            operator_key=api_keys.known_operator_key(source, secrets),
            bypass_cache=bypass_cache,
            deadline=deadline,
            added=added,
            admit=admit,
            only_cached=only_cached,
            log=line.call,
        )
        return result.with_notes(resolved.notes)

    def _require_allowed(self, catalog: Catalog, tool: Tool, credentials: RequestCredentials) -> None:
        """Check that the caller may call ``tool`` here.

        Raises:
            CallError: the tool is switched off or of another context, it changes data and the call only reads, or the
                caller's access token lacks a scope.
        """
        catalog.require_callable(tool)
        if credentials.reads_only and tool.effect != "read":
            raise _write_not_allowed(tool)
        tier = ("tools:premium",) if self.settings.oauth_premium_scope and tool.access == "premium" else ()
        credentials.require_scopes("tools:call" if tool.effect == "read" else "tools:write", *tier)

    def today(self) -> date:
        """Return the day, in UTC."""
        now = time.time() if self._clock is None else self._clock.now()
        return datetime.fromtimestamp(now, UTC).date()

    def is_imitated(self, source: Source) -> bool:
        """Return whether calls of a source go to this machine: to an imitation, whose data end on a day of its own."""
        return source.id in self._imitated

    @functools.cached_property
    def _imitated(self) -> frozenset[str]:
        from urllib.parse import urlsplit  # takes 2 ms of a cold start

        from toolfold.network.ssrf import LOOPBACK  # the first call imports it in any case

        urls = self.settings.source_urls.items()
        return frozenset(id_ for id_, url in urls if url and urlsplit(url).hostname in LOOPBACK)

    def has_own_key(self, source: Source) -> bool:
        """Return whether calls of a source without a key use one that is set up here. Nothing is read from AWS."""
        if source.auth is None or not self._uses_own_keys:
            return False
        return bool(os.environ.get(source.auth.environment, "").strip() or self.settings.source_keys)

    def smaller_response_hint(self, catalog: Catalog, tool: Tool) -> str:
        """Return the next step after an answer of ``tool`` that is too large."""
        return self.resources.cached_executor().smaller_response_hint(catalog.source(tool.source))

    @property
    def memo(self) -> Memo:
        """What equal calls computed."""
        return self.resources.cached_executor().memo

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that this process has called, by its id."""
        return {} if self._resources is None else self._resources.circuit_states()

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, by the last calls of this process."""
        return {} if self._resources is None else self._resources.troubles()

    def warm_up(self, catalog: Catalog) -> None:
        """Import what calls of the tools in ``catalog`` need. Nothing is sent."""
        self.resources.cached_executor().warm_up(catalog.sources)

    def save_answer(self, text: str, suffix: str, remaining_s: float) -> dict[str, Any]:
        """Save a long answer where the settings say; see :meth:`toolfold.results.offload.AnswerStore.save`."""
        return self.resources.answer_store().save(text, suffix, remaining_s)

    def reset(self) -> None:
        """Drop the cache, rate limits, circuit breakers, adapters, API keys from AWS, and all connections.

        The next call makes new ones.
        """
        self.aws.reset()
        if self._resources is not None:
            self._resources.reset()

    def _admission(self, source: Source, tool: Tool, line: AuditLine) -> Admit | None:
        """Return what counts the call of a tool that reads, or count that of another at once; None: without limits.

        The first is counted when it is known whether its answer is cached. The second writes or needs approval, and is
        counted before an approval is created or redeemed for it.
        """
        settings = self.settings
        if not (settings.calls_per_minute or settings.calls_per_day):
            return None
        admit: Admit = self.resources.client_limits().admission(source, line.credentials, settings.key_salt)
        if tool.effect == "read" and not tool.needs_approval:
            return admit
        try:
            admit(is_cached=False)
        except ClientLimit:
            _count_refused(line.call)
            raise
        return None

    def _approval(
        self, source: Source, tool: Tool, arguments: Mapping[str, Any], credentials: RequestCredentials, line: AuditLine
    ) -> Approval | None:
        """Return the approval of a call, which is not redeemed yet; None for a tool whose calls need none."""
        if not tool.needs_approval:
            return None
        try:
            return self.resources.approval_gate().check(source, tool, arguments, credentials, line.note_approval)
        except CallError:
            _count_refused(line.call)
            raise


def _count_refused(call: CallLog) -> None:
    """Count a call that the source does not see, because of a limit or an approval."""
    call.is_counted, call.cache = True, "bypass"


def _key_takers(catalog: Catalog) -> int:
    """Return how many sources take keys of callers."""

    def count() -> int:
        return sum(other.auth is not None and other.auth.caller_key for other in catalog.sources)

    return catalog.memoize("sources that take keys", count)


def _write_not_allowed(tool: Tool) -> WriteNotAllowed:
    from toolfold.messages import CALL_WRITE, READS_ONLY  # needed for an error only

    return WriteNotAllowed(READS_ONLY.filled(tool=tool.name), CALL_WRITE)


def _invalid(tool: Tool, resolved: ResolvedArguments) -> InvalidArguments:
    from toolfold.messages import CORRECT_ARGUMENTS, INVALID_ARGUMENT, INVALID_OF_SEVERAL  # needed for an error only

    problems = resolved.problems
    first = problems[0]
    text = INVALID_ARGUMENT if len(problems) == 1 else INVALID_OF_SEVERAL
    return InvalidArguments(
        text.filled(tool=tool.name, others=len(problems) - 1, **first),
        resolved.next_step or CORRECT_ARGUMENTS,
        problems=problems,
        schema=tool.parameters,
    )
