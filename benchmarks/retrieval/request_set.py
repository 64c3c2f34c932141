"""The requests of ``requests.yaml``: a half to tune on and a half to report, and whether they repeat the catalog.

One that does measures copying.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import yaml
from rapidfuzz import fuzz

FILE = Path(__file__).with_name("requests.yaml")

KINDS = ("direct", "paraphrase", "typo", "ambiguous", "several", "outside")
TUNING, HELD_OUT = "tuning", "held-out"

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a user may type it.

    ``tools``: the right answers, best first. A ``several`` request needs all of them, an ``outside`` request has none.
    ``language``: ISO 639-1.

    Raises:
        ValueError: Kind and number of tools do not match.
    """

    text: str
    kind: str
    tools: tuple[str, ...]
    language: str = "en"

    def __post_init__(self) -> None:
        # Alone or with a twin or two; where more answers would do, the request says too little to judge by.
        most = {"outside": 0}.get(self.kind, 3)
        least = {"outside": 0, "ambiguous": 2, "several": 2}.get(self.kind, 1)
        if self.kind not in KINDS or not least <= len(self.tools) <= most or not self.text.strip():
            raise ValueError(f"not a request: {self}")

    @property
    def half(self) -> str:
        """``tuning`` or ``held-out``, by the best answer: tuning for one tool has no effect on another.

        Requests that no tool serves are split by their text.
        """
        digest = hashlib.sha256((self.tools[0] if self.tools else self.text).encode()).digest()
        return TUNING if digest[0] < 128 else HELD_OUT


def load(path: Path = FILE) -> tuple[Request, ...]:
    """All requests, in the order of the file.

    Raises:
        ValueError: an entry is not a request.
        TypeError: an entry has a field that requests do not have, or lacks one.
    """
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    return tuple(Request(**{**entry, "tools": tuple(entry["tools"])}) for entry in entries)


CATALOG = Path("catalog")

SHARED_WORDS = 0.8
"""Two texts are too close from this Jaccard index of their words on."""

SAME_LETTERS = 0.9
"""Two texts are too close from this ratio of matching characters on (that of rapidfuzz)."""

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
