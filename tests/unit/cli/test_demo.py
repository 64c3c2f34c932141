"""``toolfold demo`` on terminals of several widths."""

import pytest

from tests.support.commands import Run


@pytest.mark.parametrize("width", [40, 60, 80, 140, 200])
def test_demo_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:  # N14
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width
    assert "   │ " in out
    assert '"changePercent":' in out  # no line ends within a key
    assert "Two stocks are compared in one call:" in out
