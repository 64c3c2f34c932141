"""Faults of ``faults.csv``, AWS services that can fail, and a toolfold whose clock the test moves."""

import csv
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws_services import client, empty_bucket, use_aws_endpoint
from tests.support.clocks import Clock
from tests.support.executor import settings_for
from tests.support.proxies import FaultyProxy
from toolfold.catalog.model import Catalog
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result

FAULTS_FILE = Path(__file__).with_name("faults.csv")


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes:
        fault: Its name.
        cause: What causes it in the test.
        response: What a model gets: a code and its sentence, or data.
        next_step: The suggestion of the error.
        log: What is logged.
        requests: How many requests the upstream gets.
        cached: What is cached.
        test: The test that checks the row.
    """

    fault: str
    cause: str
    response: str
    next_step: str
    log: str
    requests: str
    cached: str
    test: str

    @property
    def code(self) -> str:
        """The code of the error, or ``OK``."""
        found = re.match(r"`([A-Z_]+)` ", self.response)
        return found[1] if found else "OK"

    @property
    def message(self) -> str:
        """The message of the error."""
        return self.response.partition("` ")[2]


def all_rows() -> list[Row]:
    """Return the rows of the table."""
    with FAULTS_FILE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def parametrize_rows(test: str) -> Any:
    """Parametrize a test with the rows that name it, as ``row``."""
    rows = [row for row in all_rows() if row.test == test]
    return pytest.mark.parametrize("row", rows, ids=[row.fault for row in rows])


TABLE, BUCKET = "answers", "things"


@dataclass(frozen=True)
class Aws:
    """The services: toolfold reaches them through ``faulty``, the clients reach them directly."""

    faulty: FaultyProxy
    dynamodb: Any
    s3: Any

    def items(self) -> list[dict[str, Any]]:
        """Return the cache entries of the table."""
        found = self.dynamodb.scan(TableName=TABLE)["Items"]
        return [item for item in found if set(item["pk"]["S"]) <= set("0123456789abcdef")]


@pytest.fixture
def aws(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Create the table and the bucket; nothing fails until a test adds faults."""
    with FaultyProxy(endpoint) as faulty:
        use_aws_endpoint(faulty.url, monkeypatch)
        dynamodb, s3 = client("dynamodb", endpoint), client("s3", endpoint)
        for table, key, kind in ((TABLE, "pk", "S"), ("other-shape", "id", "N")):
            dynamodb.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind}],
                BillingMode="PAY_PER_REQUEST",
            )
        s3.create_bucket(Bucket=BUCKET)
        yield Aws(faulty, dynamodb, s3)
        for table in (TABLE, "other-shape"):
            dynamodb.delete_table(TableName=table)
        empty_bucket(s3, BUCKET)
        s3.delete_bucket(Bucket=BUCKET)


KEY, OTHER_KEY = "CANARYKEY0123456", "OTHERKEY98765432"
SERIES, QUOTE = "TIME_SERIES_WEEKLY", "GLOBAL_QUOTE"


class Scenario:
    """Meta-tools over the real catalog and the upstream at ``url``; ``log_records`` are what they log."""

    def __init__(
        self, url: str, log_records: list[logging.LogRecord], store: Callable[[], Catalog], **environment: str
    ) -> None:
        self.settings = settings_for(url, **environment)
        self.clock, self.log_records = Clock(), log_records
        self.executor = ToolExecutor(self.settings, clock=self.clock.clocks())
        self.aws = self.executor.aws
        self.tools = MetaTools(store, self.executor)

    def call(self, tool: str = SERIES, key: str = KEY, left_s: float | None = None, **arguments: Any) -> Result:
        """Call ``TOOL_CALL``; ``left_s`` are the seconds that are left of the request."""
        self._catch_up()
        deadline = None if left_s is None else self.clock.monotonic() + left_s
        own = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
        asked = {"tool_name": tool, "arguments": arguments, **own}
        try:
            return self.tools.call("TOOL_CALL", asked, RequestCredentials(bearer=key), deadline)
        finally:
            self._catch_up()

    def _catch_up(self) -> None:
        """Move the clock by the real time that sockets have taken."""
        self.clock.now += max(0.0, time.monotonic() - self.clock.monotonic())

    def calls(self) -> list[logging.LogRecord]:
        """Return the log records of calls, one for each."""
        return [line for line in self.log_records if line.getMessage() == "call"]

    def warnings(self) -> list[str]:
        """Return level and text of the other log records, with HASH for a hash."""
        lines = [f"{line.levelname} {line.getMessage()}" for line in self.log_records if line.getMessage() != "call"]
        return [re.sub(r"[0-9a-f]{64}", "HASH", line) for line in lines]

    @contextmanager
    def concurrent_call(self) -> Iterator[None]:
        """Make a healthy call with another key at the same time and one afterwards; check that both succeed."""
        with ThreadPoolExecutor() as threads:
            beside = threads.submit(self.call, QUOTE, OTHER_KEY, symbol="MSFT")
            yield
        for result in (beside.result(), self.call(QUOTE, OTHER_KEY, symbol="AAPL")):
            assert not result.is_error, result.text
            assert result.structured["result"]


def visible_text(result: Result) -> str:
    """Return everything that a model can see."""
    return result.text + json.dumps(result.structured)
