"""An upstream's answer as text and as data: CSV stays text, JSON keeps the upstream's own keys."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call returned: ``data`` is a JSON value (CSV: the text itself), ``text`` the same, compact."""

    data: Any
    text: str


def from_json(data: Any) -> Answer:
    """A JSON answer: the upstream's keys and values untouched, white space dropped.

    NaN and infinities, which are no JSON and which no strict client could read, become null.
    """
    try:
        return Answer(data, _compact(data))
    except ValueError:
        data = json.loads(json.dumps(data), parse_constant=lambda _constant: None)
        return Answer(data, _compact(data))


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_csv(text: str) -> Answer:
    """A CSV answer: the upstream's text with plain line feeds and no empty end."""
    text = text.replace("\r\n", "\n").strip("\n")
    return Answer(text, text)
