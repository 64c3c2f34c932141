"""The count of modules and lines."""

from __future__ import annotations

from scripts.count_code import Count, count_code_lines, count_packages, render_table


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert count_code_lines('"""Module."""\n\n# comment\nX = (1,\n     2)\n"""About X."""\n') == 2
    assert count_code_lines('def f():\n    """Say it."""\n    return "text"  # why\n') == 2


def test_files_are_counted_by_package() -> None:
    sources = [("a.py", "x = 1\n"), ("cli/b.py", "y = 1\n"), ("cli/sub/c.py", ""), ("unit/cli/d.py", "z = 1\n")]
    assert count_packages(sources) == {".": Count(1, 1, 1), "cli": Count(2, 1, 1), "unit/cli": Count(1, 1, 1)}


def test_the_sum_without_the_mock_api_leaves_out_its_former_name_too() -> None:
    table = render_table("tests", ["old", "new"], [{"sandbox": Count(5, 5, 5), "a": Count(1, 2, 3)}, {}])
    assert "| **all** | 6 | 7 | 8 |  |  |  |\n" in table
    assert "| **without mock_api** | 1 | 2 | 3 |  |  |  |\n" in table
