"""Synthetic catalogs of any size up to 110,592 tools: the same seed, the same bytes.

python -m benchmarks.scale.generate 10000 OUTPUT

The tools are made one at a time, once for the index and once for the file: only the index grows in memory.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from toolfold.build import search_index, writer
from toolfold.catalog.entries import FORMAT
from toolfold.catalog.store import bundled_path

_WORDS = yaml.safe_load(Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"))
DOMAINS = {name: words.split() for name, words in _WORDS["domains"].items()}
VERBS, QUALITIES, PARAMETERS = _WORDS["verbs"], _WORDS["qualities"].split(), _WORDS["parameters"]
ASKS, DETAILS = _WORDS["asks"], _WORDS["details"]

BUNDLED = 129
"""Tools of the catalog in the package."""

FOLDER = Path("build/scale")
SEED = 20260731
NOUNS = [(domain, noun) for domain, nouns in DOMAINS.items() for noun in nouns]
MOST = len(NOUNS) * len(VERBS) * len(QUALITIES)
NOUNS_OF_CATEGORY = 3


class Tools(Sequence[dict[str, list[str]]]):
    """``size`` tools, in the order of their categories; as a sequence, the texts by which each is found."""

    def __init__(self, size: int) -> None:
        if not 0 < size <= MOST:
            raise ValueError(f"size must be 1 to {MOST}")
        self._drawn = sorted(random.Random(SEED).sample(range(MOST), size))

    def __len__(self) -> int:
        return len(self._drawn)

    def __getitem__(self, at: Any) -> Any:
        domain, noun, verb, quality = _words(self._drawn[at])
        entry = _entry(self._drawn[at])
        words = {"phrase": VERBS[verb], "quality": quality, "noun": noun, "domain": domain}
        return {
            "name": [entry["name"].replace("_", " ")],
            **{field: [entry[field]] for field in ("title", "summary", "description")},
            "tags": entry["tags"],
            "category": [entry["category"].replace("_", " ")],
            "example_queries": [ask.format(**words) for ask in ASKS],
            "aliases": [f"{verb}_{noun}_{quality}".replace("_", " ").lower()],
        }

    def names(self) -> list[str]:
        """Every name, in the order of the listing."""
        return [_name(*_words(number)) for number in self._drawn]

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and compiled entry of each tool, in the order of the listing."""
        return ((_name(*_words(number)), _entry(number)) for number in self._drawn)

    def sorted_entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """As :meth:`entries`, in the order of the names."""
        numbers = {_name(*_words(number)): number for number in self._drawn}
        return ((name, _entry(numbers[name])) for name in sorted(numbers))

    def categories(self) -> list[dict[str, Any]]:
        """The categories that the tools are in."""
        found = Counter(_category(*_words(number)[:2]) for number in self._drawn)
        return [
            {
                "name": name,
                "source": "platform",
                "title": name.replace("_", " ").capitalize(),
                "description": f"Everything about {name.replace('_', ' ')}.",
                "tools": count,
            }
            for name, count in found.items()
        ]


def write(size: int, path: Path) -> None:
    """Write a compiled catalog of ``size`` tools to ``path``."""
    tools = Tools(size)
    listed = tools.entries() if size <= writer.MAX_LISTED else ()
    listing = "\n".join(f"{name}: {entry['summary']}" for name, entry in listed)
    head = {"sources": {"platform": _SOURCE}, "categories": tools.categories(), "listing": listing}
    sections: dict[str, writer.Lines] = {
        "tools": tools.sorted_entries(),
        "index": writer.sort_lines(search_index.build(tools)),
        "spellings": writer.sort_lines(search_index.spellings(tools)),
        "synonyms": [],
    }
    with path.open("wb") as out, tempfile.TemporaryFile(dir=path.parent) as scratch:
        writer.write(out, scratch, head, tools.entries(), sections)


def catalog(size: int) -> Path:
    """Return a catalog of that size: the one in the package, or a synthetic one, which is made."""
    if size == BUNDLED:
        return bundled_path()
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{size}-format-{FORMAT}.json"  # a file of another layout is not used again
    write(size, path)
    return path


def request(number: int) -> str:
    """Return a possible request: three to five words about some tool."""
    draw = random.Random(number)
    domain, noun = draw.choice(NOUNS)
    asked = draw.choice(ASKS).format(
        phrase=draw.choice(list(VERBS.values())), quality=draw.choice(QUALITIES), noun=noun, domain=domain
    )
    return asked if number % 5 else asked.replace(noun, noun[:2] + noun[3:])  # a letter is missing


def requests_of(size: int, count: int) -> tuple[list[str], list[str]]:
    """``count`` names of tools, drawn at random, and as many requests. The catalog in the package is meant if that has
    ``size`` tools."""
    with bundled_path().open("rb") as file:
        here = json.load(file)["tools"]
    draw = random.Random(SEED)
    if size == len(here):
        return draw.choices(list(here), k=count), [tool["title"] for tool in draw.choices(list(here.values()), k=count)]
    return draw.sample(Tools(size).names(), count), [request(number) for number in range(count)]


def _words(number: int) -> tuple[str, str, str, str]:
    """Domain, noun, verb and quality of the tool that has ``number`` among all that there could be."""
    rest, quality = divmod(number, len(QUALITIES))
    at, verb = divmod(rest, len(VERBS))
    return (*NOUNS[at], list(VERBS)[verb], QUALITIES[quality])


def _name(domain: str, noun: str, verb: str, quality: str) -> str:
    return f"{domain}_{verb}_{quality}_{noun}".upper()


def _category(domain: str, noun: str) -> str:
    nouns = DOMAINS[domain]
    first = nouns.index(noun) // NOUNS_OF_CATEGORY * NOUNS_OF_CATEGORY
    return f"{domain}_{nouns[first]}"


def _entry(number: int) -> dict[str, Any]:
    domain, noun, verb, quality = _words(number)
    draw = random.Random(SEED + number)
    chosen = draw.sample(list(PARAMETERS), draw.randint(2, 7))
    properties = {
        name: {"type": PARAMETERS[name][0], "description": PARAMETERS[name][1], "examples": [PARAMETERS[name][2]]}
        for name in chosen
    }
    columns = ", ".join(["id", "created", *chosen])
    return {
        "name": _name(domain, noun, verb, quality),
        "source": "platform",
        "category": _category(domain, noun),
        "title": f"{verb.capitalize()} {quality} {noun}",
        "summary": f"{VERBS[verb].capitalize()} {quality} {noun} entries of {domain}",
        "description": f"Use it to {VERBS[verb]} each {noun} that is {quality}, by {chosen[0].replace('_', ' ')}. "
        + " ".join(draw.sample(DETAILS, 3)),
        "tags": [domain, quality, draw.choice(("read", "write", "report"))],
        "effect": "read",
        "access": "premium" if draw.random() < 0.2 else "free",
        "freshness": "daily",
        "formats": ["json"],
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": chosen[:1],
            "additionalProperties": False,
        },
        "returns": f"json: {{items: [{{{columns}}}]}}",
        "example": {name: PARAMETERS[name][2] for name in chosen[:2]},
        "use_instead": {},
        "see_also": [],
        "hash": hashlib.sha256(str(number).encode()).hexdigest()[:8],
        "call": {"function": _name(domain, noun, verb, quality).lower()},
        "answer": {"csv": None, "rows": ["items"], "kind": "list"},
    }


_SOURCE = {
    "title": "Platform",
    "description": "Tools of a platform of many services.",
    "kind": "http_api",
    "base_url": "https://platform.example.org/query",
    "function_key": "function",
    "auth": {
        "query_key": "apikey",
        "environment": "TOOLFOLD_SOURCE_PLATFORM_KEY",
        "signup_url": "https://platform.example.org/keys",
    },
    "freshness": {"daily": 3600},
    "no_data": "Look for another name.",
    "faults": [],
    "unknown_notice": [],
}

if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))
