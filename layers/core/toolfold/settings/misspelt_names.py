"""Word the mistakes in the names of environment variables. Imported when there is one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from toolfold.fuzzy import closest_matches, normalize

__all__ = ["closest_name", "describe", "describe_source"]

_LEAST = 0.7
"""How similar a name must be to be suggested, without the prefix that all have in common."""

_PREFIX = "toolfold"


def describe(name: str, settings: Iterable[str], keys: Mapping[str, str]) -> str:
    """Return a sentence about ``name``, which is not a setting, and the next step.

    Args:
        name: the variable.
        settings: the names of all settings.
        keys: source → variable with its key.
    """
    closest = closest_name(name, settings, keys)
    step = f"Did you mean {closest}?" if closest else "`toolfold help settings` lists the settings."
    return (
        f"{_shown(name)} is not a setting of toolfold. {step} "
        "If it belongs to something else, add it to TOOLFOLD_IGNORED_VARIABLES."
    )


def closest_name(name: str, settings: Iterable[str], keys: Mapping[str, str]) -> str:
    """Return the setting that ``name`` may mean, or an empty string. Arguments as of :func:`describe`."""
    urls = [f"TOOLFOLD_SOURCE_{source.upper()}_URL" for source in keys]
    names = {normalize(setting).removeprefix(_PREFIX): setting for setting in (*settings, *urls) if "<" not in setting}
    # What people write for the settings of a source.
    names |= dict.fromkeys(("url", "baseurl", "sourceurl"), urls[0])
    names |= dict.fromkeys(("key", "apikey", "token"), next(iter(keys.values())))
    given = normalize(name).removeprefix(_PREFIX)
    end = normalize(name.partition("_")[2])
    # The prefix itself may be misspelt.
    matches = [end] if given not in names and end in names else closest_matches(given, names, least=_LEAST)
    return names[matches[0]] if matches else ""


def describe_source(source_id: str, kind: str, sources: Collection[str]) -> str:
    """Return a sentence about a variable of a source that the catalog does not have, and the next step.

    Args:
        source_id: the source that it names.
        kind: ``URL`` or ``KEY``.
        sources: those of the catalog.
    """
    known = sorted(sources)
    closest = closest_matches(source_id, known, least=_LEAST) or known[: len(known) == 1]
    step = f"Did you mean {_of_source(closest[0], kind)}?" if closest else f"It has {', '.join(known)}."
    return f"{_shown(_of_source(source_id, kind))} names a source that the catalog does not have. {step}"


def _of_source(source_id: str, kind: str) -> str:
    return f"TOOLFOLD_SOURCE_{source_id.upper()}_{kind}"


def _shown(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else ascii(name)
