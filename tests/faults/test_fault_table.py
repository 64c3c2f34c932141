"""The table of faults and the tests name each other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.faults.fault_table import all_rows


def test_every_row_names_a_test_that_checks_it() -> None:
    code = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))
    parametrized = re.findall(r'^@parametrize_rows\("(\w+)"\)\ndef (\w+)\(', code, re.MULTILINE)
    assert all(name == test for name, test in parametrized)
    assert {row.test for row in all_rows()} == {test for _, test in parametrized}


def test_each_fault_is_in_the_table_once() -> None:
    named = [row.fault for row in all_rows()]
    assert len(named) == len(set(named))
