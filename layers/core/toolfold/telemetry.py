"""Logs, metrics and traces. ``configure`` makes them once per process; logs and traces are Powertools for AWS Lambda.

The line of a request, with that of its call, is also its metrics, in the embedded metric format (EMF): CloudWatch bills
what it takes in, and one line has time, names and code once.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

No log line, metric or trace may hold an API key, so none holds a body, an argument, a header, a query string or the
text of an exception: only names, codes and figures. That is why events and responses are never captured, and why
``requests`` is not traced (its exceptions quote URLs).

Environment variables of Powertools that apply here: ``POWERTOOLS_SERVICE_NAME`` and ``POWERTOOLS_METRICS_NAMESPACE``.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar, cast

from aws_lambda_powertools import Logger, Tracer
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from toolfold.errors import (
    ANSWER_NOT_SAVED,
    CACHE_UNAVAILABLE,
    CATALOG_NOT_REFRESHED,
    KEY_REJECTED,
    KEY_UNREADABLE,
    LIMITS_UNAVAILABLE,
    ApprovalUnavailable,
    AuthRejected,
    CatalogUnavailable,
    InternalError,
    IssuerUnavailable,
    UpstreamError,
    UpstreamTimeout,
)

if TYPE_CHECKING:
    from aws_lambda_powertools.logging.types import LogRecord

    from toolfold.execution.call import CallLog
    from toolfold.protocol.http import LogFields
    from toolfold.settings import Settings

Handler = TypeVar("Handler", bound=Callable[..., Any])

LOGGER_NAME = "toolfold"
"""What the modules of this package pass to ``logging.getLogger``."""

FAILURES: Mapping[str, str] = {
    **dict.fromkeys((CatalogUnavailable.code, IssuerUnavailable.code, ApprovalUnavailable.code), "unavailable"),
    **dict.fromkeys((KEY_UNREADABLE, KEY_REJECTED), "unavailable"),
    InternalError.code: "defect",
    **dict.fromkeys((CACHE_UNAVAILABLE, ANSWER_NOT_SAVED, CATALOG_NOT_REFRESHED, LIMITS_UNAVAILABLE), "degraded"),
}
"""Code of a failure that no upstream causes, and no argument should → its ``kind``, which an alarm counts."""

CACHE_HITS = ("memory", "shared", "joined")
"""``CallLog.cache`` of calls that were answered without a request of their own, and not because their source failed."""

SERVICE_ERRORS = (UpstreamError.code, UpstreamTimeout.code, InternalError.code)
"""Codes of calls that failed through the source or through toolfold. Others depend on the caller: its arguments, its
API key, the plan of the key."""

USAGE_METRICS: Mapping[str, str] = {
    "schemas_full": "SchemasFull",
    "schemas_medium": "SchemasMedium",
    "schemas_minimal": "SchemasMinimal",
    "schemas_unchanged": "SchemasUnchanged",
    "tokens": "TokensAnswered",
    "tokens_saved": "TokensSaved",
}
"""Field of the log line of a request (``meta_tools.dispatcher.usage_of``) → the metric that adds it up."""


CALL_LOGGER_NAME = "toolfold.calls"
"""The logger of ``execution.call`` for lines of every level, which come out of the same handler."""

_UNITS = {"UpstreamLatency": "Milliseconds", "QuotaUsed": "Percent", "CatalogAge": "Seconds"}
"""Units of metrics that are no counts."""

_HIDDEN = (
    "exception", "exception_notes", "stack_trace", "cold_start",
    "function_name", "function_memory_size", "function_arn",
)  # fmt: skip
"""What Powertools adds to lines: texts of exceptions, and what is the same in each line of a log group."""


class ExceptionNameFormatter(LambdaPowertoolsFormatter):
    """Log the class of an exception as ``exception_name``, but neither its text nor its traceback."""

    def serialize(self, log: LogRecord) -> str:
        """Return ``log`` as one line of JSON."""
        hidden = set(_HIDDEN)
        if log.get("level") == "INFO":
            hidden.add("location")
        if "Sampled=1" not in os.environ.get("_X_AMZN_TRACE_ID", ""):
            hidden.add("xray_trace_id")  # Lambda names a trace that X-Ray does not keep, too
        return super().serialize({name: value for name, value in log.items() if name not in hidden})


class CurrentStdout:
    """Write to what ``sys.stdout`` is at that moment, so that redirecting it takes effect.

    What cannot be written, as the reader of a pipe is gone, is lost: logging would print a traceback for each line.
    """

    def write(self, text: str) -> int:
        """Write ``text`` at once: it is a whole line."""
        with suppress(OSError, ValueError):  # ValueError: closed by this process
            sys.stdout.write(text)
            sys.stdout.flush()
        return len(text)


class _Line(NamedTuple):
    """A log line that is written at every log level.

    Attributes:
        message: Its ``message``.
        fields: Its other fields; ``code`` where ``by_code`` has something.
        by_code: Metrics with the dimensions service and code, and again with service and ``kind`` if there is one.
        by_service: Metrics with the dimension service.
    """

    message: str
    fields: dict[str, Any]
    by_code: dict[str, float]
    by_service: dict[str, float]


class Telemetry:
    """The logger, the metrics and the tracer of one process; ``tracer`` is None where tracing is off.

    ``record_call`` and ``record_request`` are for a process that answers one request at a time, as Lambda's do: a call
    is kept back until its request has ended, and is then a part of the line of its request, if it is the only one.
    """

    def __init__(self, logger: Logger, tracer: Tracer | None, namespace: str) -> None:
        self.logger = logger
        self.tracer = tracer
        self._namespace = namespace
        self._lines = logging.getLogger(CALL_LOGGER_NAME)
        self._calls: list[_Line] = []
        # Environments of provisioned concurrency were started before the request.
        self._is_cold = os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") != "provisioned-concurrency"

    def capture_lambda_handler(self, handler: Handler) -> Handler:
        """Trace ``handler`` as a subsegment with X-Ray, where tracing is on (a decorator)."""
        if self.tracer is None:
            return handler
        captured: Handler = self.tracer.capture_lambda_handler(handler, capture_response=False, capture_error=False)  # type: ignore[assignment]
        return captured

    def record_call(self, call: CallLog) -> None:
        """Count and log one finished call of a tool, and audit it.

        The metric ``Calls`` has the code of the outcome as a dimension, but not the tool: CloudWatch bills each
        combination of values as a metric of its own. The other metrics have no dimension but the service.
        """
        if call.is_operator_key and call.code == AuthRejected.code:
            self.record_failure(KEY_REJECTED)  # other keys are their callers' affair
        line = _Line("call", {**call.fields(), **call.audit}, {}, {})
        if call.is_counted:
            line.by_code["Calls"] = 1
            line.by_service["CallErrors"] = int(call.code in SERVICE_ERRORS)
            if call.cache != "bypass":
                line.by_service["CacheHits"] = int(call.cache in CACHE_HITS)
            if call.requests:
                line.by_service["UpstreamLatency"] = round(call.upstream_s * 1000, 1)
            if call.quota_used_percent is not None and call.is_operator_key:
                line.by_service["QuotaUsed"] = round(call.quota_used_percent, 1)
        self._calls.append(line)

    def record_request(self, fields: LogFields, catalog_age_s: float | None = None, *, is_probe: bool = False) -> None:
        """Count and log one answered request, with its call where it has made one.

        Args:
            fields: What its log line has.
            catalog_age_s: How long ago the catalog was published; None: not known.
            is_probe: Whether it is logged at DEBUG only, and apart from its calls.
        """
        code = fields.get("error", "")
        if code in FAILURES:
            self.record_failure(str(code))
        line = _Line("request", dict(fields), {}, {})
        if self._is_cold:
            self._is_cold, is_probe = False, False
            line.by_service["ColdStart"] = 1
        # The first response of a client calls no meta-tool, and waits for no other metric.
        if "tool" in fields:
            for name, metric in USAGE_METRICS.items():
                if (figure := fields.get(name)) is not None:
                    line.by_service[metric] = int(figure)
            if "searched" in fields:
                line.by_service["EmptySearches"] = int(not fields.get("matched"))
            if catalog_age_s is not None:
                line.by_service["CatalogAge"] = round(catalog_age_s)
        if len(self._calls) == 1 and not is_probe:
            call = self._calls.pop()
            line = _Line(line.message, line.fields | call.fields, call.by_code, line.by_service | call.by_service)
        self.flush()
        if is_probe:
            self.logger.debug(line.message, extra=line.fields)
        else:
            self._write(line)

    def flush(self) -> None:
        """Write the lines of calls that are kept back: their request made several, or has not been answered."""
        calls, self._calls = self._calls, []
        for call in calls:
            self._write(call)

    def record_failure(self, code: str) -> None:
        """Count one failure of the deployment; ``code`` is one of :data:`FAILURES`."""
        self._write(_Line("failure", {"code": code, "kind": FAILURES.get(code, "degraded")}, {"Failures": 1}, {}))

    def record_publication(self, outcome: str, catalog_age_s: float | None = None) -> None:
        """Count one run of the publisher by its outcome, with the age of the current catalog.

        Args:
            outcome: What the run did, as ``build.publisher`` names it.
            catalog_age_s: How long ago the catalog was published or found up to date; None: not known.
        """
        age: dict[str, float] = {} if catalog_age_s is None else {"CatalogAge": round(catalog_age_s)}
        self._write(_Line("publication", {"code": outcome}, {"Publications": 1}, age))

    def _write(self, line: _Line) -> None:
        """Log the fields of a line, and its metrics, described as EMF."""
        of_code = [["service", name] for name in ("code", "kind") if name in line.fields]
        directives: list[dict[str, Any]] = []
        for dimensions, metrics in ((of_code, line.by_code), ([["service"]], line.by_service)):
            listed = [{"Name": name, **({"Unit": _UNITS[name]} if name in _UNITS else {})} for name in metrics]
            if listed:
                directives.append({"Namespace": self._namespace, "Dimensions": dimensions, "Metrics": listed})
        described = {"_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": directives}}
        members = {**line.fields, **line.by_code, **line.by_service, **(described if directives else {})}
        self._lines.info(line.message, extra=members)


def configure(settings: Settings, stream: CurrentStdout | None = None) -> Telemetry:
    """Make the logger, the metrics and, where ``settings.trace`` is on, the tracer.

    What the library modules log under ``toolfold`` comes out of the same logger: with its level, its sampling and the
    correlation ID of the invocation.

    Args:
        settings: The settings.
        stream: Where to log to from now on; None: to stdout, at once.
    """
    service = os.environ.get("POWERTOOLS_SERVICE_NAME") or "toolfold"
    namespace = os.environ.get("POWERTOOLS_METRICS_NAMESPACE") or "toolfold"
    # Powertools names the logging.Logger after the service. It has to be that of the library modules, so the service
    # is set as a key.
    target = cast(TextIO, stream or CurrentStdout())
    logger = Logger(
        service=LOGGER_NAME,
        level=settings.log_level,
        stream=target,
        sampling_rate=settings.log_sample_rate,
        logger_formatter=ExceptionNameFormatter(use_rfc3339=True, utc=True),
    )
    logger.setLevel(settings.log_level)  # Powertools applies level and stream only when it first configures a logger
    cast(logging.StreamHandler[TextIO], logger.registered_handler).setStream(target)
    logger.append_keys(service=service)
    logging.getLogger(CALL_LOGGER_NAME).setLevel(logging.INFO)  # at every level of the others
    # Calls of AWS services are traced as well. `requests` and `http.client` are not: see the top of this module.
    tracer = Tracer(service=service, patch_modules=("botocore",)) if settings.trace else None
    return Telemetry(logger, tracer, namespace)
