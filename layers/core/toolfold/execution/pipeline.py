"""The way of a call to its answer: steps, and what is logged, audited and measured around them.

The steps are those of ``docs/explanation/architecture.md``, in its order. Each is a function of the
:class:`~toolfold.execution.services.Services`, which calls share, and of the
:class:`~toolfold.execution.call.CallContext`, which it completes; one that refuses the call raises a ``CallError``.
After the last one the call is answered: from the cache, together with an equal call, or by a request.

Only tools that read are cached, joined, retried or answered with stale data. A write is sent once, even when it fails;
what its source has answered before is not used afterwards.

A response is shared with other API keys only if it cannot depend on the key: the source states that (``CachePolicy``),
it has the form of the tool's data, and it repeats no key. Otherwise it is cached for its key alone, and what repeats a
key in the memory of this process alone.

What the plan of an API key does not include is kept for a while, so that trying it costs no request each time.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold import client_call, errors
from toolfold.cache.response_cache import Entry
from toolfold.catalog.json_schema import properties
from toolfold.execution import api_keys
from toolfold.execution.argument_reader import reader_of, simple_text
from toolfold.execution.call import CallResult, UpstreamUse, log_call, sent_values
from toolfold.execution.limits import caller_id
from toolfold.execution.validation import invalid_arguments
from toolfold.messages import CALL_WRITE, DEFECT, READS_ONLY, SIGN_IN_AGAIN, SLOW
from toolfold.models import SourceCredentials
from toolfold.redaction import NO_REDACTION

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.execution.call import CallContext, Middleware
    from toolfold.execution.executor import ToolExecutor
    from toolfold.execution.services import Services
    from toolfold.execution.upstream import Upstream

_LAYOUT = 3
"""Increased when a stored entry changes its meaning: old entries are then never found again."""

_NOT_SENT = frozenset({"function", "lists", "sends", "arguments", "blank_allowed"})
"""Keys of a tool's ``call`` that say how arguments are read, or whose effect is in the arguments."""

_WRITTEN = "written/"
"""What the cache key of the time of a source's last write begins with."""

_REFUSAL_S = 3600
"""Seconds for which what a plan does not include is not tried again: an upgraded one is noticed then, and a call that
names the argument itself is always sent."""


def run_call(executor: ToolExecutor, call: CallContext) -> CallResult:
    """Perform ``call``, and log it: its line, its audit, its metrics, and the health of its source.

    Raises:
        CallError: every way in which a call can fail.
        NotCached: ``only_cached`` is set, and there is no answer in memory. Nothing was logged or counted.
    """
    log, services, is_made = call.log, executor.services, True
    try:
        result = _around(executor, call) if executor.middleware else _performed(services, call)
        if not result.cached:
            services.health.record_success(call.tool)
        return result
    except errors.NotCached:
        is_made = False
        raise
    except errors.CallError as error:
        log.code = error.code
        if log.is_counted:  # the message of another may quote arguments
            log.error_message = error.message
        services.health.record_failure(call.tool, error)
        raise
    except BaseException:
        log.code = errors.InternalError.code
        raise
    finally:
        if is_made and executor.is_audited:
            services.audit_log.write(call)
        if is_made and (log.is_counted or log.audit):
            (executor.on_call or log_call)(log)


def _around(executor: ToolExecutor, call: CallContext) -> CallResult:
    if call.only_cached:  # a try that costs nothing: the middleware sees the call that is made then
        raise errors.NotCached
    entered: list[Middleware] = []
    try:
        for one in executor.middleware:
            entered.append(one)
            one.before(call)
        result = _performed(executor.services, call)
        for one in reversed(entered):
            changed = one.after(call, result)
            # What equal calls computed belongs to the entry of the cache, and not to another text.
            result = changed if changed.body == result.body else replace(changed, entry=None)
        return result
    except errors.CallError as error:
        for one in reversed(entered):
            error = one.error(call, error)
        raise error from error.__cause__
    except BaseException:
        for one in reversed(entered):
            one.error(call, errors.InternalError(*DEFECT))
        raise


def _performed(services: Services, call: CallContext) -> CallResult:
    _check(services, call)
    services.upstream(call.source)  # may it be reached? Before a key is read, or an approval requested
    try:
        if services.settings.calls_per_minute or services.settings.calls_per_day:
            caller = caller_id(call.source, call.credentials, services.settings.key_salt)
            admit = functools.partial(services.client_limits.admit, caller)
            # One that only reads is counted when it is known whether the cache answers it, others before an approval.
            call.admit = admit if call.tool.only_reads else None
            if call.admit is None:
                admit(is_cached=False)
        if call.tool.needs_approval:
            services.approvals.check(call)
    except errors.CallError:
        call.log.is_counted, call.log.cache = True, "bypass"  # counted, although the source does not see it
        raise
    _find_key(services, call)
    if call.approval:  # used up last: a call that cannot be sent for another reason keeps it
        services.approvals.redeem(call)
    try:
        return answer_prepared(services, call)
    except errors.AuthRejected as error:
        if call.has_entered_key:
            raise error.changed(next_step=services.user_tokens.another_key(call)) from None
        refusal, refused_key = error, call.source_credentials.api_key
        if call.source.signs_in:
            refusal = error.changed(next_step=SIGN_IN_AGAIN.filled(id=call.source.id))
            services.user_tokens.drop_token(call, call.operator_key)
        elif call.log.is_operator_key:
            services.secret_provider.expire(call.source)
        if call.tool.effect != "read":  # a write is sent once; the next call has a new key or token
            raise refusal from None
    call.admit = None  # it is counted once
    _find_key(services, call)
    if call.source_credentials.api_key == refused_key:
        raise refusal
    try:
        return answer_prepared(services, call)
    except errors.AuthRejected:
        raise refusal from None


def _check(services: Services, call: CallContext) -> None:
    """Check what the caller may do, then its arguments, which are replaced by the validated ones."""
    tool, credentials = call.tool, call.credentials
    call.catalog.require_callable(tool)
    if credentials.reads_only and tool.effect != "read":
        raise errors.WriteNotAllowed(READS_ONLY.filled(tool=tool.name), CALL_WRITE)
    tier = ("tools:premium",) if services.settings.oauth_premium_scope and tool.access == "premium" else ()
    credentials.require_scopes("tools:call" if tool.effect == "read" else "tools:write", *tier)
    resolved = reader_of(call.catalog, tool).resolve({**call.arguments, **call.added}, services.memo)
    if resolved.problems:
        raise invalid_arguments(tool, resolved)
    call.arguments, call.notes = resolved.arguments, resolved.notes
    if call.only_cached and (call.bypass_cache or not tool.only_reads):
        raise errors.NotCached


def _find_key(services: Services, call: CallContext) -> None:
    source, secrets = call.source, services.secret_provider
    takers = call.catalog.memoize(
        "sources that take keys",
        lambda: sum(other.auth is not None and other.auth.caller_key for other in call.catalog.sources),
    )
    need = call.tool.call.get("credentials", "required")
    try:
        api_key = api_keys.resolve_api_key(source, call.credentials, secrets, is_only_one=takers <= 1, need=need)
    except errors.AuthRequired:
        if not services.user_tokens.has_page_for_key(call):
            raise
        api_key, call.has_entered_key = services.user_tokens.get_credentials(call).api_key, True
    call.source_credentials = SourceCredentials(api_key)
    call.operator_key = secrets.known_key(source)
    if source.signs_in and api_key:
        call.source_credentials = services.user_tokens.get_credentials(call, api_key)
    vars(call).pop("redactor", None)  # that of a key which was refused


def answer_prepared(services: Services, call: CallContext) -> CallResult:
    """Return the result of a call whose arguments are validated and whose keys are known.

    It is set before how long the call may take, and by which keys it is cached and limited.

    Raises:
        CallError: every way in which a call can fail.
        NotCached: only memory may answer it, which has no answer.
    """
    source, tool, api_key, settings = call.source, call.tool, call.source_credentials.api_key, services.settings
    call.log.is_counted = True
    call.log.is_operator_key = api_key == call.operator_key != ""
    # A catalog may ask for less time than the operator allows, not for more.
    timeout_s = min(settings.timeout_s, source.connection.get("timeout_s", settings.timeout_s))
    end = services.clock.monotonic() + timeout_s
    call.ends_at = end if call.deadline is None else min(end, call.deadline)
    upstream = services.upstream(source)
    # With the address: what one service refuses says nothing about another that is called with the same key.
    message = f"{source.id}\0{upstream.endpoint}\0{api_key}".encode(errors="surrogatepass")
    secret = f"toolfold {settings.key_salt}".encode(errors="surrogatepass")  # an environment may hold any bytes
    call.key_id = hmac.digest(secret, message, "sha256").hex()[:32]
    text = simple_text(call.arguments)
    known = None if text is None else services.memo.get("cache key", (upstream, tool), text)
    if known is None:
        policy = upstream.adapter.cache_policy(tool, call.arguments, services.clock.now())
        varies_by_key = policy.varies_by_key or source.signs_in or tool.effect != "read"
        known = cache_key(source, tool, call.arguments, upstream.endpoint), varies_by_key
        if text is not None:
            services.memo.put("cache key", (upstream, tool), text, known, len(text))
    common, varies_by_key = known
    own = f"{common}-{call.key_id}"
    # Without API keys all callers are the same.
    call.keys = (common,) if source.auth is None else (own,) if varies_by_key else (common, own)
    call.own_key = own
    entry, stale_reason = _read(services, call) if tool.effect == "read" else (_write(services, call, upstream), "")
    if entry.kind == "error":
        raise entry.to_error()
    call.log.response_chars = len(entry.body)
    is_cached = call.log.cache in ("memory", "shared", "stale")
    return CallResult(
        entry.body,
        entry.kind,
        is_cached,
        max(0, int(services.clock.now() - entry.created_at)) if is_cached else 0,
        call.arguments,
        stale_reason,
        call.redactor if entry.repeats_key else NO_REDACTION,
        call.notes,
        entry.blocks,
        UpstreamUse(call.log.requests, call.log.upstream_s),
        None if entry.repeats_key else entry,
    )


def _write(services: Services, call: CallContext, upstream: Upstream) -> Entry:
    call.log.cache = "bypass"
    try:
        found = upstream.fetch(call)
    finally:  # when the source was changed, as long as an older answer may be fresh
        now, settings = services.clock.now(), services.settings
        ttl_s = max(settings.no_data_ttl_s, settings.negative_ttl_s, *call.source.freshness.values())
        services.cache.put(_WRITTEN + call.source.id, Entry("text", "", now, now + ttl_s))
    repeats_key = call.redactor.appears_in(found.body, found.blocks)
    return Entry(found.kind, found.body, now, now, repeats_key, found.blocks)


def cache_key(source: Source, tool: Tool, arguments: Mapping[str, Any], endpoint: str) -> str:
    """Return the key under which the response to a call is stored.

    Two calls have the same key when they send the upstream the same: to the same endpoint, for the same function, with
    the same values, given or left to their defaults, in any order. Values keep their spelling and their type, since an
    upstream may distinguish ``ibm`` from ``IBM``; lists and nested objects keep their order, since responses follow it.
    """
    declared = properties(tool.parameters)
    values = sent_values(tool, declared, arguments)
    named = [(name, values[name]) for name in declared if name in values]
    # What the schema does not name is sent in the order in which it is given.
    other = [(name, value) for name, value in values.items() if name not in declared]
    parts = [_LAYOUT, source.id, endpoint, tool.call.get("function"), tool.name, named, other]
    # The rest of what an imported tool sends, which another version of the catalog may change.
    if binding := {key: value for key, value in tool.call.items() if key not in _NOT_SENT}:
        parts.append(binding)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _read(services: Services, call: CallContext) -> tuple[Entry, str]:
    """Return the data of a call that may be cached; where the source fails, the last data, and the reason."""
    if call.added:  # else the call is the caller's, and always performed
        refused = services.refusals.get("plan", (services.upstream(call.source),), _refusal_key(call))
        if refused is not None and refused.is_usable(services.clock.now()):
            raise refused.to_error()
    entry, stale_reason = None if call.bypass_cache else _find(services, call, local=call.only_cached), ""
    if call.only_cached and entry is None:
        raise errors.NotCached
    if call.admit is not None:
        call.admit(is_cached=entry is not None)
    if entry is None:
        try:
            entry = _fetch_together(services, call)
        except (errors.RateLimited, errors.UpstreamError, errors.UpstreamTimeout) as error:
            now, stale_reason = services.clock.now(), error.code
            entry = None if call.bypass_cache else services.cache.get_stale(call.keys, now)
            if entry is None:
                raise
            call.log.cache, call.log.error_message = "stale", error.message
    return entry, stale_reason


def _find(services: Services, call: CallContext, local: bool = False) -> Entry | None:
    """Return the cached data of this call, or the error that its key met; ``local``: from memory alone."""
    cache, now, where = services.cache, services.clock.now(), "memory"
    found = cache.get_local(call.keys, now)
    if found is None and not local:
        found, where = cache.get_shared(call.keys[0], now), "shared"
    if found is None:
        found, where = cache.get_local((f"{call.own_key}/error",), now), "memory"
    if found is None or found.created_at <= _written_at(services, call, local):
        return None
    call.log.cache = where
    return found


def _written_at(services: Services, call: CallContext, local: bool) -> float:
    """Return when a call last changed the source, in any process with this cache; before 1970 for never."""
    source = call.source.id

    def only_reads() -> bool:
        catalog = call.catalog.base  # a profile may not have the tools that write
        return set(catalog.positions("effect", "read")).issuperset(catalog.positions("source", source))

    if call.catalog.memoize(("only reads", source), only_reads):
        return -1
    key, now = _WRITTEN + source, services.clock.now()
    entry = (None if local else services.cache.get_shared(key, now)) or services.cache.get_local((key,), now)
    return -1 if entry is None else entry.created_at


def _fetch_together(services: Services, call: CallContext) -> Entry:
    """Return what an equal call returns that is running, or what the source sends."""
    call.log.cache = "joined"
    try:
        while True:
            try:
                return services.flights.run(
                    (call.own_key, call.bypass_cache, _written_at(services, call, local=True)),
                    functools.partial(_fetch_and_store, services, call),
                    max(0.0, call.ends_at - services.clock.monotonic()),
                )
            except errors.CallCancelled:
                if client_call.current().is_cancelled:
                    raise
                # An equal call was cancelled while this one waited for its result.
    except TimeoutError:
        problem = f"{call.source.title} did not answer in time."
        raise errors.UpstreamTimeout(problem, SLOW, retryable=True) from None


def _fetch_and_store(services: Services, call: CallContext) -> Entry:
    # An equal call may have finished since the cache was read.
    found = None if call.bypass_cache else _find(services, call, local=True)
    if found is not None:
        return found
    # What is sent at the moment of a write, or of the close of a market, may be as it was before.
    call.log.cache, upstream, now = "miss", services.upstream(call.source), services.clock.now()
    try:
        response = upstream.fetch(call)
    except errors.CallError as error:
        # One that would come again is stored for a short time and for its own key: that may be the reason.
        ttl_s = 0.0
        if isinstance(error, errors.NoData):
            ttl_s = services.settings.no_data_ttl_s
        elif isinstance(error, errors.InvalidArguments | errors.PremiumOnly):
            ttl_s = services.settings.negative_ttl_s
        if ttl_s:
            services.cache.put(f"{call.own_key}/error", Entry.from_error(error, now, now + ttl_s), shared=False)
        if call.added and isinstance(error, errors.PremiumOnly):
            kept = Entry.from_error(error, now, now + _REFUSAL_S)
            services.refusals.put("plan", (upstream,), _refusal_key(call), kept, len(kept.body))
        raise
    policy = upstream.adapter.cache_policy(call.tool, call.arguments, now)
    repeats_key = call.redactor.appears_in(response.body, response.blocks)
    entry = Entry(response.kind, response.body, now, now + policy.ttl_s, repeats_key, response.blocks)
    if policy.ttl_s > 0 and response.is_final:
        key = call.keys[0] if response.is_recognized and not repeats_key else call.own_key
        # What repeats a key is nowhere but in this process, which has the key anyway.
        services.cache.put(key, entry, shared=key == call.keys[0] and not repeats_key)
    return entry


def _refusal_key(call: CallContext) -> str:
    """Return the key of the refusal of the arguments that toolfold has added, regardless of the others."""
    return f"{call.tool.name}/{sorted(call.added.items())}-{call.key_id}"
