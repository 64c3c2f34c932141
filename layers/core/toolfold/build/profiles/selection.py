"""Decide which tools the conditions of a profile or of a context match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.build.profiles.schema import Selection
from toolfold.catalog.entries import EFFECTS, name_key
from toolfold.fuzzy import closest_matches, normalize

__all__ = ["Known", "matches", "unknown_values"]

_ACCESS = ("free", "mixed", "premium")
_EFFECT_SYNONYMS = {"writes": "write", "readonly": "read", "reads": "read"}
_MIN_SIMILARITY = 0.6

Where = Callable[..., str]


class Known(NamedTuple):
    """What the conditions of a file may name: the values of each field, by their normalized spelling.

    Attributes:
        source: Ids and titles of the sources → id.
        category: Names and titles of the categories → names; two sources may have a category of the same name.
        tag: Tags.
        tool: Names of the tools.
    """

    source: Mapping[str, Sequence[str]]
    category: Mapping[str, Sequence[str]]
    tag: Mapping[str, Sequence[str]]
    tool: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, sources: Mapping[str, Any], categories: Sequence[Mapping[str, Any]], tools: Mapping[str, Any]) -> Known:
        """Return what there is in a catalog."""
        by_category: dict[str, list[str]] = {}
        for category in categories:
            name = str(category["name"])
            for form in dict.fromkeys((name, name.rpartition("/")[2], str(category["title"]))):
                by_category.setdefault(normalize(form), []).append(name)
        tags = {tag for entry in tools.values() for tag in entry["tags"]}
        return cls(
            {normalize(form): [id_] for id_, entry in sources.items() for form in (entry["title"], id_)},
            by_category,
            {normalize(tag): [tag] for tag in sorted(tags)},
            {normalize(name): [name] for name in tools},
        )

    def find(self, field: str, value: str) -> Sequence[str]:
        """Return the values of ``field`` that ``value`` names; empty for none."""
        if field == "effect":
            found = _EFFECT_SYNONYMS.get(normalize(value), value)
            return [found] if found in EFFECTS else []
        if field == "access":
            return [value] if value in _ACCESS else []
        known: Mapping[str, Sequence[str]] = getattr(self, field)
        return known.get(normalize(value), ())

    def spellings(self, field: str) -> Collection[str]:
        """Return the values of ``field``."""
        if field in ("effect", "access"):
            return EFFECTS if field == "effect" else _ACCESS
        return sorted({name for names in getattr(self, field).values() for name in names})


def unknown_values(selection: Selection | None, known: Known, where: Where) -> Iterator[str]:
    """Yield a problem for each value that the catalog does not have, with the closest one.

    Args:
        selection: The conditions.
        known: What there is.
        where: Returns ``file:line`` of a key of the conditions.
    """
    for field, values in (selection.model_dump(exclude_none=True) if selection else {}).items():
        for value in values:
            if not known.find(field, value):
                yield f"{where(field)}: there is no {field} {value!r}.{closest(value, known.spellings(field))}"


def closest(value: str, names: Collection[str]) -> str:
    """Return the end of a message about an unknown name: the closest known one, or some of them."""
    found = closest_matches(value, list(names), least=_MIN_SIMILARITY)
    if found:
        return f" Did you mean {found[0]}?"
    partly = [name for name in names if normalize(value) in normalize(name)]
    if len(partly) == 1:
        return f" Did you mean {partly[0]}?"
    shown = list(names)[:10]
    return f" There are {', '.join(shown)}{', …' if len(names) > len(shown) else ''}." if shown else ""


def matches(include: Selection | None, exclude: Selection | None, known: Known) -> Callable[[str, Any], bool]:
    """Return a function that says whether the tool of a name and its compiled entry pass both conditions."""
    kept, dropped = _sets(include, known), _sets(exclude, known)

    def passes(name: str, entry: Any) -> bool:
        values = {
            "source": {entry["source"]},
            "category": {entry["category"]},
            "tag": set(entry["tags"]),
            "effect": {entry["effect"]},
            "access": {entry["access"]},
            "tool": {name_key(name)},
        }
        return all(values[field] & allowed for field, allowed in kept.items()) and not any(
            values[field] & refused for field, refused in dropped.items()
        )

    return passes


def _sets(selection: Selection | None, known: Known) -> dict[str, set[str]]:
    given = selection.model_dump(exclude_none=True) if selection else {}
    return {
        field: {name_key(name) if field == "tool" else name for value in values for name in known.find(field, value)}
        for field, values in given.items()
    }
