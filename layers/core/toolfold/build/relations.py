"""Relations between tools: what a tool needs first, what it can be replaced by, and what follows it.

Names of the tools: ``source__tool`` for those whose source has names of its own, at most 64 letters, digits and
underscores. Where a look-up would take several names for the same, *every* one of them gets a hash of the original
name, so that neither the order of the sources nor that of their tools has an influence.
"""

from __future__ import annotations

import functools
import hashlib
import keyword
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, get_args

from toolfold.build.schema import MAX_RELATIONS, Relation
from toolfold.catalog.entries import RelationKind, name_key
from toolfold.fuzzy import closest

if TYPE_CHECKING:
    from toolfold.build.importers.base import Tool

OriginalName = tuple[str, str]
"""Id of a source, and the name that the source has for a tool."""

_MAX_NAME = 64
_SEPARATOR = "__"
_HASH_DIGITS = (6, 12, 40)
"""Digits of the hash in names that are the same otherwise; more where these are the same as well."""

_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_]+")
_LETTER = re.compile(r"[A-Za-z0-9]")
_KEYWORDS = frozenset(word.upper() for word in (*keyword.kwlist, *keyword.softkwlist))


def safe_name(original: str) -> str:
    """Return a name of a tool as a word of a scripting language; empty characters and keywords get ``_``.

    Example:
        >>> safe_name("get-user.by id"), safe_name("2fa"), safe_name("import")
        ('get_user_by_id', '_2fa', 'import_')
    """
    name = _OTHER_CHARACTERS.sub("_", original) or "_"
    if name[0].isdigit():
        return f"_{name}"
    return f"{name}_" if name.upper() in _KEYWORDS else name


def assign_names(
    prefixed: Iterable[OriginalName], taken: Collection[str] = (), reserved: Collection[str] = ()
) -> Mapping[OriginalName, str]:
    """Return the name of each of the ``prefixed`` tools: one-to-one, and the same for the same tools in any order.

    None of them is ``taken`` by a tool that keeps its name, or ``reserved``.
    """
    used = {name_key(name) for name in (*taken, *reserved)}
    # Of a name in another script nothing may be left: such names would differ in the number of underscores.
    names = {
        original: _shortened(original, "" if _LETTER.search(original[1]) else _hash(original, _HASH_DIGITS[0]))
        for original in dict.fromkeys(prefixed)
    }
    for digits in _HASH_DIGITS:
        counts = Counter(name_key(name) for name in names.values())
        clashing = [
            original for original, name in names.items() if counts[name_key(name)] > 1 or name_key(name) in used
        ]
        for original in clashing:
            names[original] = _shortened(original, _hash(original, digits))
    return names


def _hash(original: OriginalName, digits: int) -> str:
    """Return digits of the hash of the original name; of source and name where that was not enough."""
    source, name = original
    hashed = name if digits == _HASH_DIGITS[0] else f"{source}/{name}"
    return hashlib.sha256(hashed.encode()).hexdigest()[:digits]


def _shortened(original: OriginalName, digest: str) -> str:
    """Return the name with ``digest`` at its end; one that is too long is cut, and has the hash in any case."""
    source, name = original
    word = safe_name(name)
    whole = f"{source}{_SEPARATOR}{word}"
    if not digest and len(whole) <= _MAX_NAME:
        return whole
    digest = digest or _hash(original, _HASH_DIGITS[0])
    return f"{whole[: _MAX_NAME - 1 - len(digest)]}_{digest}"


_KINDS = get_args(RelationKind)
_NEEDS = _KINDS[0]


def compile_relations(
    related: Iterable[tuple[Tool, Mapping[str, str]]], names: Sequence[str], problems: list[str]
) -> dict[str, list[list[str]]]:
    """Return the entry ``relations`` of each tool: ``[to, kind]``, and ``via`` where it is given.

    Each tool comes with the names of its source: the name that the source has for a tool → its name in the catalog.
    """
    known = {name_key(name): name for name in names}
    compiled: dict[str, list[list[str]]] = {}
    needs: dict[str, dict[str, Callable[[], str]]] = {}
    for tool, own in related:
        if (number := len(tool.relations)) > MAX_RELATIONS:  # its own and those of its overlay
            where = tool.where("relations")
            problems.append(f"{where}: relations of {tool.name}: has {number}; {MAX_RELATIONS} are the most")
        folded = {name_key(safe_name(original)): final for original, final in own.items()} if tool.relations else {}
        found: dict[tuple[str, str], list[str]] = {}
        for position, relation in enumerate(tool.relations):
            target = own.get(relation.to) or folded.get(name_key(safe_name(relation.to)))
            target = target or known.get(name_key(relation.to), "")
            if problem := _problem(tool.name, relation, target, found, names):
                problems.append(f"{tool.where('relations', position)}: relations of {tool.name}: {problem}")
                continue
            found[target, relation.kind] = [target, relation.kind, *([relation.via] if relation.via else [])]
            if relation.kind == _NEEDS:
                needs.setdefault(tool.name, {})[target] = functools.partial(tool.where, "relations", position)
        compiled[tool.name] = sorted(found.values(), key=lambda entry: _KINDS.index(entry[1]))
    problems += _cycles(needs)
    return compiled


def _problem(
    tool: str, relation: Relation, target: str, found: Mapping[tuple[str, str], object], names: Sequence[str]
) -> str:
    if not target:
        return f"there is no tool {relation.to!r}.{closest(relation.to, names)}"
    if target == tool:
        return "names the tool itself"
    return f"{relation.kind} {target} is given twice" if (target, relation.kind) in found else ""


def _cycles(needs: Mapping[str, Mapping[str, Callable[[], str]]]) -> Iterator[str]:
    """Yield each cycle once, at the relation that closes it."""
    left = {name: dict(targets) for name, targets in needs.items()}
    while True:
        try:
            return TopologicalSorter(left).prepare()
        except CycleError as error:
            *path, name, target = reversed(error.args[1])
            cycle = " → ".join([*path, name, target])
            yield f"{left[name].pop(target)()}: relations of {name}: a cycle of {_NEEDS}: {cycle}"
