"""Find the parameter that an argument of another name was meant for.

The parameter's own name may have another case, punctuation or number; other words for it are data of the catalog
(``arguments.names`` of a source). Of two parameters that could be meant, the one whose schema takes the value is; where
that does not decide, the argument is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from toolfold.dates import Bound
from toolfold.execution.argument_values import parse_pair
from toolfold.execution.validation_problems import Problem, quote
from toolfold.fuzzy import Names, normalize

_START_WORDS = frozenset({"from", "start", "since", "after", "begin", "min", "earliest"})
_END_WORDS = frozenset({"to", "end", "until", "before", "max", "latest"})

_INDEXED = re.compile(r"(?P<name>.+)\[(?P<index>[01])\]")
"""A target in ``arguments.names`` that is one end of a list with two items: ``range[0]``."""


def bound_of(parameter: str) -> Bound:
    """Return which end of a period ``parameter`` is, by the words of its name."""
    words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", parameter).lower()))
    return "start" if words & _START_WORDS else "end" if words & _END_WORDS else ""


class Renamed(NamedTuple):
    """Arguments under the names of parameters.

    Attributes:
        arguments: those that were found a parameter for, and the unknown ones as they were.
        notes: what a reader may not expect.
        problems: arguments that contradict each other, or may mean two parameters.
    """

    arguments: dict[str, Any]
    notes: list[str]
    problems: list[Problem]


def rename(
    given: Mapping[str, Any],
    parameters: Iterable[str],
    forms: Mapping[str, Any],
    takes: Callable[[str, Any], bool],
    today: str,
) -> Renamed:
    """Return ``given`` under the names of ``parameters``.

    Args:
        given: the arguments as the caller named them.
        parameters: the names of the tool's parameters.
        forms: ``arguments`` of the source.
        takes: returns whether a parameter takes a value, in any spelling of it.
        today: today's date, the end of a period of which only the start is given.
    """
    names = list(parameters)
    found = Renamed({}, [], [])
    unknown: dict[str, Any] = {}
    for name, value in given.items():
        (found.arguments if name in names else unknown)[name] = value
    _split_pair(found, unknown, names, forms)
    _join_quarter(found, unknown, names, takes)
    ends: dict[str, dict[int, tuple[str, Any]]] = {}
    sources = {name: name for name in found.arguments}
    others = {target: words for target, words in forms.get("names", {}).items() if _base(target) in names}
    meanings = Names(names, others)
    for name, value in unknown.items():
        targets = meanings.of(name)
        if len(targets) > 1:
            free = [target for target in targets if target not in found.arguments]
            targets = [target for target in free if takes(_base(target), value)] or free or targets[:1]
        if not targets:
            found.arguments[name] = value
        elif value is None:
            continue  # not given
        elif len(targets) > 1:
            found.problems.append(_problem(name, "can mean more than one parameter", " or ".join(targets)))
        elif indexed := _INDEXED.fullmatch(targets[0]):
            ends.setdefault(indexed["name"], {})[int(indexed["index"])] = (name, value)
        else:
            _assign(found, sources, targets[0], name, value)
    for target, items in ends.items():
        _join_ends(found, target, items, today)
    return found


def _base(target: str) -> str:
    match = _INDEXED.fullmatch(target)
    return match["name"] if match else target


def _assign(found: Renamed, sources: dict[str, str], target: str, name: str, value: Any) -> None:
    if target not in sources or found.arguments.get(target) is None:
        found.arguments[target] = value
        sources[target] = name
    elif _spelled(found.arguments[target]) != _spelled(value):
        first = sources[target]
        text = f"is given twice, as {quote(found.arguments[target])}" + ("" if first == target else f" ({first})")
        found.problems.append(_problem(target, f"{text} and as {quote(value)} ({name[:60]})", "one of them"))


def _spelled(value: Any) -> str:
    return str(value).strip().casefold()


def _join_ends(found: Renamed, target: str, items: Mapping[int, tuple[str, Any]], today: str) -> None:
    """Make the list of a start and an end; today is the end that is not given."""
    given = " and ".join(name for name, _ in items.values())
    if target in found.arguments:
        found.problems.append(_problem(target, f"is given, and {given} too", "one of them"))
    elif 0 not in items:
        found.problems.append(_problem(target, f"has an end ({given}) and no start", "start and end"))
    else:
        end = items[1][1] if 1 in items else today
        found.arguments[target] = [str(items[0][1]), str(end)]
        if 1 not in items:
            found.notes.append(f"{given} was read as {target} from {items[0][1]} to today.")


def _split_pair(found: Renamed, unknown: dict[str, Any], names: list[str], forms: Mapping[str, Any]) -> None:
    """Divide a pair of currencies in one argument between the two parameters that a tool has for them."""
    for base_name, quote_name in forms.get("pairs", ()):
        if base_name not in names or quote_name not in names:
            continue
        words = [name for name in unknown if normalize(name) in {normalize(word) for word in forms["pair_names"]}]
        carriers = [base_name] if base_name in found.arguments else words[:1]
        for carrier in carriers:
            value = found.arguments.get(carrier, unknown.get(carrier))
            pair = parse_pair(value)
            if pair is None or (base_name == carrier and len(str(value).strip()) <= 5):
                continue
            known = found.arguments.get(quote_name)
            if known is not None and _spelled(known) != pair[1].casefold():
                text = f"is {quote(known)}, and {carrier} {quote(value)} has {pair[1]}"
                found.problems.append(_problem(quote_name, text, "one of them"))
                continue
            unknown.pop(carrier, None)
            found.arguments.update({base_name: pair[0], quote_name: pair[1]})
            found.notes.append(f'{carrier} "{value}" was read as {base_name} "{pair[0]}", {quote_name} "{pair[1]}".')


def _join_quarter(found: Renamed, unknown: dict[str, Any], names: list[str], takes: Callable[[str, Any], bool]) -> None:
    """Join a year and the number of a quarter for a tool that takes both as one: ``2024Q1``."""
    year_name = next((name for name in unknown if normalize(name) in ("year", "fiscalyear")), "")
    targets = [name for name in names if normalize(name) in ("quarter", "fiscalquarter")]
    year = str(unknown.get(year_name, "")).strip()
    if len(targets) != 1 or not re.fullmatch(r"(?:19|20)\d\d", year) or not takes(targets[0], f"{year}Q1"):
        return
    target, others = targets[0], [name for name in unknown if normalize(name) in ("quarter", "fiscalquarter", "q")]
    given_as = target if found.arguments.get(target) is not None else next(iter(others), "")
    quarter = str(found.arguments.get(given_as, unknown.get(given_as, ""))).strip()
    number = re.fullmatch(rf"(?:{year}[- ]?)?(?:Q|quarter )?([1-4])", quarter, re.I)
    unknown.pop(year_name)
    unknown.pop(given_as, None)
    if number is None:
        found.arguments.pop(target, None)
        text = f"is {quote(quarter)}" if quarter else "is missing"
        found.problems.append(_problem(target, f"{text} beside {year_name} {year}", f"{year}Q1 to {year}Q4"))
        return
    found.arguments[target] = f"{year}Q{number[1]}"
    found.notes.append(f"{year_name} {year} and {given_as} {quote(quarter)} were read as {year}Q{number[1]}.")


def _problem(parameter: str, problem: str, expected: str) -> Problem:
    return {"parameter": parameter[:60], "problem": problem, "expected": expected}
