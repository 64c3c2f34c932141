"""The mock API is a reference for the catalog, so it must not import anything of toolfold."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import toolfold.mock_api

FILES = sorted(Path(toolfold.mock_api.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_only_the_standard_library_and_the_mock_api_itself_are_imported(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            own = name == "toolfold.mock_api" or name.startswith("toolfold.mock_api.")
            assert own or name.partition(".")[0] in sys.stdlib_module_names
