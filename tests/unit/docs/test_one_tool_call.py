"""docs/explanation/one-tool-call.md: every module and function that the page names exists."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

TEXT = Path("docs/explanation/one-tool-call.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", TEXT)))


def find(name: str) -> object:
    """Return what ``name``, relative to toolfold, refers to."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: ModuleType | object = importlib.import_module("toolfold." + ".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        return found
    raise AttributeError(name)


@pytest.mark.parametrize("name", NAMES)
def test_named_function_exists(name: str) -> None:
    assert find(name) is not None
