"""The table of docs/reference/faults.md, as the tests walk it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/faults.md"


@dataclass(frozen=True)
class Row:
    """One fault. ``sees`` is what a model gets: a code and its sentence, or data; ``operator`` what is logged;
    ``requests`` how many the upstream gets; ``held`` what is kept of it."""

    fault: str
    made_by: str
    sees: str
    next_step: str
    operator: str
    requests: str
    held: str
    test: str

    @property
    def code(self) -> str:
        """The code of the error, or ``OK``."""
        found = re.match(r"`([A-Z_]+)` ", self.sees)
        return found[1] if found else "OK"

    @property
    def sentence(self) -> str:
        return self.sees.partition("` ")[2]


def all_rows() -> list[Row]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    rows = [Row(*row) for row in cells if len(row) == len(Row.__dataclass_fields__)]
    return [row for row in rows if row.test.startswith("`")]


def parametrize_rows(test: str) -> Any:
    """Parametrizes a test with the rows that name it, as ``row``."""
    rows = [row for row in all_rows() if row.test == f"`{test}`"]
    return pytest.mark.parametrize("row", rows, ids=[row.fault for row in rows])
