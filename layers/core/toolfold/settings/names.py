"""Names of environment variables: which are settings, which belong to one source, and which are mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from toolfold.errors import SettingsError
from toolfold.settings.own_keys import BUILT_IN_SOURCES
from toolfold.settings.parsers import parse_encodable, split_items
from toolfold.settings.variables import VARIABLES

PREFIX = "TOOLFOLD_"
_SHORT_NAMES = frozenset(name.removeprefix(PREFIX) for name in VARIABLES if "<" not in name)

_OF_SOURCE = "TOOLFOLD_SOURCE_"

# Not compiled: the first response needs it for unknown names alone.
_OF_KUBERNETES = (
    r"TOOLFOLD(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
    r"|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in every container beside a service whose name begins with "toolfold"
(https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables)."""


def check_names(environment: Mapping[str, str]) -> None:
    """Check that every variable that looks like a setting is one.

    A misspelt ``TOOLFOLD_SOURCE_<ID>_URL`` would send the calls, and the key, to the real service.

    Raises:
        SettingsError: one is not.
    """
    unknown = unknown_names(environment)
    if unknown:
        raise SettingsError("\n".join(map(describe_unknown, unknown)))


def describe_unknown(name: str) -> str:
    """Return a sentence about a variable that is not a setting, with the closest one."""
    from toolfold.settings.misspelt_names import describe

    return describe(name, VARIABLES, {source: known.variable for source, known in BUILT_IN_SOURCES.items()})


def unknown_names(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that look like settings but are not, in alphabetical order."""
    allowed: Sequence[str] = ()
    unknown = []
    for name in environment:
        if name in VARIABLES or not _looks_like_setting(name):
            continue
        allowed = allowed or [
            *split_items(environment.get("TOOLFOLD_IGNORED_VARIABLES", "")),
            *(item.rpartition("=")[2] for item in split_items(environment.get("TOOLFOLD_KEY_VARIABLES", ""))),
            "",
        ]
        if not is_ignored(name, allowed):
            unknown.append(name)
    return sorted(unknown)


def is_ignored(name: str, ignored: Sequence[str]) -> bool:
    """Return whether ``ignored``, a value of ``TOOLFOLD_IGNORED_VARIABLES``, has ``name``."""
    return any(name == item or (item[-1:] == "*" and name.startswith(item[:-1])) for item in ignored)


def source_of(name: str) -> tuple[str, str] | None:
    """Return the source and the end, ``URL`` or ``KEY``, of a variable of one source; None for any other name."""
    id_, separator, end = name.removeprefix(_OF_SOURCE).rpartition("_")
    if not (name.startswith(_OF_SOURCE) and id_ and separator and end in ("URL", "KEY")):
        return None
    return id_.lower(), end


def _looks_like_setting(name: str) -> bool:
    if name.startswith(PREFIX):
        return source_of(name) is None and re.fullmatch(_OF_KUBERNETES, name) is None
    # Another spelling of the prefix: in lower case, divided, without the underscore, with a typo.
    upper = name.upper()
    head = next((head for head in ("TOOLFOLD", "TOOL_FOLD", "TOOL-FOLD") if upper.startswith(head)), "")
    short = upper.removeprefix(head).lstrip("_-") if head else upper.partition("_")[2]
    if short not in _SHORT_NAMES and source_of(PREFIX + short) is None:
        return False
    return bool(head) or _has_letters_of_prefix(upper.partition("_")[0])


def _has_letters_of_prefix(word: str) -> bool:
    """Return whether ``word`` has the letters of the prefix, but for one. Imports nothing: each start needs this."""
    missing = list("TOOLFOLD")
    for letter in word:
        if letter in missing:
            missing.remove(letter)
    return abs(len(word) - 8) <= 1 and len(missing) <= 1


def source_urls(variables: Mapping[str, str], ignored: Sequence[str]) -> dict[str, str]:
    """Return source → URL, from the variables named ``TOOLFOLD_SOURCE_<ID>_URL``."""
    urls = {}
    for name, value in variables.items():
        found = source_of(name)
        if found is not None and found[1] == "URL" and value.strip() and not is_ignored(name, ignored):
            urls[found[0]] = parse_encodable(name, value.strip())
    return urls


def keyed_sources(variables: Mapping[str, str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the sources of the variables named ``TOOLFOLD_SOURCE_<ID>_KEY``; the keys are read at each call."""
    names = (name for name, value in variables.items() if value.strip() and not is_ignored(name, ignored))
    return tuple(found[0] for found in map(source_of, names) if found is not None and found[1] == "KEY")
