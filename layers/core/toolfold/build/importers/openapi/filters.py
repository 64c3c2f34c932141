"""Choose operations by tag, path and operation: ``include`` and ``exclude`` of ``source.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from pydantic import Field

from toolfold.build.schema.field_types import Model
from toolfold.fuzzy import closest_matches

__all__ = ["Candidate", "Selection", "is_selected", "unused_entries"]

_MAX_ENTRIES = 500


class Candidate(NamedTuple):
    """What a selection looks at in an operation. ``names`` are its operationId and ``METHOD /path``."""

    path: str
    names: tuple[str, ...]
    tags: tuple[str, ...]


class Selection(Model):
    """Operations. An operation belongs to it when one entry of one of the lists matches; ``*`` matches any text."""

    tags: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    paths: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """As in the document: ``/repos/{owner}/*``."""
    operations: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """An operationId, or ``GET /path``."""

    def __bool__(self) -> bool:
        return bool(self.tags or self.paths or self.operations)

    def matches(self, candidate: Candidate) -> bool:
        """Return whether the operation belongs to the selection."""
        return (
            _matches_one((candidate.path,), self.paths)
            or _matches_one(candidate.tags, self.tags)
            or _matches_one(candidate.names, self.operations)
        )


def is_selected(candidate: Candidate, include: Selection, exclude: Selection) -> bool:
    """Return whether an operation is included, which all are without ``include``, and not excluded."""
    return (not include or include.matches(candidate)) and not exclude.matches(candidate)


def unused_entries(
    selection: Selection, candidates: Sequence[Candidate]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the location and a sentence for each entry that matches no operation of the document."""
    known = {
        "tags": sorted({tag for candidate in candidates for tag in candidate.tags}),
        "paths": [candidate.path for candidate in candidates],
        "operations": [name for candidate in candidates for name in candidate.names],
    }
    for key, word in (("tags", "tag"), ("paths", "path"), ("operations", "operation")):
        for number, entry in enumerate(getattr(selection, key)):
            if not _matches_one(tuple(known[key]), [entry]):
                closest = closest_matches(entry, known[key], most=1, least=0.5)
                hint = f"; did you mean {closest[0]!r}?" if closest else ""
                yield (key, number), f"no operation has the {word} {entry[:100]!r}{hint}"


def _matches_one(values: tuple[str, ...], patterns: Sequence[str]) -> bool:
    return any(_matches(value, pattern) for pattern in patterns for value in values)


def _matches(value: str, pattern: str) -> bool:
    # Brackets are no character classes here: paths have placeholders, tags may have anything.
    return value == pattern or ("*" in pattern and fnmatchcase(value, pattern.replace("[", "[[]").replace("?", "[?]")))
