"""Keep API keys out of answers, in every encoding in which an upstream may repeat them.

Only what is returned to a caller is redacted. What is cached is the upstream's own text: an answer that repeats a key
is cached for that key alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

REPLACEMENT = "[key]"

_MIN_SECRET_CHARS = 8
"""A shorter key is a word, such as "demo", and may be part of the data."""


class Redactor:
    """Replace API keys in what a caller gets.

    Args:
        keys: the keys of the call: the caller's and the operator's.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._spellings = sorted(
            {
                spelling
                for key in keys
                if len(key) >= _MIN_SECRET_CHARS
                for spelling in (key, quote(key), quote(key, safe=""))
            },
            key=len,
            reverse=True,
        )

    def appears_in(self, text: str) -> bool:
        """Return whether a key is in ``text``, the raw text of an upstream, in any encoding."""
        return any(spelling in text for spelling in self._spellings)

    def redact_text(self, text: str) -> str:
        """Return ``text`` without the keys."""
        for spelling in self._spellings:
            text = text.replace(spelling, REPLACEMENT)
        return text

    def redact_value(self, value: Any) -> Any:
        """Return a parsed JSON value without the keys."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        if isinstance(value, dict):
            return {self.redact_text(key): self.redact_value(item) for key, item in value.items()}
        return value


NO_REDACTION = Redactor()
"""For an answer in which no key can appear."""
