"""Synthetic catalogs of any size up to 110,592 tools: the same seed, the same bytes.

python -m benchmarks.scale.generate 10000 OUTPUT

The tools are made one at a time, once for the index and once for the file: only the index grows in memory.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
        self._drawn = [_drawn(number) for number in sorted(random.Random(SEED).sample(range(MOST), size))]

    def __len__(self) -> int:
        return len(self._drawn)

    def __getitem__(self, at: Any) -> Any:
        one = self._drawn[at]
        entry = one.entry()
        return {
            "name": [one.name.replace("_", " ")],
            **{field: [entry[field]] for field in ("title", "summary", "description")},
            "tags": entry["tags"],
            "category": [one.category.replace("_", " ")],
            "example_queries": [
                ask.format(phrase=VERBS[one.verb], quality=one.quality, noun=one.noun, domain=one.domain)
                for ask in ASKS
            ],
            "aliases": [f"{one.verb} {one.noun} {one.quality}".lower()],
        }

    def names(self) -> list[str]:
        """Every name, in the order of the listing."""
        return [one.name for one in self._drawn]

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and compiled entry of each tool, in the order of the listing."""
        return ((one.name, one.entry()) for one in self._drawn)

    def sorted_entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """As :meth:`entries`, in the order of the names."""
        return ((one.name, one.entry()) for one in sorted(self._drawn, key=lambda one: one.name))

    def categories(self) -> list[dict[str, Any]]:
        """The categories that the tools are in."""
        found = Counter(one.category for one in self._drawn)
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
    head = {"sources": {"platform": _WORDS["source"]}, "categories": tools.categories()}
    sections: dict[str, writer.Lines] = {
        "tools": tools.sorted_entries(),
        "index": writer.sort_lines(search_index.build(tools)),
        "spellings": writer.sort_lines(search_index.spellings(tools)),
        "synonyms": [],
    }
    path.write_bytes(writer.write(head, tools.entries(), sections))


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


class _Drawn(NamedTuple):
    """The tool that has ``number`` among all that there could be."""

    number: int
    domain: str
    noun: str
    verb: str
    quality: str

    @property
    def name(self) -> str:
        return f"{self.domain}_{self.verb}_{self.quality}_{self.noun}".upper()

    @property
    def category(self) -> str:
        nouns = DOMAINS[self.domain]
        first = nouns.index(self.noun) // NOUNS_OF_CATEGORY * NOUNS_OF_CATEGORY
        return f"{self.domain}_{nouns[first]}"

    def entry(self) -> dict[str, Any]:
        _, domain, noun, verb, quality = self
        draw = random.Random(SEED + self.number)
        chosen = {name: PARAMETERS[name] for name in draw.sample(list(PARAMETERS), draw.randint(2, 7))}
        first = next(iter(chosen))
        return {
            **_WORDS["entry"],
            "name": self.name,
            "category": self.category,
            "title": f"{verb.capitalize()} {quality} {noun}",
            "summary": f"{VERBS[verb].capitalize()} {quality} {noun} entries of {domain}",
            "description": f"Use it to {VERBS[verb]} each {noun} that is {quality}, by {first.replace('_', ' ')}. "
            + " ".join(draw.sample(DETAILS, 3)),
            "tags": [domain, quality, draw.choice(("read", "write", "report"))],
            "access": "premium" if draw.random() < 0.2 else "free",
            "parameters": {
                "type": "object",
                "properties": {
                    name: {"type": kind, "description": text, "examples": [example]}
                    for name, (kind, text, example) in chosen.items()
                },
                "required": [first],
                "additionalProperties": False,
            },
            "returns": f"json: {{items: [{{{', '.join(['id', 'created', *chosen])}}}]}}",
            "example": {name: chosen[name][2] for name in list(chosen)[:2]},
            "hash": hashlib.sha256(str(self.number).encode()).hexdigest()[:8],
            "call": {"function": self.name.lower()},
        }


def _drawn(number: int) -> _Drawn:
    rest, quality = divmod(number, len(QUALITIES))
    at, verb = divmod(rest, len(VERBS))
    return _Drawn(number, *NOUNS[at], list(VERBS)[verb], QUALITIES[quality])


if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))
