"""Faults of the operator's key in Secrets Manager: calls go on with the last key, and soon with the right one."""

import uuid
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.faults.aws import Aws
from tests.faults.fault_table import Row, parametrize_rows
from tests.faults.scenario import Scenario
from tests.support.aws_services import client
from tests.support.cpu_time import ends_within
from tests.support.proxies import Fault
from tests.support.upstream import CSV, Reply, Upstream
from toolfold.execution import api_keys

OLD, NEW = "OLDKEY0123456789", "NEWKEY0123456789"
REFUSAL = b'{"Error Message": "the parameter apikey is invalid or missing."}'
TIMEOUT_S, RETRY_S = 1.5, 5.0

REPLACED_BY = {"key rotated": NEW, "key withdrawn": OLD, "secret emptied": " ", "secret emptied, cold start": " "}
"""Fault → what the secret is then; the others do not change it."""


@parametrize_rows("test_operator_key")
def test_operator_key(
    row: Row, scenario: Callable[..., Scenario], aws: Aws, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = client("secretsmanager", endpoint)
    arn = secrets.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=OLD)["ARN"]
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", arn)
    accepted = OLD

    def reply(query: dict[str, str]) -> Reply:
        return 200, {}, CSV.encode() if query["apikey"] == accepted else REFUSAL

    with Upstream(reply) as upstream:
        here = scenario(upstream.url, SECRET_TIMEOUT_S="30" if row.fault in REPLACED_BY else str(TIMEOUT_S))
        monkeypatch.setattr(api_keys, "time", SimpleNamespace(time=here.clock))
        if "cold start" not in row.fault:
            assert not here.call("CPI", key="", fresh=True).is_error
        here.clock.now += here.settings.secret_ttl_s / 2 if row.fault.startswith("key") else here.settings.secret_ttl_s
        if row.fault in REPLACED_BY:
            secrets.put_secret_value(SecretId=arn, SecretString=REPLACED_BY[row.fault])
            accepted = OLD if row.fault.startswith("secret") else NEW
        else:
            aws.faulty.faults["secretsmanager"] = Fault(delay_s=3)
        upstream.requests.clear()
        for reads in (1, 0):  # the second call does not wait for AWS
            read = len(aws.faulty.requests)
            with ends_within(reads * 2 * TIMEOUT_S):
                result = here.call("CPI", key="", fresh=True)
            assert len(aws.faulty.requests) - read == reads
            if row.code == "OK":
                assert not result.is_error, result.text
            else:
                error = result.structured["error"]
                assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)
        assert len(upstream.requests) == int(row.requests)
        assert set(here.warnings()) == ({row.log.strip("`")} if "cannot be read" in row.log else set())
        aws.faulty.faults.clear()
        secrets.put_secret_value(SecretId=arn, SecretString=accepted)
        here.clock.now += RETRY_S
        assert not here.call("CPI", key="", fresh=True).is_error
