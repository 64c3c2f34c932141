"""The requests, as written in ``requests.yaml``, and the split into a half to tune on and a half to report."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import yaml

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
