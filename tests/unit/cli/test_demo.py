"""``toolfold demo`` on terminals of several widths."""

from __future__ import annotations

import re

import pytest

from tests.unit.cli.conftest import Run
from toolfold.demo import wrap

TEXT = '{"symbol":"IBM","price":303.02,"at":"10:30:15","list":[1,2,-3]} 1,616 rows of GLOBAL_QUOTE(symbol, x?): see https://a.b:8/c'
WORDS = re.compile(r"[\w.?/-]+")


@pytest.mark.parametrize("width", range(20, 80, 7))
def test_lines_end_between_words(width: int) -> None:  # N14
    lines = wrap(TEXT, width, "  ")
    assert WORDS.findall(" ".join(lines)) == WORDS.findall(TEXT)
    assert max(map(len, lines)) <= max(width, len("  GLOBAL_QUOTE(symbol,"))
    assert any("1,616" in line for line in lines)
    assert any("10:30:15" in line for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80, 140, 200])
def test_demo_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:  # N14
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width
    assert "   │ " in out
    assert "Two stocks are compared in one call:" in out
