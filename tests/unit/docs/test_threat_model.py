"""Every test that the threat model names exists, and every known attack has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path("docs/explanation/threat-model.md").read_text()
TESTS = Path("tests")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE)))
ATTACKS = [f"R{number}" for number in range(1, 26)]
"""Comments on tests: attacks that once succeeded."""


def _marked_tests() -> Iterator[tuple[str, str]]:
    """Yield each attack, and the file with a comment that names it."""
    for path in TESTS.rglob("test_*.py"):
        for comment in re.findall(r"#((?: R\d+,?)+)(?:[ ,;:.]|$)", path.read_text(), re.MULTILINE):
            for attack in re.findall(r"R\d+", comment):
                yield attack, str(path)


MARKED = list(_marked_tests())


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part or "all")
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^ *def {name or 'test_'}", (TESTS / file).read_text(), re.MULTILINE)


def test_every_actor_has_a_table_with_tests() -> None:
    actors = re.findall(r"^## (An? .*|Another .*)$", PAGE, re.MULTILINE)
    assert len(actors) == 8
    for actor in actors:
        section = PAGE.partition(f"## {actor}\n")[2].partition("\n## ")[0]
        assert re.search(r"`[\w/]+\.py", section), actor


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_that_succeeded_once_has_a_test(attack: str) -> None:
    assert attack in {marked for marked, _ in MARKED}


def test_comments_name_known_attacks() -> None:
    assert {attack for attack, _ in MARKED} <= set(ATTACKS)
