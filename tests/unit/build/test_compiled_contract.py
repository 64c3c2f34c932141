"""The JSON Schema in the package is the one that the models of a compiled catalog make."""

import hashlib
from importlib.resources import files

from tests.support.catalogs import tool_of
from toolfold.build.compiled_contract import contract_text
from toolfold.catalog.contract import check_head, check_line
from toolfold.catalog.entries import FORMAT
from toolfold.catalog.reader import parse_head
from toolfold.catalog.store import bundled_path, parse_catalog

CONTRACTS = {5: "0adbd21648147534111d939a10b6a10026104c087e8f7ec052c372810664570b"}
"""Format of the compiled layout → SHA-256 of its contract."""


def test_the_schema_in_the_package_is_current_and_another_one_has_another_format() -> None:
    written = files("toolfold.catalog").joinpath("contract.json").read_text(encoding="utf-8")
    assert written == contract_text(), "python -m toolfold.build.compiled_contract > …/catalog/contract.json"
    # A catalog that was published before is then compiled again, and not called damaged at its first call.
    found = hashlib.sha256(written.encode()).hexdigest()
    assert {FORMAT: found} == CONTRACTS, "add 1 to FORMAT, unless every catalog of before fits the contract as well"


def test_the_catalog_of_the_package_which_is_not_checked_when_it_is_read_fits_the_contract() -> None:
    content = bundled_path().read_bytes()
    head = parse_head(content.partition(b"\n")[0])
    check_head(head)
    catalog = parse_catalog(content)
    for name in catalog:
        tool = tool_of(catalog, name)
        entry = {key: list(value) if isinstance(value, tuple) else value for key, value in tool._asdict().items()}
        check_line("tools", {**entry, "hints": dict(tool.hints)})
