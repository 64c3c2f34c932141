"""The counts of files and lines, and the record that they may not exceed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts.size import Count, count_code_lines, count_files, count_package, grown, render, write_record

RECORD = {"results": {"budget": 5, "lines": 10, "files": 2, "reason": "a table"}}


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert count_code_lines('"""Module."""\n\n# comment\nX = (1,\n     2)\n"""About X."""\n') == 2
    assert count_code_lines('def f():\n    """Say it."""\n    return "text"  # why\n') == 2


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("layers/core/toolfold/results/select/query.py", "results"),
        ("layers/core/toolfold/errors.py", "top level"),
        ("layers/core/toolfold/scripts/limits.py", "scripts"),
        ("scripts/size.py", "scripts/"),
        ("tests/unit/test_a.py", "tests/"),
    ],
)
def test_a_file_counts_for_its_package(path: str, package: str) -> None:
    assert count_package(path) == package


def test_sources_are_counted_and_data_is_not(tmp_path: Path) -> None:
    for path, text in (
        ("tests/a.py", "# a\nx = 1\n"),
        ("web/b.ts", "let x;\n"),
        ("tests/c.json", "1\n"),
        ("d.py", "1\n"),
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found = count_files(["tests/a.py", "web/b.ts", "tests/c.json", "d.py"], tmp_path)
    assert found == {"tests/": Count(1, 2, 1), "web/": Count(1, 1, 1)}


@pytest.mark.parametrize(
    ("count", "problems"),
    [(Count(2, 10, 9), 0), (Count(1, 9, 9), 0), (Count(2, 11, 1), 1), (Count(3, 10, 1), 1), (Count(3, 11, 1), 2)],
)
def test_more_lines_or_files_than_recorded_are_a_problem(count: Count, problems: int) -> None:
    assert len(grown({"results": count}, RECORD)) == problems


def test_a_package_without_a_record_is_a_problem() -> None:
    assert grown({"new": Count(1, 1, 1)}, RECORD)


def test_the_reason_is_recorded_where_a_package_grew_and_kept_where_it_did_not() -> None:
    counts = {"results": Count(2, 9, 5), "new": Count(1, 3, 2)}
    record = tomllib.loads(write_record(counts, RECORD, "a new kind of source"))
    assert record["results"] == {"budget": 5, "lines": 9, "files": 2, "reason": "a table"}
    assert record["new"]["reason"] == "a new kind of source"
    assert grown(counts, record) == []


def test_folders_beside_the_core_are_not_in_its_sum() -> None:
    table = render({"results": Count(2, 10, 5), "tests/": Count(1, 99, 99)}, RECORD)
    assert "core                2       10        5        5" in table
