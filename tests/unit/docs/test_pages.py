"""What pages name is in the code, and what they show is valid: packages, keys, examples and messages."""

import importlib
import re
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from scripts.source_reference import PAGE, filled
from toolfold.build.compiler import compile_folder
from toolfold.build.importers import find_importer
from toolfold.build.importers.base import Overlay
from toolfold.build.importers.http_api import HttpParameter, HttpTool

ARCHITECTURE = Path("docs/explanation/architecture.md").read_text(encoding="utf-8")
CORE = Path("layers/core/toolfold")
PACKAGES = ARCHITECTURE.partition("\n## The packages\n")[2].partition("\n## ")[0]
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
    for name in set(re.findall(rf"`{OF_FILES}([a-z_]+(?:\.\w+)+)`", ARCHITECTURE)):
        assert find(name) is not None


HTTP_APIS = Path("docs/reference/http-api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [HttpTool, HttpParameter])
def test_every_key_of_an_http_api_is_described(model: type[BaseModel]) -> None:
    words = set(re.findall(r"`([A-Za-z_0-9]+)[`:]", HTTP_APIS)) | set(re.findall(r"[{ ]([a-z_0-9]+): ", HTTP_APIS))
    assert {field.alias or name for name, field in model.model_fields.items()} - words == set()


def test_the_example_of_an_http_api_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    folder.mkdir()
    (folder / "source.yaml").write_text(re.findall(r"```yaml\n(.*?)```", HTTP_APIS, re.DOTALL)[0])
    assert '"pets__add_pet"' in compile_folder(tmp_path)


EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def test_the_tables_are_those_of_the_models_and_every_key_has_a_meaning() -> None:
    page = PAGE.read_text()

    assert page == filled(page), "make source-reference"
    assert not re.search(r"\|\s*\|\n", page)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_valid(example: dict[str, Any]) -> None:
    model: Any = find_importer(example["kind"]).settings_model if "kind" in example else Overlay
    assert model.model_validate(example)


TROUBLESHOOTING = Path("docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
OF_OTHERS = {"spawn toolfold ENOENT"}
MESSAGES = sorted(set(re.findall(r"^\| `([^`]+)`", TROUBLESHOOTING, re.MULTILINE)) - OF_OTHERS)
assert MESSAGES


def texts_in(constant: object) -> Iterator[str]:
    """Yield the strings of compiled code; of an f-string each part between two values."""
    if isinstance(constant, str):
        yield re.sub(r"\{\w*\}", "\0", constant)
    inner = constant.co_consts if isinstance(constant, CodeType) else constant
    if isinstance(inner, tuple | frozenset):
        for one in inner:
            yield from texts_in(one)


def strings() -> str:
    """Return all strings of the code, and the YAML of the source."""
    found = [Path("catalog/alpha_vantage/source.yaml").read_text(encoding="utf-8")]
    for path in Path("layers/core/toolfold").rglob("*.py"):
        found += texts_in(SourceFileLoader(path.stem, str(path)).get_code(path.stem))
    return "\n\n".join(found)


def test_every_message_of_the_page_is_one_of_the_code() -> None:  # N15
    known = strings()
    for message in MESSAGES:
        # Parts may be put together from several strings.
        assert not [part for part in message.split("…") if part.strip(" .:;,()") not in known], message
