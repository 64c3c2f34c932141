"""Read public sets of tools and requests, which are no part of the repository, and compile their tools.

A tool has the texts that its set has, none written for the search: name, description, parameters, category, and the
name of what it belongs to.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from toolfold.build import search_index, writer
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.catalog.tokenizer import in_words

_SAMPLE = 1500
"""Requests of MetaTool that are reported, of some 20,000; the weights were chosen on others."""

_TUNED_WITH = ("G1_category", "G1_instruction", "G1_tool")


@dataclass(frozen=True)
class PublicTool:
    """A tool as its set describes it; ``parameters`` are pairs of name and description."""

    name: str
    description: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    category: str = ""
    source: str = ""


@dataclass(frozen=True)
class PublicRequest:
    """A request, and the positions of the tools that it needs."""

    text: str
    needed: frozenset[int]


@dataclass(frozen=True)
class PublicSet:
    """Tools, and requests for them by the name of their part."""

    name: str
    tools: tuple[PublicTool, ...]
    requests: Mapping[str, tuple[PublicRequest, ...]]


def load_all(folder: Path) -> Iterator[PublicSet]:
    """Read the sets that ``folder`` has.

    Args:
        folder: Contains ``metatool``, ``seal_tools``, ``stabletoolbench``, or some of them, with the files of their
            repositories.

    Raises:
        ValueError: All of them are absent.
    """
    readers = {"metatool": _metatool, "seal_tools": _seal_tools, "stabletoolbench": _stable_tool_bench}
    here = {name: reader for name, reader in readers.items() if (folder / name).is_dir()}
    if not here:
        raise ValueError(f"{folder} has none of {', '.join(readers)}")
    return (reader(folder / name) for name, reader in here.items())


def _metatool(folder: Path) -> PublicSet:
    descriptions = {**_json(folder / "plugin_des.json"), **_json(folder / "big_tool_des.json")}
    position = {name: at for at, name in enumerate(descriptions)}
    with (folder / "all_clean_data.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["Query"], [row["Tool"]]) for row in csv.DictReader(file)]
    reported = sorted(random.Random(0).sample(range(len(rows)), _SAMPLE))
    pairs = [(entry["query"], entry["tool"]) for entry in _json(folder / "multi_tool_query_golden.json")]
    return PublicSet(
        "MetaTool",
        tuple(PublicTool(name, description) for name, description in descriptions.items()),
        {"one tool": _requests((rows[at] for at in reported), position), "two tools": _requests(pairs, position)},
    )


def _seal_tools(folder: Path) -> PublicSet:
    entries = list(_json_lines(folder / "tool.jsonl"))
    position = {entry["api_name"]: at for at, entry in enumerate(entries)}

    def requests(part: str) -> tuple[PublicRequest, ...]:
        rows = _json_lines(folder / f"{part}.jsonl")
        return _requests(((row["query"], [call["api"] for call in row["calling"]]) for row in rows), position)

    return PublicSet(
        "Seal-Tools",
        tuple(
            PublicTool(
                entry["api_name"],
                entry["api_description"],
                tuple((name, field.get("description", "")) for name, field in (entry["parameters"] or {}).items()),
                entry["field"],
            )
            for entry in entries
        ),
        {"in domain": requests("test_in_domain"), "out of domain": requests("test_out_domain")},
    )


def _stable_tool_bench(folder: Path) -> PublicSet:
    files = {path.stem: _json(path) for path in sorted(folder.glob("G*.json"))}
    tools: dict[tuple[str, ...], PublicTool] = {}
    for rows in files.values():
        for entry in (entry for row in rows for entry in row["api_list"]):
            parameters = entry["required_parameters"] + entry["optional_parameters"]
            tools.setdefault(
                (entry["tool_name"], entry["api_name"]),
                PublicTool(
                    entry["api_name"],
                    entry["api_description"],
                    tuple((parameter["name"], parameter.get("description", "")) for parameter in parameters),
                    entry["category_name"],
                    entry["tool_name"],
                ),
            )
    position = {key: at for at, key in enumerate(tools)}
    parts = {
        name: _requests(((row["query"], [tuple(pair) for pair in row["relevant APIs"]]) for row in rows), position)
        for name, rows in files.items()
    }
    return PublicSet(
        "StableToolBench",
        tuple(tools.values()),
        {
            "all": tuple(chain.from_iterable(parts.values())),
            "G2 and G3": tuple(chain.from_iterable(part for name, part in parts.items() if name not in _TUNED_WITH)),
        },
    )


def _requests(rows: Iterable[tuple[str, Sequence[Any]]], position: Mapping[Any, int]) -> tuple[PublicRequest, ...]:
    """Return the requests with at least one known tool."""
    found = ((text, frozenset(position[tool] for tool in tools if tool in position)) for text, tools in rows)
    return tuple(PublicRequest(text, needed) for text, needed in found if needed)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

_SOURCE = {
    "title": "Public",
    "description": "Tools of a public set.",
    "kind": "http_api",
    "base_url": "https://tools.example.org/",
    "function_key": "function",
    "auth": None,
    "no_data": "",
    "freshness": {},
    "faults": [],
    "unknown_notice": [],
}


def texts_of(tool: PublicTool) -> dict[str, list[str]]:
    """Return field → texts, as the compiler makes them of an imported tool."""
    summary, *rest = _SENTENCE_END.split(" ".join((tool.description or "").split()), maxsplit=1)
    texts = {
        "name": [in_words(tool.name)],
        "source": [in_words(tool.source)],
        "summary": [summary],
        "description": rest,
        "parameter_names": [in_words(name) for name, _ in tool.parameters],
        "parameter_descriptions": [description for _, description in tool.parameters],
        "category": [tool.category],
        "actions": search_index.action_of(tool.name, summary),
    }
    return {field: kept for field, found in texts.items() if (kept := [text for text in found if text])}


def name_of(position: int) -> str:
    """Return the name of a tool in the compiled catalog: some names of the sets occur twice."""
    return f"T{position}"


def compile_tools(tools: Sequence[PublicTool], *, semantic: bool = False) -> Catalog:
    """Return a catalog of ``tools``.

    Args:
        tools: The tools, in the order of the positions.
        semantic: Whether it has semantic postings, which needs the extra ``semantic``.
    """
    texts = [texts_of(tool) for tool in tools]
    index = search_index.build(texts)
    near, share = search_index.nearest_words(dict(enumerate(texts))) if semantic else ({}, 0.0)
    names, same = list(map(name_of, range(len(tools)))), {"source": "public", "category": "all", "access": "free"}
    compiled = {
        "sources": {"public": _SOURCE},
        "categories": [],
        "definition_tokens": 0,
        "tools": {name: {**same, "effect": "read", "title": name, "summary": name, "tags": []} for name in names},
        "index": index,
        "spellings": search_index.spellings(texts),
        "synonyms": {},
        "near": near,
        "semantic_share": share,
    }
    return parse_catalog(writer.dumps(compiled))
