"""The table of docs/reference/faults.md, as parameters of the tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/faults.md"


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
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    rows = [Row(*row) for row in cells if len(row) == len(Row.__dataclass_fields__)]
    return [row for row in rows if row.test.startswith("`")]


def parametrize_rows(test: str) -> Any:
    """Parametrize a test with the rows that name it, as ``row``."""
    rows = [row for row in all_rows() if row.test == f"`{test}`"]
    return pytest.mark.parametrize("row", rows, ids=[row.fault for row in rows])
