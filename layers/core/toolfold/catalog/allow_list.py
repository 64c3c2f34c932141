"""Decide which environment variables and hosts the sources of a catalog may name.

A catalog is data, and the bucket that it comes from may be written by others. What it may make this process read and
reach is therefore decided by code (``settings.BUILT_IN_SOURCES``) and by the operator's settings, never by the catalog:

========================  =============================================================================================
key of a source           the variable of a built-in source; ``TOOLFOLD_SOURCE_<ID>_KEY``; ``TOOLFOLD_KEY_VARIABLES``
host of a source          the host of a built-in source; ``TOOLFOLD_SOURCE_<ID>_URL``; ``TOOLFOLD_ALLOWED_HOSTS``
hosts of its ``oauth2``    ``TOOLFOLD_ALLOWED_HOSTS``: they get the secret of the source, or the password of its user
command of a source       ``TOOLFOLD_ALLOWED_COMMANDS``, not on Lambda
========================  =============================================================================================

The key of a built-in source is sent to the host of that source, or to the one that the operator sets for it, and to no
other. An entry ``ID=NAME`` in a setting binds a variable or a host to one source in the same way.
"""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import itertools
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from toolfold.catalog.entries import Source
from toolfold.catalog.text_checks import host_of
from toolfold.errors import CatalogUnavailable, UpstreamError
from toolfold.extras import on_lambda
from toolfold.messages import ALLOW, MISSPELT, ONLY_URLS, SEE_LOG
from toolfold.settings.model import BUILT_IN_SOURCES, Settings

logger = logging.getLogger("toolfold")

IN_ERROR = {"is_in_error": True}
"""Field of a line of the log that says no more than the error that is raised."""

_COMMANDS = "TOOLFOLD_ALLOWED_COMMANDS"
_WITHOUT_HOST = frozenset({"skills", "sql"})
"""Kinds of sources that send no requests. The address of a database is in its key, which the operator sets."""


def own_variable(source_id: str) -> str:
    """Return the environment variable that any source may name for its key."""
    return f"TOOLFOLD_SOURCE_{source_id.upper()}_KEY"


class Refusal(NamedTuple):
    """What a source names and may not, and which entry of which setting would allow it.

    ``name`` is empty where the URL of the source cannot be used at all.
    """

    source_id: str
    what: str
    name: str
    entry: str
    setting: str


class AllowList:
    """What the sources of a catalog may name by the settings, in which entries are ``NAME`` or ``ID=NAME``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def check_all(self, sources: Collection[Source]) -> None:
        """Check each of ``sources``, and that the operator's variables for a source are about one of them.

        With a misspelt ``TOOLFOLD_SOURCE_<ID>_URL`` the calls, and the key, would go to the URL in the catalog.

        Raises:
            CatalogUnavailable: A source names what is not allowed, or a variable names no source.
        """
        for source in sources:
            with suppress(UpstreamError):  # calls of this source will be refused; others are not affected
                self.check(source, logging.WARNING)
        known = ", ".join(sorted(source.id for source in sources)) or "no source"
        keyed = self._settings.keyed_sources
        for kind, named in (("URL", self._settings.source_urls), ("KEY", keyed)):
            for source_id in set(named).difference(BUILT_IN_SOURCES, (source.id for source in sources)):
                variable = f"TOOLFOLD_SOURCE_{source_id.upper()}_{kind}"
                raise _misspelt(f"{variable} names a source that the catalog does not have. It has {known}.")
        for source in sources:
            variable = "" if source.auth is None else source.auth.environment
            if source.id in keyed and variable != own_variable(source.id):
                read = f"the key of {source.title} is {variable}" if variable else "it has no key"
                raise _misspelt(f"{own_variable(source.id)} is not read: {read}.")

    def check(self, source: Source, level: int = logging.ERROR) -> None:
        """Check that ``source`` names nothing that is not allowed; ``level`` is that of the line about a program.

        Raises:
            CatalogUnavailable: It does. The log says what, and which setting allows it.
            UpstreamError: It is a program that may not be started here.
        """
        refusal, command = self.first_refusal([source]), command_of(source)
        if refusal is None and not command:
            return
        is_program = bool(command) and (refusal is None or refusal.setting == _COMMANDS)
        if is_program and on_lambda():
            logger.log(level, "source %s is a program, which a Lambda function does not start", ascii(source.id[:64]))
            raise UpstreamError(
                f"{source.title} is a program that is started where toolfold runs, which a Lambda function cannot do.",
                ONLY_URLS,
            )
        if refusal is None:
            return
        if not refusal.name:
            logger.error("catalog refused: the base_url of source %s is not a usable https URL", refusal.source_id)
            problem = "The tool catalog has a source whose URL is not allowed."
            raise CatalogUnavailable(problem, SEE_LOG.filled(what="which"))
        said = "source %s names %s that is not allowed here, %s; to allow it, add %s to %s"
        logger.log(level if is_program else logging.ERROR, said, *refusal)
        if is_program:
            raise UpstreamError(
                f"{source.title} is a program that may not be started here; nothing was called.",
                ALLOW.filled(setting=refusal.setting, allowed="may be started"),
            )
        raise CatalogUnavailable(
            f"The tool catalog names {refusal.what} that is not allowed here.",
            ALLOW.filled(setting=refusal.setting, allowed="a catalog may name"),
        )

    def first_refusal(self, sources: Collection[Source]) -> Refusal | None:
        """Return the first thing that a source names and that is not allowed, or None."""
        refusals = (self._refusal_of(source) or self._refusal_of_command(source) for source in sources)
        return next(filter(None, refusals), None)

    def _refusal_of(self, source: Source) -> Refusal | None:
        """Return which variable or host a source names that is not allowed. One that is a program has no host."""
        known = BUILT_IN_SOURCES.get(source.id)
        if source.auth is not None:
            name = source.auth.environment
            own = (own_variable(source.id), known.variable if known else "")
            if name not in own and {name, f"{source.id}={name}"}.isdisjoint(self._settings.key_variables):
                return _refusal(source.id, "an environment variable", name, "TOOLFOLD_KEY_VARIABLES")
        sends = source.base_url or not (source.kind in _WITHOUT_HOST or command_of(source))
        urls = [source.base_url] if sends and source.id not in self._settings.source_urls else []
        names = ("token_url", "authorization_url", "revocation_url")
        for url in [*urls, *(url for name in names if (url := source.oauth2.get(name)))]:
            host = host_of(url)
            # The key of a built-in source belongs to its own host: an entry for every source does not extend it.
            entries = {f"{source.id}={host}", "" if known else host}
            is_own = known is not None and host == known.host
            if not host or (not is_own and entries.isdisjoint(self._settings.allowed_hosts)):
                return _refusal(source.id, "a host", host, "TOOLFOLD_ALLOWED_HOSTS")
        return None

    def _refusal_of_command(self, source: Source) -> Refusal | None:
        """Return the command of a source, if it is not allowed: none of the entries is what it begins with."""
        command = command_of(source)
        if not command:
            return None
        import shlex  # few catalogs have commands

        for entry in self._settings.allowed_commands:
            owner, separator, words = entry.partition("=")
            is_owned = separator and owner.isidentifier() and owner == owner.lower()
            if is_owned and owner != source.id:
                continue
            allowed = shlex.split(words if is_owned else entry)
            if command[: len(allowed)] == allowed:
                return None
        line = shlex.join(itertools.takewhile(lambda word: "," not in word, command))  # a comma separates entries
        entry = f"{source.id}={ascii(line[:400])[1:-1]}"
        return Refusal(ascii(source.id[:64]), "a command", ascii(line[:100]), entry, _COMMANDS)


def command_of(source: Source) -> list[str]:
    """Return program and arguments of a source that is a program; empty for any other, or where they are damaged."""
    command = source.connection.get("command")
    return command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []


def _misspelt(sentence: str) -> CatalogUnavailable:
    logger.error("catalog not used: %s", sentence, extra=IN_ERROR)
    return CatalogUnavailable(sentence, MISSPELT)


def _refusal(source_id: str, what: str, name: str, setting: str) -> Refusal:
    # The names come from the catalog: ascii() keeps their line breaks out of the log.
    entry = f"{source_id}={name}" if source_id in BUILT_IN_SOURCES else name
    return Refusal(ascii(source_id[:64]), what, ascii(name[:100]) if name else "", ascii(entry[:164])[1:-1], setting)
