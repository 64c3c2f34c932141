"""Print the bytes of log that each kind of request writes: ``python -m benchmarks.cold.log_lines``.

The handler runs in this process, with a published catalog and a cache in memory, in some seconds. ``make bench-lambda``
counts the same of the built function.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import uuid
from types import SimpleNamespace

from benchmarks import harness
from benchmarks.cold.cost import MILLION, OTHER_LOG, dollars
from benchmarks.cold.events import CACHED, FRESH, GET, LISTING, SEARCH, request_sets
from scripts.measured_tables import markdown_table
from tests.support import aws_services
from tests.support.catalogs import publish
from tests.support.lambda_handler import CONTEXT, load_gateway
from toolfold.catalog.store import bundled_path
from toolfold.mock_api.server import MockApi

KINDS = {"a cold start": LISTING, LISTING: LISTING, SEARCH: SEARCH, GET: GET, FRESH: FRESH, CACHED: CACHED}


def measure(_: argparse.Namespace) -> str:
    """Return the table."""
    with aws_services.serving() as url, MockApi() as mock_api:
        os.environ |= aws_services.variables(url) | {
            "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1", "TOOLFOLD_CATALOG": "s3://catalogs/catalog",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "POWERTOOLS_SERVICE_NAME": "toolfold",
        }  # fmt: skip
        s3 = aws_services.client("s3", url)
        s3.create_bucket(Bucket="catalogs")
        publish(bundled_path().read_bytes(), "s3://catalogs/catalog", s3)
        gateway = load_gateway()
        context = SimpleNamespace(**{**vars(CONTEXT), "aws_request_id": str(uuid.uuid4())})
        rows = []
        for title, kind in KINDS.items():
            with contextlib.redirect_stdout(io.StringIO()) as written:
                gateway.handler(request_sets()[kind].at(0), context)
            log = written.getvalue()
            cost = dollars("Logs", len(log) + OTHER_LOG) * MILLION
            rows.append((title, str(log.count("\n")), f"{len(log):,}", f"{cost:.2f}"))
    head = ("request", "lines", "bytes", f"$ a million, with {OTHER_LOG} bytes of the access log")
    return markdown_table(head, rows)


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "python -m benchmarks.cold.log_lines", measure))
