"""The Lambda function behind API Gateway: MCP over HTTP, stateless.

Everything is made once, while Lambda initialises the environment and CPU is plentiful.
"""

from __future__ import annotations

import gc

# Imports create objects that stay, and a collection looks through all of them: a tenth of a cold start. Collections
# begin when the imports below are done, and rarely: the first call imports more.
gc.disable()
gc.set_threshold(20_000)

import os
from typing import TYPE_CHECKING, Any

from toolfold.catalog.store import S3Store, open_store
from toolfold.settings import Settings
from toolfold.settings.file import apply_settings, use_stand_ins

apply_settings()
stand_ins = use_stand_ins(os.environ)
settings = Settings.from_environment()
catalog_store = open_store(settings)
if isinstance(catalog_store, S3Store):
    catalog_store.start_reading()  # S3 answers while the modules below are imported

from aws_lambda_powertools.logging import correlation_paths

from toolfold.app import build_app
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

telemetry = configure(settings)
if stand_ins:
    named = ", ".join(f"{name}={value or '(empty)'}" for name, value in stand_ins.items())
    telemetry.logger.info("sam local: callers are not checked, and no resources of a stack are used: %s", named)
app = build_app(
    settings,
    catalog_store=catalog_store,
    on_call=telemetry.record_call,
    on_failure=telemetry.record_failure,
    is_public=True,
    logs_audit=True,
)
gateway = LambdaHandler(app, telemetry, telemetry.record_request)
if isinstance(catalog_store, S3Store):
    # Lambda may stop this environment for minutes once it is initialised, and an open request would fail. Less than the
    # 10 s that Lambda allows: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
    catalog_store.wait(timeout_s=5)

if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand":
    from toolfold.transports import snapstart  # no request waits for this environment yet

    snapstart.prepare(app)

gc.freeze()  # later collections pass over what was imported
gc.enable()


@telemetry.capture_lambda_handler
# log_event=False, so that POWERTOOLS_LOGGER_LOG_EVENT cannot turn it on: events hold API keys.
@telemetry.logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_HTTP, log_event=False)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one event of API Gateway (payload format 2.0 or 1.0) or of a function URL."""
    try:
        return gateway(event, context.get_remaining_time_in_millis() / 1000)
    finally:
        telemetry.flush()
