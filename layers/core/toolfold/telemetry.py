"""Logs, metrics and traces, written by Powertools for AWS Lambda. ``configure`` makes them once per process.

No log line, metric or trace may hold an API key, so none holds a body, an argument, a header, a query string or the
text of an exception: only names, codes and figures. That is why events and responses are never captured, and why
``requests`` is not traced (its exceptions quote URLs).

Environment variables of Powertools that apply here: ``POWERTOOLS_SERVICE_NAME``, ``POWERTOOLS_METRICS_NAMESPACE``,
``POWERTOOLS_LOGGER_SAMPLE_RATE`` (the share of invocations that are logged at DEBUG, from 0 to 1).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from aws_lambda_powertools import Logger, Metrics, Tracer, single_metric
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import MetricUnit

from toolfold.errors import (
    ANSWER_NOT_SAVED,
    CACHE_UNAVAILABLE,
    CATALOG_NOT_REFRESHED,
    KEY_UNREADABLE,
    LIMITS_UNAVAILABLE,
    ApprovalUnavailable,
    CatalogUnavailable,
    InternalError,
    IssuerUnavailable,
)

if TYPE_CHECKING:
    from aws_lambda_powertools.logging.types import LogRecord

    from toolfold.execution.call_log import CallLog
    from toolfold.protocol.http import LogFields
    from toolfold.settings import Settings

__all__ = ["DEGRADATIONS", "FAILURES", "USAGE_METRICS", "Telemetry", "configure"]

Handler = TypeVar("Handler", bound=Callable[..., Any])

LOGGER_NAME = "toolfold"
"""What the modules of this package pass to ``logging.getLogger``."""

FAILURES = (CatalogUnavailable.code, InternalError.code, IssuerUnavailable.code, ApprovalUnavailable.code)
"""Errors that no caller and no upstream can cause: an operator has to act."""

DEGRADATIONS = (
    ANSWER_NOT_SAVED,
    CACHE_UNAVAILABLE,
    CATALOG_NOT_REFRESHED,
    KEY_UNREADABLE,
    LIMITS_UNAVAILABLE,
)
"""Codes of the same metric for failures that fail no request: less is done than the settings say."""

USAGE_METRICS: Mapping[str, str] = {
    "schemas_full": "SchemasFull",
    "schemas_medium": "SchemasMedium",
    "schemas_minimal": "SchemasMinimal",
    "schemas_unchanged": "SchemasUnchanged",
    "tokens": "TokensAnswered",
    "tokens_saved": "TokensSaved",
}
"""Field of the log line of a request (``meta_tools.usage``) → the metric that adds it up."""


AUDIT_LOGGER_NAME = "toolfold.audit"
"""The logger of ``execution.audit``, whose lines come out of the same handler."""


class ExceptionNameFormatter(LambdaPowertoolsFormatter):
    """Log the class of an exception as ``exception_name``, but neither its text nor its traceback."""

    def serialize(self, log: LogRecord) -> str:
        """Return ``log`` as one line of JSON."""
        hidden = ("exception", "exception_notes", "stack_trace")
        return super().serialize({name: value for name, value in log.items() if name not in hidden})


class CurrentStdout:
    """Write to what ``sys.stdout`` is at that moment, so that redirecting it takes effect.

    What cannot be written, as the reader of a pipe is gone, is lost: logging would print a traceback for each line.
    """

    def write(self, text: str) -> int:
        """Write ``text``."""
        with suppress(OSError, ValueError):  # ValueError: closed by this process
            sys.stdout.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        with suppress(OSError, ValueError):
            sys.stdout.flush()


class Telemetry:
    """The logger, the metrics and the tracer of one process; ``tracer`` is None where tracing is off."""

    def __init__(
        self, logger: Logger, metrics: Metrics, tracer: Tracer | None, *, service: str, namespace: str
    ) -> None:
        self.logger = logger
        self.metrics = metrics
        self.tracer = tracer
        self._service = service
        self._namespace = namespace
        self._lock = threading.Lock()

    def capture_lambda_handler(self, handler: Handler) -> Handler:
        """Trace ``handler`` as a subsegment with X-Ray, where tracing is on (a decorator)."""
        if self.tracer is None:
            return handler
        captured: Handler = self.tracer.capture_lambda_handler(handler, capture_response=False, capture_error=False)  # type: ignore[assignment]
        return captured

    def record_call(self, call: CallLog) -> None:
        """Count one finished call of a tool.

        The metric ``Calls`` has the code of the outcome as a dimension, but not the tool: CloudWatch bills each
        combination of values as a metric of its own. The other metrics have no dimension but the service.
        """
        self._count("Calls", call.code)
        self._add("CallErrors", int(call.is_service_error))
        if call.is_cacheable:
            self._add("CacheHits", int(call.is_hit))
        if call.requests:
            self._add("UpstreamLatency", round(call.upstream_s * 1000, 1), MetricUnit.Milliseconds)
        if call.quota_used_percent is not None and call.is_operator_key:
            self._add("QuotaUsed", call.quota_used_percent, MetricUnit.Percent)

    def record_request(self, fields: LogFields, catalog_age_s: float | None = None) -> None:
        """Count one answered request.

        Args:
            fields: What its log line has.
            catalog_age_s: How long ago the catalog was published; None: not known.
        """
        code = fields.get("error", "")
        if code in FAILURES:
            self._count("Failures", str(code))
        # The first response of a client calls no meta-tool, and waits for no metric.
        if "tool" not in fields:
            return
        for field, metric in USAGE_METRICS.items():
            value = fields.get(field)
            if value is not None:
                self._add(metric, int(value))
        if "searched" in fields:
            self._add("EmptySearches", int(not fields.get("matched")))
        if catalog_age_s is not None:
            self._add("CatalogAge", round(catalog_age_s), MetricUnit.Seconds)

    def record_failure(self, code: str) -> None:
        """Count one failure of the deployment that failed no request; ``code`` is one of :data:`DEGRADATIONS`."""
        self._count("Failures", code)

    def record_publication(self, outcome: str, catalog_age_s: float | None = None) -> None:
        """Count one run of the publisher by its outcome, and write the age of the current catalog at once.

        Args:
            outcome: What the run did, as ``build.unattended`` names it.
            catalog_age_s: How long ago the catalog was published or found up to date; None: not known.
        """
        self._count("Publications", outcome)
        if catalog_age_s is not None:
            self._add("CatalogAge", round(catalog_age_s), MetricUnit.Seconds)
            self.metrics.flush_metrics()

    def _add(self, name: str, value: float, unit: MetricUnit = MetricUnit.Count) -> None:
        """Add a value to the metrics of this invocation, which are written together at its end."""
        try:
            with self._lock:
                self.metrics.add_metric(name=name, unit=unit, value=value)
        except Exception as error:  # noqa: BLE001 - a metric that cannot be written must not fail the call
            self.logger.warning("metric not written: %s", type(error).__name__)

    def _count(self, name: str, code: str) -> None:
        dimensions = {"service": self._service, "code": code}
        try:
            # A metric of its own, not one of self.metrics, whose dimensions all share: an invocation may make more
            # than one call.
            with single_metric(
                name=name, unit=MetricUnit.Count, value=1, namespace=self._namespace, default_dimensions=dimensions
            ):
                pass
        except Exception as error:  # noqa: BLE001 - a metric that cannot be written must not fail the call
            self.logger.warning("metric not written: %s", type(error).__name__)


def configure(settings: Settings, stream: CurrentStdout | None = None) -> Telemetry:
    """Make the logger, the metrics and, where ``settings.trace`` is on, the tracer.

    What the library modules log under ``toolfold`` comes out of the same logger: with its level, its sampling and the
    correlation ID of the invocation.

    Args:
        settings: The settings.
        stream: Where to log to, if no logger was made in this process before; None: to stdout, at once.
    """
    service = os.environ.get("POWERTOOLS_SERVICE_NAME") or "toolfold"
    namespace = os.environ.get("POWERTOOLS_METRICS_NAMESPACE") or "toolfold"
    # Powertools names the logging.Logger after the service. It has to be that of the library modules, so the service
    # is set as a key.
    logger = Logger(
        service=LOGGER_NAME,
        level=settings.log_level,
        stream=cast(TextIO, stream or CurrentStdout()),
        logger_formatter=ExceptionNameFormatter(use_rfc3339=True, utc=True),
    )
    logger.setLevel(settings.log_level)  # Powertools applies ``level`` only when it first configures a logger
    logger.append_keys(service=service)
    logging.getLogger(AUDIT_LOGGER_NAME).setLevel(logging.INFO)  # at every level of the others
    # Most invocations call no tool: https://docs.aws.amazon.com/powertools/python/latest/core/metrics/#flushing-metrics
    warnings.filterwarnings("ignore", "No application metrics to publish")
    return Telemetry(
        logger=logger,
        metrics=Metrics(service=service, namespace=namespace),
        tracer=_make_tracer(service) if settings.trace else None,
        service=service,
        namespace=namespace,
    )


def _make_tracer(service: str) -> Tracer:
    """Make the tracer, which imports the X-Ray SDK.

    Calls of AWS services are traced as well. ``requests`` and ``http.client`` are not: see the top of this module.
    """
    return Tracer(service=service, patch_modules=("botocore",))
