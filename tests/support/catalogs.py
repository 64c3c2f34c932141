"""The number of tools in the catalog of the package, and small catalogs for tests of publishing."""

import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from toolfold.build.compiler import compile_folder
from toolfold.build.importers.base import RefreshReport
from toolfold.build.preparation import refresh_source
from toolfold.build.publisher import Author, CatalogBucket, Writer, open_client, publish_catalog
from toolfold.build.source_folders import find_source
from toolfold.catalog.entries import Tool
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.settings import Settings

ROOT = Path(__file__).parents[2]

BUNDLED_TOOLS = sum(
    len(re.findall(r"^  - name:", path.read_text(encoding="utf-8"), re.MULTILINE))
    for path in ROOT.glob("catalog/alpha_vantage/*.yaml")
)
"""Tools of the catalog in the package, counted in its YAML: a tool more changes no test."""

ALLOWED_HOST = "tides.test"
"""The host of the source."""

TIDES = Path(__file__).parents[1] / "fixtures/sources/tides"


@functools.cache
def small_catalog(title: str = "Tide tables") -> bytes:
    """Return the compiled catalog of one source with this title."""
    with tempfile.TemporaryDirectory() as folder:
        source = write_sources(Path(folder), title)
        return compile_folder(source).encode()


def refresh(folder: Path, settings: Settings | None = None, **how: Any) -> RefreshReport:
    return refresh_source(find_source(folder.parent, folder.name), settings or Settings.from_environment(), **how)


def write_and_refresh(folder: Path, sources: Mapping[str, Mapping[str, Any]], environment: Mapping[str, str]) -> None:
    """Write the ``source.yaml`` of each source below ``folder``, and read what it describes."""
    with mock.patch.dict(os.environ, environment):
        for id_, described in sources.items():
            (folder / id_).mkdir(parents=True)
            (folder / id_ / "source.yaml").write_text(yaml.safe_dump({"id": id_, **described}))
            refresh(folder / id_, Settings.from_environment(environment))


def write_sources(folder: Path, title: str = "Tide tables") -> Path:
    """Write the YAML of a source with this title below ``folder``, and return ``folder``. It has no findings."""
    shutil.copytree(TIDES, folder / "tides", dirs_exist_ok=True)
    path = folder / "tides/source.yaml"
    lines = [f"title: '{title}'" if line.startswith("title:") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    return folder


def compiled(folder: Path, adapters: Collection[str] | None = None) -> Catalog:
    """Return the catalog of the sources below ``folder``."""
    return parse_catalog(compile_folder(folder, adapters).encode())


def tool_of(catalog: Catalog, name: str) -> Tool:
    """Return a tool that the catalog has."""
    tool = catalog.get(name)
    assert tool is not None, name
    return tool


def sha256_of(content: bytes) -> str:
    """Return the hash that names a catalog."""
    return hashlib.sha256(content).hexdigest()


def publish(content: bytes, location: str, client: Any = None) -> str:
    """Make ``content`` the current catalog at ``location``, as a person at a terminal does; return its SHA-256."""
    bucket = CatalogBucket(location, open_client("s3") if client is None else client)
    pointer = publish_catalog(content, bucket, Author(Writer.TERMINAL)).pointer
    assert pointer is not None
    return pointer.sha256
