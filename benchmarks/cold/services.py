"""The upstream and AWS, each in a process of its own so that they take no time from the measured servers."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import servers
from benchmarks.cold.events import SYMBOL
from benchmarks.cold.servers import BUCKET, TABLE
from tests.conformance.helpers import start_server
from tests.support import aws_services
from tests.support.catalogs import publish
from toolfold.catalog.store import bundled_path

CATALOG, REGION = f"s3://{BUCKET}/catalog", "eu-central-1"


@dataclass(frozen=True, slots=True)
class Services:
    """The environment ``variables`` of the servers; ``clear_table`` deletes all cached responses."""

    variables: Mapping[str, str]
    clear_table: Callable[[], None]


@contextmanager
def running() -> Iterator[Services]:
    """Run the mock API without latency, and moto with the catalog, the bucket and the table."""
    with tempfile.TemporaryDirectory() as folder, servers.mock_api() as upstream:
        moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        home = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", "HOME": folder}
        with start_server(moto, env=home, log=Path(folder) / "moto.log") as aws:
            with urllib.request.urlopen(f"{upstream}?function=GLOBAL_QUOTE&symbol={SYMBOL}&apikey=any") as answer:
                json.load(answer)  # the first response of the mock API takes longer
            variables = {
                "AWS_ENDPOINT_URL": aws,
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream,
                "ALPHA_VANTAGE_API_KEY": "mock-key",
                "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            }
            yield Services(variables, _filled(aws))


def _filled(endpoint: str) -> Callable[[], None]:
    """Create the resources of a deployment; return the function that clears the table."""
    s3, dynamodb = (aws_services.client(service, endpoint, REGION) for service in ("s3", "dynamodb"))
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    publish(bundled_path().read_bytes(), CATALOG, s3)

    def clear_table() -> None:
        dynamodb.delete_table(TableName=TABLE)
        aws_services.create_table(dynamodb, TABLE)

    aws_services.create_table(dynamodb, TABLE)
    return clear_table
