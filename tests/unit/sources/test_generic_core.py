"""What only Alpha Vantage does is in its own package: the rest of toolfold does not name it."""

import re
from pathlib import Path

PACKAGE = Path("layers/core/toolfold")
NAMES = re.compile(r"(?is)alpha.?vantage|new.?york|entitlement|outputsize|datatype")
ALLOWED = {
    "build/lint.py": "the thresholds were chosen on its catalog",
    "cli": "examples in help texts",
    "demo.py": "runs the mock API",
    "mock_api": "imitates it",
    "settings/model.py": "the variable and the host of the built-in source, suggested where a name is misspelt",
    "sources/alpha_vantage.py": "is about it",
    "sources/base.py": "the table of adapters",
    "results/select/dialect.py": "a class of sqlglot has the name of a parameter",
    "sources/sql/guard.py": "a class of sqlglot has the name of a parameter",
}
"""Files and folders that may name it → why."""


def test_no_other_module_names_a_source() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): match[0]
        for path in sorted(PACKAGE.rglob("*.py"))
        if (match := NAMES.search(path.read_text(encoding="utf-8")))
    }
    assert all(any(path.startswith(allowed) for path in found) for allowed in ALLOWED)
    others = {
        path: name
        for path, name in found.items()
        if not any(path == allowed or path.startswith(f"{allowed}/") for allowed in ALLOWED)
    }
    assert others == {}
