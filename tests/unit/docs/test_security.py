"""Every test and module that the page about security names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path("docs/explanation/security.md").read_text()
PACKAGE, TESTS = Path("layers/core/toolfold"), Path("tests")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part or "all")
def test_what_is_named_exists(file: str, name: str) -> None:
    if (PACKAGE / file).exists():
        assert not name
        return
    assert re.search(rf"^ *(def|class) {name or 'test_'}", (TESTS / file).read_text(), re.MULTILINE)
