"""The upstream and AWS, each in a process of its own so that they take no time from the measured servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cold.events import SYMBOL
from benchmarks.cold.measured_servers import BUCKET, ROOT, TABLE
from tests.conformance.helpers import start_server
from toolfold.build.publisher import publish
from toolfold.catalog.store import bundled_path

CATALOG = f"s3://{BUCKET}/catalog"
_CREDENTIALS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "eu-central-1"}


@dataclass(frozen=True, slots=True)
class Services:
    """The environment ``variables`` of the servers; ``clear_table`` deletes all cached responses."""

    variables: Mapping[str, str]
    clear_table: Callable[[], None]


@contextmanager
def running() -> Iterator[Services]:
    """Run the mock API without latency, and moto with the catalog, the bucket and the table."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'layers/core'}", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        mock_api = [sys.executable, "-m", "toolfold", "mock-api", "--port", "0"]
        moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        home = {**environment, "HOME": folder}
        with (
            start_server(mock_api, env=home, log=Path(folder) / "mock_api.log") as upstream,
            start_server(moto, env=home, log=Path(folder) / "moto.log") as aws,
        ):
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
    import boto3

    s3 = boto3.client("s3", endpoint_url=endpoint, **_CREDENTIALS)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    publish(bundled_path().read_bytes(), CATALOG, s3)
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint, **_CREDENTIALS)

    def make_table() -> None:
        dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def clear_table() -> None:
        dynamodb.delete_table(TableName=TABLE)
        make_table()

    make_table()
    return clear_table


def machine() -> Mapping[str, Any]:
    """Return the processor, the cores and the system of this machine."""
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.partition(":")[2].strip() for line in about.splitlines() if line.startswith("model name")), "?")
    release = subprocess.run(["uname", "-sm"], capture_output=True, text=True, check=True).stdout.strip()
    return {"processor": model, "cores": os.cpu_count(), "system": release}


def described(machine: Mapping[str, Any]) -> str:
    """Return the result of :func:`machine` as a sentence."""
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}."
