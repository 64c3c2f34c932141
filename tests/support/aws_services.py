"""AWS services on this machine: moto's server, and the environment that points boto3 and toolfold at it."""

import functools
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from moto.server import ThreadedMotoServer


@contextmanager
def _atomic_updates() -> Iterator[None]:
    """Make moto update an item in one step, as DynamoDB does: its threads check a condition, and update afterwards."""
    from moto.dynamodb.models import DynamoDBBackend

    update_item, lock = DynamoDBBackend.update_item, threading.Lock()

    def update_alone(*given: Any, **named: Any) -> Any:
        with lock:
            return update_item(*given, **named)

    DynamoDBBackend.update_item = update_alone  # type: ignore[method-assign]
    yield
    DynamoDBBackend.update_item = update_item  # type: ignore[method-assign]


@contextmanager
def serving() -> Iterator[str]:
    """Serve a new moto server and yield its URL."""
    # Werkzeug logs each request, which no test needs.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with _atomic_updates():
        yield f"http://{host}:{port}"
    server.stop()


def variables(endpoint: str) -> dict[str, str]:
    """Return the environment variables that send all requests of a process to AWS to ``endpoint``."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@functools.cache
def client(service: str, endpoint: str, region: str = "us-east-1") -> Any:
    """Return the client of a service, the same each time: making one takes a tenth of a second."""
    import boto3

    known = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": region}
    return boto3.client(service, endpoint_url=endpoint, **known)  # type: ignore[call-overload]


def client_here(service: str, region: str = "us-east-1") -> Any:
    """Return the client of a service at the endpoint of the environment."""
    return client(service, os.environ["AWS_ENDPOINT_URL"], region)


def create_table(dynamodb: Any, name: str) -> None:
    """Create a table as the shared cache has it."""
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


@contextmanager
def table(name: str) -> Iterator[Any]:
    """Create a table as the shared cache has it, yield a client, and delete the table."""
    dynamodb = client_here("dynamodb")
    create_table(dynamodb, name)
    yield dynamodb
    dynamodb.delete_table(TableName=name)


@contextmanager
def bucket(name: str, s3: Any = None) -> Iterator[Any]:
    """Create a bucket, yield a client, and delete the bucket with all that is in it."""
    s3 = s3 or client_here("s3")
    s3.create_bucket(Bucket=name)
    yield s3
    empty_bucket(s3, name)
    s3.delete_bucket(Bucket=name)


def empty_bucket(s3: Any, name: str) -> None:
    """Delete all objects of a bucket."""
    for item in s3.list_objects_v2(Bucket=name).get("Contents", ()):
        s3.delete_object(Bucket=name, Key=item["Key"])


def use_aws_endpoint(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send all requests of this process to AWS to ``endpoint``."""
    for name, value in variables(endpoint).items():
        monkeypatch.setenv(name, value)
