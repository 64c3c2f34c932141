"""Relations between tools: what a tool needs first, what it can be replaced by, and what follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, StringConstraints

from toolfold.build.tool_names import safe_name
from toolfold.catalog.entries import name_key
from toolfold.fuzzy import closest_matches

__all__ = ["RelatedTool", "Relation", "compile_relations"]

_NEEDS = "needs_output_of"

_ORDER = (_NEEDS, "alternative", "then")
"""Kinds in the order in which they are shown: what comes before a call is needed most."""

_LEAST_SIMILAR = 0.6


class Relation(BaseModel):
    """How a tool is related to another."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Name of the other tool: in the catalog, or the name that the same source has for it."""
    kind: Literal["needs_output_of", "alternative", "then"]
    """``needs_output_of``: the other is called first; ``alternative``: it may serve instead; ``then``: it is next."""
    via: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .,/\[\]-]{0,79}$")] | None = None
    """What connects the two, for example the parameter that takes a value from the answer of the other."""


class RelatedTool(NamedTuple):
    """A tool with relations.

    Attributes:
        name: its name in the catalog.
        relations: in the order of the file.
        own: name that its source has for a tool → its name in the catalog.
        where: returns ``file:line`` of the relation at a position.
    """

    name: str
    relations: Sequence[Relation]
    own: Mapping[str, str]
    where: Callable[[int], str]


def compile_relations(
    related: Sequence[RelatedTool], names: Sequence[str], problems: list[str]
) -> dict[str, list[list[str]]]:
    """Return the entry ``relations`` of each tool: ``[to, kind]``, and ``via`` where it is given.

    Args:
        related: the tools that have relations.
        names: the names of all tools.
        problems: receives unknown tools, repeated relations, and cycles of ``needs_output_of``, with file and line.
    """
    known = {name_key(name): name for name in names}
    compiled: dict[str, list[list[str]]] = {}
    needs: dict[str, dict[str, _Place]] = {}
    for tool in related:
        found: dict[tuple[str, str], list[str]] = {}
        for position, relation in enumerate(tool.relations):
            target = _target(relation.to, tool.own, known)
            if problem := _problem(tool, relation, target, found, names):
                problems.append(f"{tool.where(position)}: relations of {tool.name}: {problem}")
                continue
            found[target, relation.kind] = [target, relation.kind, *([relation.via] if relation.via else [])]
            if relation.kind == _NEEDS:
                needs.setdefault(tool.name, {})[target] = _Place(tool.where, position)
        compiled[tool.name] = sorted(found.values(), key=lambda entry: _ORDER.index(entry[1]))
    problems += _cycles(needs)
    return compiled


@dataclass(frozen=True)
class _Place:
    """Where a relation is. ``str()`` reads the file, which only a problem needs."""

    where: Callable[[int], str]
    position: int

    def __str__(self) -> str:
        return self.where(self.position)


def _target(name: str, own: Mapping[str, str], known: Mapping[str, str]) -> str:
    """Return the name in the catalog of the tool that a relation names, or an empty text."""
    if name in own:
        return own[name]
    key = name_key(safe_name(name))
    folded = {name_key(safe_name(original)): final for original, final in own.items()}
    return folded.get(key) or known.get(name_key(name), "")


def _problem(
    tool: RelatedTool, relation: Relation, target: str, found: Mapping[tuple[str, str], object], names: Sequence[str]
) -> str:
    if not target:
        closest = closest_matches(relation.to, names, least=_LEAST_SIMILAR)
        return f"there is no tool {relation.to!r}{f'; did you mean {closest[0]}?' if closest else ''}"
    if target == tool.name:
        return "names the tool itself"
    return f"{relation.kind} {target} is given twice" if (target, relation.kind) in found else ""


def _cycles(needs: Mapping[str, Mapping[str, _Place]]) -> Iterator[str]:
    """Yield each cycle once, at the relation that closes it."""
    finished: set[str] = set()
    for start in needs:
        if start in finished:
            continue
        path = [start]
        pending = [iter(needs[start])]
        while pending:
            target = next(pending[-1], None)
            if target is None:
                pending.pop()
                finished.add(path.pop())
            elif target in path:
                cycle = " → ".join([*path[path.index(target) :], target])
                yield f"{needs[path[-1]][target]}: relations of {path[-1]}: a cycle of {_NEEDS}: {cycle}"
            elif target not in finished:
                path.append(target)
                pending.append(iter(needs.get(target, {})))
