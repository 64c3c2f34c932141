"""Compare two catalogs: which tools were added, removed or changed, and where requests and keys go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolfold.catalog import json_schema
from toolfold.catalog.entries import Source, Tool
from toolfold.catalog.model import Catalog

_UNCOMPARED = {"name", "hash", "parameters"}
"""Fields of a tool that are not compared: its hash follows from the others, parameters are compared one by one."""


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """What differs between two catalogs.

    Attributes:
        added: Names of new tools.
        removed: Names of tools that are gone. Calls of them fail.
        changed: Name of a tool → what differs: a field, or ``parameters.NAME`` with what happened to it.
        sources: What differs in the sources, such as ``SOURCE.base_url: A → B``: a request, and the key of the
            source, go where these say.
        is_search_changed: Whether the search differs beyond that, for example by a synonym.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    sources: tuple[str, ...]
    is_search_changed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.sources or self.is_search_changed)


def compare(before: Catalog, after: Catalog, *, same_content: bool = False) -> CatalogDiff:
    """Return what differs between two catalogs; ``same_content`` says that their bytes are equal."""
    if same_content:
        return CatalogDiff((), (), {}, ())
    old, new = _tools(before), _tools(after)
    changed: dict[str, tuple[str, ...]] = {}
    for name in sorted(old.keys() & new.keys()):
        one, other = old[name], new[name]
        differences = *_fields(one, other, _UNCOMPARED), *_compare_parameters(one.parameters, other.parameters)
        if differences:
            changed[name] = differences
    added, removed = tuple(sorted(new.keys() - old.keys())), tuple(sorted(old.keys() - new.keys()))
    sources = tuple(_compare_sources(before, after))
    return CatalogDiff(added, removed, changed, sources, not (added or removed or changed or sources))


def _tools(catalog: Catalog) -> dict[str, Tool]:
    names = list(catalog)
    catalog.prefetch(tools=names)
    return {name: tool for name in names if (tool := catalog.get(name)) is not None}


def _fields(old: Tool | Source, new: Tool | Source, left_out: Collection[str]) -> Iterator[str]:
    fields = (field for field in type(old)._fields if field not in left_out)
    return (field for field in fields if getattr(old, field) != getattr(new, field))


def _compare_parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = json_schema.properties(old), json_schema.properties(new)
    required_before, required_after = set(old.get("required", ())), set(new.get("required", ()))
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"parameters.{name} removed"
        elif name in required_after - required_before:
            yield f"parameters.{name} {'is now required' if name in before else 'added, required'}"
        elif name not in before:
            yield f"parameters.{name} added"
        elif before[name] != after[name] or name in required_before - required_after:
            yield f"parameters.{name} changed"
    rest = {"properties", "required"}
    if {key: old[key] for key in old.keys() - rest} != {key: new[key] for key in new.keys() - rest}:
        yield "parameters"


def _compare_sources(before: Catalog, after: Catalog) -> Iterator[str]:
    old = {source.id: source for source in before.sources}
    new = {source.id: source for source in after.sources}
    for id_ in sorted(old.keys() | new.keys()):
        if id_ not in new:
            yield f"{id_} removed"
        elif id_ not in old:
            yield f"{id_} added: {new[id_].base_url}, key {_key_variable(new[id_])}"
        else:
            one, other = old[id_], new[id_]
            key, new_key = _key_variable(one), _key_variable(other)
            if one.base_url != other.base_url:
                yield f"{id_}.base_url: {one.base_url} → {other.base_url}"
            if key != new_key:
                yield f"{id_}.auth: key {key} → {new_key}"
            fields = _fields(one, other, {"base_url", *(["auth"] if key != new_key else [])})
            yield from (f"{id_}.{field}" for field in fields)


def _key_variable(source: Source) -> str:
    return source.auth.environment if source.auth is not None else "none"
