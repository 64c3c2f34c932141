"""docs/reference/source-yaml.md has every key of every kind, and its examples are valid."""

import re
from typing import Any

import pytest
import yaml

from scripts.source_reference import PAGE, filled
from toolfold.build.importers import find_importer
from toolfold.build.importers.base import Overlay

EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def test_the_tables_are_those_of_the_models_and_every_key_has_a_meaning() -> None:
    page = PAGE.read_text()

    assert page == filled(page), "make source-reference"
    assert not re.search(r"\|\s*\|\n", page)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_valid(example: dict[str, Any]) -> None:
    model: Any = find_importer(example["kind"]).settings_model if "kind" in example else Overlay
    assert model.model_validate(example)
