"""The one logger of the HTTP transports. Nobody makes another.

Powertools' Logger writes JSON lines that CloudWatch can query. It is given names and codes only: no bodies, no
arguments, no headers, no query strings, since any of them may hold an API key.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any


def _make_logger() -> Any:
    """Powertools' Logger, imported without botocore.

    Powertools imports botocore, where there is one, to sign its name into the user agent of AWS calls. None is made
    through botocore on the request path, and the import is not wanted there.
    """
    absent = "botocore" not in sys.modules
    if absent:
        sys.modules["botocore"] = None  # type: ignore[assignment]  # what makes an import raise ImportError
    try:
        from aws_lambda_powertools.logging import Logger
    finally:
        if absent:
            del sys.modules["botocore"]
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "toolfold")
    return Logger(service=service, location=None, use_rfc3339=True)


logger = _make_logger()


def adopt_library_logs() -> None:
    """Let what the core logs (``logging.getLogger("toolfold")``) come out as the same JSON lines."""
    core = logging.getLogger("toolfold")
    core.handlers = list(logger.handlers)
    core.setLevel(logger.log_level)
    core.propagate = False
