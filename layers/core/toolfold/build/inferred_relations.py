"""Relations that the YAML does not have: where the value of a parameter comes from.

``GET /dashboards/{dashboardID}`` needs an id that the answer of ``GET /dashboards`` has. Names alone show this:
the relation has a kind of its own, which TOOL_GET shows, and a search does not.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.catalog import json_schema

KIND = "may_need_output_of"

MAX_INFERRED = 3
"""Relations of one tool: a path has seldom more ids."""

_IDENTIFYING = frozenset({"id", "uuid", "guid", "sid", "key", "name", "slug", "handle"})
"""Last word of a parameter, or name of a field, that says which one."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

Words = tuple[str, ...]


class _Provider(NamedTuple):
    """A tool that reads, in the order in which one is taken: by how much it requires, and how long its name is."""

    most_required: int
    length: int
    name: str
    words: Words
    required: frozenset[Words]


Providers = Mapping[tuple[str, str, Words], Sequence[_Provider]]
"""By source, noun, and a field of the answer that says which one."""


def infer_relations(tools: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    """Return the inferred entries of ``relations``: name of a tool → ``[other tool, KIND, parameter]``.

    The other tool is of the same source and reads; its name has the noun of the parameter, and its answer a field of
    the parameter's name (or ``id`` for ``dashboard_id`` of a tool ``…dashboards``); and all that it requires is
    required here as well. Of several the one that requires least is taken, and none where two are equal.

    Args:
        tools: name → entry of the catalog, of any sources.
    """
    providers: defaultdict[tuple[str, str, Words], list[_Provider]] = defaultdict(list)
    for name, entry in tools.items():
        if entry["effect"] != "read":
            continue
        words, required = _words(name.rpartition("__")[2]), _required(entry)
        provider = _Provider(len(required), len(words), name, words, required)
        for field in {_words(field) for field in re.findall(r"\w+", entry["returns"])}:
            noun = (*words[-1:], *field)[-2:][0] if field else ""
            if noun in words and field[-1] in _IDENTIFYING:
                providers[entry["source"], noun, field].append(provider)
    for sharing in providers.values():
        sharing.sort()
    found = {name: list(_inferred(name, entry, providers)) for name, entry in tools.items()}
    return {name: relations[:MAX_INFERRED] for name, relations in found.items() if relations}


def _inferred(name: str, entry: Mapping[str, Any], providers: Providers) -> Iterator[list[str]]:
    required = _required(entry)
    for parameter in entry["parameters"].get("required", ()):
        rule = json_schema.properties(entry["parameters"]).get(parameter, {})
        *nouns, last = _words(parameter) or ("",)
        if not nouns or last not in _IDENTIFYING or not rule.keys().isdisjoint(("enum", "const", "default")):
            continue
        given = required - {(*nouns, last)}
        shared = [providers.get((entry["source"], nouns[-1], field), ()) for field in ((*nouns, last), (last,))]
        fitting = (
            one for one in heapq.merge(*shared)
            if one.name != name and one.required <= given and {*nouns} <= {*one.words}
        )  # fmt: skip
        first = next(fitting, None)
        second = next((one for one in fitting if one != first), None)
        if first and (second is None or second[:2] != first[:2]):
            yield [first.name, KIND, parameter]


def _required(entry: Mapping[str, Any]) -> frozenset[Words]:
    return frozenset(_words(name) for name in entry["parameters"].get("required", ()))


def _words(name: str) -> Words:
    """Return the words of a name in lower case and in the singular, as far as a last s shows it."""
    words = [word.lower() for word in _WORD.findall(name)]
    return tuple(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
