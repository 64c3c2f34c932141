"""What the benchmarks have in common."""

import pytest

from benchmarks import harness


def test_a_measurement_has_one_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(harness.track(("a", "b"), lambda item: f"Measuring {item}")) == ["a", "b"]
    assert capsys.readouterr() == ("", "1/2 Measuring a\n2/2 Measuring b\n")
