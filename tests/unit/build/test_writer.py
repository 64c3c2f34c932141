"""A compiled catalog of any size is written completely or not at all, read line by line, and refused where damaged."""

import hashlib
import io
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale import generate
from tests.support.catalogs import tool_of
from tests.support.hostile_files import FILES
from tests.support.trees import snapshot
from toolfold.build import writer
from toolfold.build.compiled_contract import contract_text
from toolfold.build.writer import replace_catalog_file
from toolfold.catalog import reader
from toolfold.catalog.contract import check_head, check_line
from toolfold.catalog.entries import FORMAT
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import CachedBlockReader, MemoryBlocks, Section, parse_head
from toolfold.catalog.search import search
from toolfold.catalog.store import SMALL, FileStore, bundled_path, parse_catalog
from toolfold.catalog.tokenizer import stem
from toolfold.errors import CatalogUnavailable, ToolfoldError

TOOLS = generate.Tools(1400)
NAMES = TOOLS.names()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "catalog.json"
    generate.write(len(TOOLS), path)
    assert path.stat().st_size > SMALL
    return path


@pytest.fixture(scope="module")
def large(path: Path) -> Catalog:
    return FileStore(path)()


class Counted:
    """Ranges of a file's bytes, and how often they were fetched."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.calls = 0

    def __call__(self, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        self.calls += 1
        return [self.content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    def catalog(self, max_bytes: int = 64 << 20) -> tuple[Catalog, CachedBlockReader]:
        line = self.content[: self.content.find(b"\n") + 1]
        ranges = CachedBlockReader(self, len(line), max_bytes)
        return Catalog(parse_head(line), ranges), ranges


def test_every_tool_of_a_large_catalog_is_found(large: Catalog) -> None:
    for position, (name, entry) in enumerate(TOOLS.entries()):
        tool = tool_of(large, name.lower())
        assert (tool.name, tool.parameters, tool.description) == (name, entry["parameters"], entry["description"])
        assert large.position(name) == position
        assert large.summary(position).summary == entry["summary"]
    assert len(large) == len(NAMES)
    assert list(large) == NAMES


def test_unknown_names_are_not_found(large: Catalog) -> None:
    for name in ("", "A", "ZZZ", "BILLING", NAMES[0] + "S", NAMES[0][:-1], '"', "\ud800", "é"):
        assert large.get(name) is None
        assert large.canonical_name(name) is None
        assert large.position(name) is None
        assert large.postings(name) == ()
    with pytest.raises(CatalogUnavailable):
        large.summary(len(large))


def test_a_query_for_its_words_finds_the_tool(large: Catalog) -> None:
    for name in NAMES[::200]:
        hits = search(large, name.replace("_", " ").lower()).hits
        assert name in [large.summary(hit.position).name for hit in hits[:3]]


def test_positions_by_tag_category_and_access_are_those_of_the_entries(large: Catalog) -> None:
    entries = [entry for _, entry in TOOLS.entries()]
    for field in ("category", "access", "effect", "tags"):
        for value, count in large.counts(field).items():
            positions = large.positions(field, value)
            expected = [
                at for at, entry in enumerate(entries) if value in (entry[field] if field == "tags" else [entry[field]])
            ]
            assert len(positions) == count == len(expected)
            assert list(positions) == expected
    assert not large.positions("tags", "no such tag")


def test_opening_reads_only_the_head(path: Path) -> None:
    counted = Counted(path.read_bytes())
    catalog, _ = counted.catalog()
    assert len(catalog) == len(TOOLS)
    assert "Platform" in catalog.source("platform").title
    assert sum(catalog.counts("tags").values()) > len(TOOLS)
    assert counted.calls == 0


def test_prefetched_blocks_need_one_request(path: Path) -> None:
    counted = Counted(path.read_bytes())
    catalog, _ = counted.catalog()
    catalog.prefetch(tools=NAMES[::100], names=["NO_SUCH_TOOL"], index=[stem("invoice"), "no such term"])
    catalog.prefetch_summaries(range(0, len(catalog), 100))
    assert counted.calls == 2
    for position in range(0, len(catalog), 100):
        assert catalog.get(catalog.summary(position).name)
    assert catalog.postings(stem("invoice"))
    assert counted.calls == 2


class TestSection:
    LINES = b'"ACOS":1,\n"AD":2\n'
    BLOCKS = (("ACOS", 0, len(LINES), ""),)

    @pytest.mark.parametrize(("key", "value"), [("AD", 2), ("ACOSH", None), ("ZZZ", None)])
    def test_found_and_missing_keys_are_cached(
        self, key: str, value: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads: list[object] = []
        whole = MemoryBlocks.__call__
        monkeypatch.setattr(MemoryBlocks, "__call__", lambda self, blocks: reads.append(blocks) or whole(self, blocks))
        section = Section("names", self.BLOCKS, MemoryBlocks(self.LINES, 0))
        for _ in range(3):
            assert section.get(key) == value
        assert len(reads) == 1

    def test_the_cache_of_lines_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "_MAX_CACHED_BYTES", 40_000)
        section = Section("names", self.BLOCKS, MemoryBlocks(self.LINES, 0))
        tracemalloc.start()
        for number in range(2_000):
            assert section.get(f"NO {number}") is None
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000


def test_the_block_cache_evicts_the_least_recently_used(path: Path) -> None:
    max_bytes = 600_000
    counted = Counted(path.read_bytes())
    catalog, ranges = counted.catalog(max_bytes)
    for name in NAMES:
        assert catalog.get(name)
        assert ranges.size <= max_bytes
    first = counted.calls
    assert first >= 8
    catalog.prefetch(tools=[NAMES[-1]])
    assert counted.calls == first
    catalog.prefetch(tools=[min(NAMES), max(NAMES)])
    assert counted.calls == first + 1


def test_threads_can_share_a_catalog(path: Path) -> None:
    catalog, ranges = Counted(path.read_bytes()).catalog(max_bytes=600_000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(catalog.get, NAMES[::3] * 3))
    assert [tool.name for tool in found if tool] == NAMES[::3] * 3
    assert ranges.size <= 600_000


def test_a_damaged_block_affects_only_its_lines(path: Path, tmp_path: Path, caplog: Any) -> None:
    content = bytearray(path.read_bytes())
    victim, other = min(NAMES), max(NAMES)
    content[content.find(f'\n"{victim}":{{'.encode()) + 100] ^= 1
    (tmp_path / "damaged.json").write_bytes(content)
    catalog = FileStore(tmp_path / "damaged.json")()
    with pytest.raises(CatalogUnavailable, match="is damaged"):
        catalog.get(victim)
    assert len(caplog.records) == 1
    assert catalog.get(other)
    assert catalog.position(victim) is not None
    assert search(catalog, "overdue invoice").hits
    with pytest.raises(CatalogUnavailable):  # again: the damaged block was not cached
        catalog.get(victim)


def test_a_truncated_file_makes_the_catalog_unavailable(path: Path, tmp_path: Path) -> None:
    for content in (path.read_bytes(), bundled_path().read_bytes()):
        (tmp_path / "short.json").write_bytes(content[:-1])
        with pytest.raises(CatalogUnavailable, match="damaged"):
            FileStore(tmp_path / "short.json")()


def test_a_file_that_is_overwritten_changes_no_catalog_that_was_read(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    catalog = FileStore(copy)()
    copy.write_bytes(b"")
    assert catalog.get(NAMES[0])


def test_the_file_is_one_json_object_with_a_line_for_each_tool(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    assert set(json.loads(content)["tools"]) == set(NAMES)
    lines = content.splitlines()
    assert sum(line.startswith(f'"{NAMES[7]}":{{') for line in lines) == 1


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=40), st.text(max_size=5))
def test_any_key_is_found_in_any_section(mapping: dict[str, int], absent: str) -> None:
    content = b"".join(block for _, block in writer.split_blocks(writer.sort_lines(mapping), 64))
    table = writer.write_section(io.BytesIO(), writer.sort_lines(mapping), 64)
    section = Section("any", table, MemoryBlocks(content, 0))
    assert {key: section.get(key) for key in mapping} == mapping
    assert dict(section.items()) == mapping
    if absent not in mapping:
        assert section.get(absent) is None


CONTRACTS = {7: "9a825082cbc01ce0ea49e59f318922cd197d4fbf2659473a8a2c20eb41bda47f"}
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


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "an empty file" and "database in" not in kind])
def test_a_file_that_is_not_a_catalog_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes"
    FILES[kind](path)
    before = snapshot(tmp_path)
    with pytest.raises(ToolfoldError, match="notes"):
        replace_catalog_file(path, b"new")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/full", "/dev", "/proc/self/mem"])
def test_devices_are_refused(path: str) -> None:
    with pytest.raises(ToolfoldError):
        replace_catalog_file(Path(path), b"new")


def test_a_catalog_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    for mode in (0o600, 0o644):
        path.write_text('{"format": an old one')
        path.chmod(mode)
        other = tmp_path / f"same file {mode}"
        other.hardlink_to(path)
        replace_catalog_file(path, b"new")
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert other.read_text() == '{"format": an old one'
    assert len(list(tmp_path.iterdir())) == 3


def test_nothing_is_left_of_a_file_that_does_not_fit_on_the_disk(tmp_path: Path) -> None:
    shutil.copytree("tests/fixtures/sources/docks", tmp_path / "sources/docks")
    path = tmp_path / "catalog.json"
    command = [sys.executable, "-m", "toolfold", "catalog", "compile", "--folder", str(tmp_path / "sources")]
    path.write_bytes(bundled_path().read_bytes()[:1000])
    before = snapshot(tmp_path)

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "--output", str(path)],
        env=environment,
        preexec_fn=set_limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"{path} cannot be written: File too large. It is as it was.\n"
    assert snapshot(tmp_path) == before


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolfoldError, match="No such file"):
        replace_catalog_file(tmp_path / "missing" / "catalog.json", b"new")
