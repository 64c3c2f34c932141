"""Export a span of each call of a tool to OpenTelemetry, by OTLP over HTTP (the extra ``toolfold[otel]``).

The standard variables configure it: ``OTEL_EXPORTER_OTLP_ENDPOINT`` switches it on, ``OTEL_SERVICE_NAME``,
``OTEL_TRACES_SAMPLER`` and the others mean what they mean everywhere. A span belongs to the trace that the client sent,
and the source gets the span as its parent. Names and attributes are those of the conventions for generative AI. What a
caller requests and what a source answers is not in them.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolfold.client_call import deadline, serving, trace_context
from toolfold.execution.call import Middleware
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.errors import CallError
    from toolfold.execution.call import CallContext, CallResult

_PROPAGATOR = TraceContextTextMapPropagator()
_open: ContextVar[tuple[Span, AbstractContextManager[str]] | None] = ContextVar("span", default=None)


class Spans(Middleware):
    """Make a span around each call."""

    def __init__(self) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "toolfold"}
        provider = TracerProvider(resource=Resource.create({**named, "service.version": __version__}))
        before = set(threading.enumerate())
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        for thread in set(threading.enumerate()) - before:
            vars(thread)["end"] = provider.shutdown  # at the end of a process without exit functions: it sends the rest
        self._tracer = provider.get_tracer("toolfold", __version__)

    def before(self, call: CallContext) -> None:
        """Start the span, and make it the parent of what the source does."""
        parent = _PROPAGATOR.extract(dict(trace_context()))
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool.name,
            "toolfold.source": call.source.id,
        }
        span = self._tracer.start_span(f"execute_tool {call.tool.name}", parent, SpanKind.CLIENT, attributes)
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, set_span_in_context(span))
        passed_on = serving(deadline(), carrier.get("traceparent"), carrier.get("tracestate"))
        passed_on.__enter__()
        _open.set((span, passed_on))

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """End the span of a call that has succeeded."""
        self._end(cached=result.cached)
        return result

    def error(self, call: CallContext, error: CallError) -> CallError:
        """End the span of a call that has failed."""
        self._end(code=error.code)
        return error

    def _end(self, code: str = "", *, cached: bool = False) -> None:
        opened = _open.get()
        if opened is None:
            return
        span, passed_on = opened
        _open.set(None)
        passed_on.__exit__(None, None, None)
        span.set_attribute("toolfold.cached", cached)
        if code:
            span.set_attribute("error.type", code)
            span.set_status(StatusCode.ERROR)
        span.end()
