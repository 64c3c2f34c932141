"""Perform calls of tools.

A :class:`ToolExecutor` is made once per process. What a call needs beyond this, the :mod:`~toolfold.execution.pipeline`
and what calls share, is imported by the first call, so that listing and describing tools never pays for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolfold.aws.clients import AwsClients

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.call import CallContext, CallResult, Middleware, Observer
    from toolfold.execution.call_resources import CallResources, Trouble
    from toolfold.execution.pipeline import Pipeline
    from toolfold.settings import Settings


class ToolExecutor:
    """Perform calls. Holds everything that outlives a call. Safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS (default: its own).
        middleware: called around each call, the first outermost.
        uses_own_keys, clock, shared: see :class:`~toolfold.execution.call_resources.CallResources`.

    Attributes:
        observer: sees calls while they run; None: none does. Set before the first call.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        uses_own_keys: bool = True,
        clock: Clock | None = None,
        middleware: Sequence[Middleware] = (),
        **shared: Any,
    ) -> None:
        self.settings, self.aws = settings, aws or AwsClients()
        self._uses_own_keys, self._clock, self._middleware, self._shared = uses_own_keys, clock, middleware, shared
        self._pipeline: Pipeline | None = None
        self._lock = threading.Lock()
        self.observer: Observer | None = None

    @property
    def pipeline(self) -> Pipeline:
        """What performs calls; made by the first call."""
        with self._lock:
            if self._pipeline is None:
                from toolfold.execution.call_resources import CallResources
                from toolfold.execution.pipeline import Pipeline

                own, clock = self._uses_own_keys, self._clock
                resources = CallResources(self.settings, self.aws, uses_own_keys=own, clock=clock, **self._shared)
                self._pipeline = Pipeline(resources, self._middleware)
            return self._pipeline

    @property
    def resources(self) -> CallResources:
        """What calls share."""
        return self.pipeline.resources

    def call(self, call: CallContext) -> CallResult:
        """Perform one call, or answer it from the cache.

        Raises:
            CallError: every way in which a call can fail; see ``errors``.
            NotCached: ``only_cached`` is set, and there is no answer in memory. Nothing was logged or counted.
        """
        return self.pipeline.run(call, self.observer)

    def today(self) -> date:
        """Return the day, in UTC."""
        now = time.time() if self._clock is None else self._clock.now()
        return datetime.fromtimestamp(now, UTC).date()

    @cached_property
    def imitated(self) -> frozenset[str]:
        """The sources whose calls go to this machine: to imitations, whose data end on a day of their own."""
        from urllib.parse import urlsplit  # takes 2 ms of a cold start

        from toolfold.network.ssrf import LOOPBACK  # the first call imports it in any case

        urls = self.settings.source_urls.items()
        return frozenset(id_ for id_, url in urls if url and urlsplit(url).hostname in LOOPBACK)

    def has_own_key(self, source: Source) -> bool:
        """Return whether calls of a source without a key use one that is set up here. Nothing is read from AWS."""
        if source.auth is None or not self._uses_own_keys:
            return False
        return bool(os.environ.get(source.auth.environment, "").strip() or self.settings.source_keys)

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that this process has called, by its id."""
        return {} if self._pipeline is None else self.resources.circuit_states()

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, by the last calls of this process."""
        return {} if self._pipeline is None else self.resources.health.troubles()

    def reset(self) -> None:
        """Drop the cache, rate limits, circuit breakers, adapters, API keys from AWS, and all connections.

        The next call makes new ones.
        """
        self.aws.reset()
        with self._lock:
            dropped, self._pipeline = self._pipeline, None
        if dropped is not None:
            dropped.resources.close()
