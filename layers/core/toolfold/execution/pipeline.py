"""The way of a call to its answer: a list of steps, and what is logged, audited and measured around them.

The steps are those of ``docs/explanation/architecture.md``, in its order. Each is a function of a
:class:`~toolfold.execution.call.CallContext`, which it reads and completes; one that refuses the call raises a
``CallError``. What is known after the last one is answered from the cache or by the source (``cached_upstreams``).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toolfold.catalog.allow_list import AllowList
from toolfold.errors import (
    AuthRejected,
    AuthRequired,
    CallError,
    ClientLimit,
    InternalError,
    NotCached,
    SettingsError,
    WriteNotAllowed,
)
from toolfold.execution import api_keys
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.cached_upstreams import CachedUpstreams
from toolfold.execution.call import CallLog, log_call
from toolfold.execution.limits import caller_id
from toolfold.execution.validation import invalid_arguments
from toolfold.messages import CALL_WRITE, READS_ONLY, SIGN_IN_AGAIN
from toolfold.models import SourceCredentials

if TYPE_CHECKING:
    from toolfold.execution.call import CallContext, CallResult, Observer
    from toolfold.execution.call_resources import CallResources


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
        """Return the error of the call, or another one."""
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


class Pipeline:
    """Perform calls. One for a process; safe to use from many threads.

    Attributes:
        resources: as given.
        upstreams: answer the calls after the last step.
    """

    def __init__(self, resources: CallResources, middleware: Sequence[Middleware] = ()) -> None:
        self.resources, self._settings, self._middleware = resources, resources.settings, middleware
        self.upstreams = CachedUpstreams(resources)
        self._allow_list = AllowList(resources.settings)
        self._steps: tuple[Callable[[CallContext], None], ...] = (
            self._authorize,
            self._validate,
            self._allow,
            self._limit,
            self._approve,
            self._find_key,
            self._redeem,
        )

    def run(self, call: CallContext, observer: Observer | None = None) -> CallResult:
        """Perform ``call``, and log it: its line, its audit, its metrics, and the health of its source.

        Raises:
            CallError: every way in which a call can fail.
            NotCached: ``only_cached`` is set, and there is no answer in memory. Nothing was logged or counted.
        """
        log, is_made = call.log, True
        end = None if observer is None else observer.start_call(call.tool, call.credentials.profile)
        try:
            result = self._around(call) if self._middleware else self._performed(call)
            if not result.cached:
                self.resources.health.record_success(call.tool)
            return result
        except NotCached:
            is_made = False
            raise
        except CallError as error:
            log.code = error.code
            if log.is_counted:  # the message of another may quote arguments
                log.error_message = error.message
            self.resources.health.record_failure(call.tool, error)
            raise
        except BaseException:
            log.code = InternalError.code
            raise
        finally:
            if is_made:
                self._record(call, observer)
            if end is not None:
                end(log.code if is_made else "")

    def _record(self, call: CallContext, observer: Observer | None) -> None:
        """Write the audit line of a finished call, and pass its log line on."""
        log = call.log
        if observer is not None and log.is_counted:
            observer.record_call(log)
        if self.resources.is_audited:
            self.resources.audit_log.write(call)
        if log.is_counted or log.audit:
            (self.resources.on_call or log_call)(log)

    def _around(self, call: CallContext) -> CallResult:
        if call.only_cached:  # a try that costs nothing: the middleware sees the call that is made then
            raise NotCached
        entered: list[Middleware] = []
        try:
            for one in self._middleware:
                entered.append(one)
                one.before(call)
            result = self._performed(call)
            for one in reversed(entered):
                changed = one.after(call, result)
                # What equal calls computed belongs to the entry of the cache, and not to another text.
                result = changed if changed.body == result.body else replace(changed, entry=None)
            return result
        except CallError as error:
            for one in reversed(entered):
                error = one.error(call, error)
            raise error from error.__cause__

    def _performed(self, call: CallContext) -> CallResult:
        for step in self._steps:
            step(call)
        try:
            return self.upstreams.call(call)
        except AuthRejected as error:
            if call.has_entered_key:
                raise error.changed(next_step=self.resources.user_tokens.another_key(call)) from None
            if not call.source.signs_in:
                raise
            self._renew(call, error)
        try:
            return self.upstreams.call(call)
        except AuthRejected as error:
            raise error.changed(next_step=SIGN_IN_AGAIN.filled(id=call.source.id)) from None

    def _authorize(self, call: CallContext) -> None:
        """Check that the caller may call the tool here.

        Raises:
            CallError: the tool is switched off or of another context, it changes data and the call only reads, or the
                caller's access token lacks a scope.
        """
        tool, credentials = call.tool, call.credentials
        call.catalog.require_callable(tool)
        if credentials.reads_only and tool.effect != "read":
            raise WriteNotAllowed(READS_ONLY.filled(tool=tool.name), CALL_WRITE)
        tier = ("tools:premium",) if self._settings.oauth_premium_scope and tool.access == "premium" else ()
        credentials.require_scopes("tools:call" if tool.effect == "read" else "tools:write", *tier)

    def _validate(self, call: CallContext) -> None:
        resolved = reader_of(call.catalog, call.tool).resolve({**call.arguments, **call.added}, self.upstreams.memo)
        if resolved.problems:
            raise invalid_arguments(call.tool, resolved)
        call.arguments, call.notes = resolved.arguments, resolved.notes
        if call.only_cached and (call.bypass_cache or not call.is_plain_read):
            raise NotCached

    def _allow(self, call: CallContext) -> None:
        """Check that the source may be reached: not every catalog was opened with these settings."""

        def check() -> bool:
            self._allow_list.check(call.source)
            return True

        call.catalog.memoize(("may be reached", self._allow_list, call.source.id), check)

    def _limit(self, call: CallContext) -> None:
        """Count the call of a caller, or leave it to the cache to count one that reads.

        Another one is counted before an approval is created or redeemed for it.
        """
        settings = self._settings
        if not (settings.calls_per_minute or settings.calls_per_day):
            return
        caller = caller_id(call.source, call.credentials, settings.key_salt)
        admit = functools.partial(self.resources.client_limits.admit, caller)
        if call.is_plain_read:
            call.admit = admit
            return
        try:
            admit(is_cached=False)
        except ClientLimit:
            _count_refused(call.log)
            raise

    def _approve(self, call: CallContext) -> None:
        if not call.tool.needs_approval:
            return
        try:
            self.resources.approval_gate.check(call)
        except CallError:
            _count_refused(call.log)
            raise

    def _find_key(self, call: CallContext) -> None:
        secrets = self.resources.secret_provider
        takers = call.catalog.memoize(
            "sources that take keys",
            lambda: sum(other.auth is not None and other.auth.caller_key for other in call.catalog.sources),
        )
        try:
            api_key = api_keys.resolve_api_key(
                call.source,
                call.credentials,
                secrets,
                is_only_one=takers <= 1,
                uses_own=self.resources.uses_own_keys,
                need=call.tool.call.get("credentials", "required"),
            )
        except AuthRequired:
            if not self.resources.user_tokens.has_page_for_key(call):
                raise
            api_key, call.has_entered_key = self.resources.user_tokens.get_key(call), True
        call.source_credentials = SourceCredentials(api_key)
        call.operator_key = api_keys.known_operator_key(call.source, secrets)

        if call.source.signs_in and api_key:
            call.source_credentials = self.resources.user_tokens.get_credentials(call, api_key)

    def _renew(self, call: CallContext, error: AuthRejected) -> None:
        """Drop the user's token, which the source has refused, and get another one for a call that reads."""
        self.resources.user_tokens.drop_token(call, call.operator_key)
        if call.tool.effect != "read":  # a write is sent once; the next call has a new token
            raise error.changed(next_step=SIGN_IN_AGAIN.filled(id=call.source.id)) from None
        call.admit = None  # it is counted once
        self._find_key(call)

    def _redeem(self, call: CallContext) -> None:
        """Use the approval up. Last: a call that cannot be sent for another reason keeps it."""
        if call.approval is not None:
            self.resources.approval_gate.redeem(call, call.approval)


def _count_refused(log: CallLog) -> None:
    """Count a call that the source does not see, because of a limit or an approval."""
    log.is_counted, log.cache = True, "bypass"
