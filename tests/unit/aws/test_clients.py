"""What may be logged of AWS's errors, and what creating ``AwsClients`` costs."""

import errno
import os
import sqlite3
import subprocess
import sys
from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from toolfold.aws.clients import error_code


def refusal(code: Any, status: int = 400) -> ClientError:
    error = {"Error": {"Code": code, "Message": "SECRET"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(error, "GetItem")  # type: ignore[arg-type]


def unreached() -> HTTPClientError:
    error = HTTPClientError(error="SECRET")
    error.__cause__ = TimeoutError("SECRET")
    return error


def sqlite_error(name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("SECRET")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (unreached(), "TimeoutError"),
        (refusal("ThrottlingException"), "ThrottlingException"),
        (refusal("404", 404), "404"),
        (refusal("a sentence with a SECRET"), "400"),
        (refusal(7), "400"),
        (ClientError({}, "GetItem"), "ClientError"),
        (TimeoutError("SECRET"), "TimeoutError"),
        (OSError(errno.ENOSPC, "SECRET", "/home/SECRET"), os.strerror(errno.ENOSPC)),
        (PermissionError(errno.EACCES, "SECRET", "/home/SECRET"), "PermissionError"),
        (sqlite_error("SQLITE_FULL"), "SQLITE_FULL"),
        # As obstore writes them.
        (OSError("503 for SECRET: <Error><Code>SlowDown</Code>\ninner: Status { status: 503 }"), "SlowDown"),
        (OSError("SECRET <Code>a SECRET</Code>\ninner: Status {\n  status: 502, body: SECRET }"), "502"),
        (OSError("SECRET\ninner: Http(HttpError { kind: Timeout, source: SECRET { kind: Request } })"), "Timeout"),
        (OSError("SECRET without LOCATION\ninner: BareRedirect,"), "BareRedirect"),
    ],
)
def test_an_error_is_reduced_to_its_code(error: Exception, code: str) -> None:
    assert error_code(error) == code


def test_boto3_is_imported_by_the_first_client_and_not_before() -> None:
    program = (
        "import sys; from toolfold.aws import clients; from toolfold.cache import dynamodb\n"
        "from toolfold.execution import api_keys; from toolfold.results import offload\n"
        "from toolfold.settings import Settings\n"
        "api_keys.SecretProvider(Settings.from_environment({}), clients.AwsClients())\n"
        "print({'boto3', 'botocore', 'obstore', 'urllib3', 'aws_lambda_powertools'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
