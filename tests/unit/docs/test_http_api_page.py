"""The reference of HTTP APIs by hand has every key of a tool and a parameter, and its example compiles."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from toolfold.build.compiler import compile_folder
from toolfold.build.importers.http_api import HttpParameter, HttpTool

PAGE = Path("docs/reference/http-api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [HttpTool, HttpParameter])
def test_every_key_is_described(model: type[BaseModel]) -> None:
    words = set(re.findall(r"`([A-Za-z_0-9]+)[`:]", PAGE)) | set(re.findall(r"[{ ]([a-z_0-9]+): ", PAGE))
    assert {field.alias or name for name, field in model.model_fields.items()} - words == set()


def test_the_example_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    folder.mkdir()
    (folder / "source.yaml").write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    assert '"pets__add_pet"' in compile_folder(tmp_path)
