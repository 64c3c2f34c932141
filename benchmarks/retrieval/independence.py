"""Are requests and catalog independent in their words? A request that repeats the catalog measures copying."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import yaml
from rapidfuzz import fuzz

CATALOG = Path("catalog")

SHARED_WORDS = 0.8
"""Two texts are too close from this Jaccard index of their words on."""

SAME_LETTERS = 0.9
"""Two texts are too close from this ratio of matching characters on (that of rapidfuzz)."""

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SENTENCE_END = re.compile(r"[.!?;:]\s+|\n+")


def catalog_texts(folder: Path = CATALOG) -> set[str]:
    """Return every string of every YAML file of ``folder``, whole and sentence by sentence."""
    texts: set[str] = set()
    for path in sorted(folder.rglob("*.yaml")):
        for text in _strings(yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)):
            texts.update(part.strip() for part in (text, *_SENTENCE_END.split(text)))
    return texts - {""}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def normalised(text: str) -> str:
    """Lower-case words with single spaces between them; width, punctuation and underscores do not count."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def near_copies(requests: Iterable[str], texts: Iterable[str]) -> list[tuple[str, str]]:
    """``(request, text)`` of all that are too close to each other."""
    asked = [_Plain.of(request) for request in requests]
    written = [_Plain.of(text) for text in sorted(texts)]
    return [(one.text, other.text) for other in written for one in asked if one.close_to(other)]


class _Plain(NamedTuple):
    """A text, its normalised form, and its words."""

    text: str
    plain: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        plain = normalised(text)
        return cls(text, plain, frozenset(plain.split()))

    def close_to(self, other: Self) -> bool:
        shared = len(self.words & other.words)
        if shared and shared >= SHARED_WORDS * (len(self.words) + len(other.words) - shared):
            return True
        return bool(self.plain) and fuzz.ratio(self.plain, other.plain, score_cutoff=100 * SAME_LETTERS) > 0
