"""Compile OpenAPI documents as sources of a catalog, and print a table of what became of them.

    python -m scripts.compile_openapi PATH [PATH ...]

The documents are read only. ``docs/reference/openapi-documents.md`` has the table for large public ones, and where they
are from. Times are of one processor; calls would be sent to an address of this script, which sends none.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import yaml_loader
from toolfold.build.compiler import compile_sources
from toolfold.build.importers.openapi.importer import OpenApiImporter
from toolfold.catalog.schema_checks import check_schema
from toolfold.catalog.store import parse_catalog
from toolfold.sources.http_api.binding_checks import check_binding

BASE_URL = "https://api.example.com"
HEADINGS = ("document", "MB", "operations", "tools", "left out", "with `$defs`", "shortened", "read s", "compile s")


class Row(NamedTuple):
    """One document: counts of operations and tools, and seconds of processor time."""

    name: str
    megabytes: float
    operations: int
    tools: int
    left_out: list[str]
    with_definitions: int
    shortened: int
    read_s: float
    compile_s: float


def compile_document(path: Path) -> Row:
    """Compile one document, and check each of its tools as the gateway checks it before a call."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "service"
        source.mkdir()
        name = f"openapi{path.suffix}"
        (source / name).write_bytes(path.read_bytes())
        settings = {"id": "service", "kind": "openapi", "document": name, "base_url": BASE_URL}
        (source / "source.yaml").write_text(json.dumps(settings))
        started = time.process_time()
        yaml = yaml_loader.load(source / "source.yaml")
        importer = OpenApiImporter()
        found = importer.read(source, importer.settings_model.model_validate(settings), yaml, [])
        read_s = time.process_time() - started
        started = time.process_time()
        compiled = compile_sources(Path(scratch))
        catalog = parse_catalog(compiled.text.encode())
        compile_s = time.process_time() - started
    assert found is not None, path
    tools = [tool for name in catalog if (tool := catalog.get(name)) is not None]
    for tool in tools:
        check_schema(tool.parameters)
        check_binding(tool.call)
    return Row(
        path.name,
        path.stat().st_size / 1e6,
        len(tools) + len(compiled.left_out),
        len(tools),
        compiled.left_out,
        sum("$defs" in tool.parameters for tool in tools),
        sum("inner parts of the schema" in note for note in found.notes),
        read_s,
        compile_s,
    )


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for row in rows:
        cells: tuple[Any, ...] = (
            row.name,
            f"{row.megabytes:.1f}",
            f"{row.operations:,}",
            f"{row.tools:,}",
            len(row.left_out),
            row.with_definitions,
            row.shortened,
            f"{row.read_s:.1f}",
            f"{row.compile_s:.1f}",
        )
        yield f"| {' | '.join(map(str, cells))} |"


def main(argv: list[str] | None = None) -> int:
    """Print the table, and what was left out of each document."""
    parser = argparse.ArgumentParser(description="Compile OpenAPI documents, and print what became of them.")
    parser.add_argument("paths", nargs="+", type=Path, help="documents in JSON or YAML")
    rows = [compile_document(path) for path in parser.parse_args(argv).paths]
    print(*table(rows), sep="\n")
    for row in rows:
        for problem in row.left_out:
            print(f"\n{row.name}: {problem.partition(': ')[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
