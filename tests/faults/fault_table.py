"""The rows of ``faults.csv``, as parameters of the tests."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).with_name("faults.csv")


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
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def parametrize_rows(test: str) -> Any:
    """Parametrize a test with the rows that name it, as ``row``."""
    rows = [row for row in all_rows() if row.test == test]
    return pytest.mark.parametrize("row", rows, ids=[row.fault for row in rows])
