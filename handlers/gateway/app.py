"""The Lambda function behind API Gateway: MCP over HTTP, stateless.

Everything happens in the core layer; this file only names its entry, and builds it while Lambda initialises the
environment, when CPU is plentiful.
"""

from __future__ import annotations

import os
from typing import Any

from toolfold.settings import Settings
from toolfold.transports.lambda_handler import LambdaHandler

gateway = LambdaHandler(Settings.from_environment())

if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand":
    from toolfold.transports import snapstart  # nobody waits for this environment yet

    snapstart.prepare(gateway)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of payload format 2.0."""
    return gateway(event, context.aws_request_id, context.get_remaining_time_in_millis() / 1000)
