"""docs/explanation/architecture.md: its packages and its types are those of the code."""

import importlib
import re
from pathlib import Path
from types import ModuleType

TEXT = Path("docs/explanation/architecture.md").read_text(encoding="utf-8")
CORE = Path("layers/core/toolfold")
PACKAGES = TEXT.partition("\n## The packages\n")[2].partition("\n## ")[0]
ROWS = [
    name
    for row in re.findall(r"^\| (`[^|]+`) \| [^|]+ \|$", PACKAGES, re.MULTILINE)
    for name in re.findall(r"`(\w+)/?`", row)
]


def test_every_package_has_a_row() -> None:
    packages = {path.name for path in CORE.iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(ROWS)


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


OF_FILES = r"(?!\w+\.(?:py|yaml|toml|json)`)"


def test_every_named_module_function_and_type_exists() -> None:
    for name in set(re.findall(rf"`{OF_FILES}([a-z_]+(?:\.\w+)+)`", TEXT)):
        assert find(name) is not None
