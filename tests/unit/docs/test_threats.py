"""Every test that ``threats.csv`` names exists, its actors are those of the page, and every known attack has a test."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path("docs/explanation/security.md").read_text(encoding="utf-8")
TESTS = Path("tests")
with (TESTS / "unit/docs/threats.csv").open(encoding="utf-8", newline="") as file:
    THREATS = list(csv.DictReader(file))
ATTACKS = [f"R{number}" for number in range(1, 26)]
"""Comments on tests: attacks that once succeeded."""


def _marked_tests() -> Iterator[tuple[str, str]]:
    """Yield each attack, and the file with a comment that names it."""
    for path in TESTS.rglob("test_*.py"):
        for comment in re.findall(r"#((?: R\d+,?)+)(?:[ ,;:.]|$)", path.read_text(), re.MULTILINE):
            for attack in re.findall(r"R\d+", comment):
                yield attack, str(path)


MARKED = list(_marked_tests())


def test_every_named_test_exists() -> None:
    for named in {row["test"] for row in THREATS}:
        file, _, name = named.partition("::")
        assert re.search(rf"^ *(def|class) {name or 'test_'}", (TESTS / file).read_text(), re.MULTILINE), named


def test_every_actor_of_the_page_has_tests() -> None:
    assert {row["actor"] for row in THREATS} == set(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))


def test_every_attack_that_succeeded_once_has_a_test_and_no_other_is_named() -> None:
    assert {attack for attack, _ in MARKED} == set(ATTACKS)
