"""``toolfold doctor``: check what a call needs, before an agent does.

A check returns findings, and does not raise.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from platform import python_version
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients
from toolfold.build.text_safety import find_prompt_injection
from toolfold.cache import create_shared_store
from toolfold.catalog.entries import Source
from toolfold.catalog.model import Catalog
from toolfold.catalog.start_check import check_catalog
from toolfold.catalog.store import open_store
from toolfold.cli import terminal
from toolfold.cli.application import Options
from toolfold.cli.error_text import for_person
from toolfold.cli.output import print_json
from toolfold.cli.tools import make_app
from toolfold.errors import CallError, SettingsError
from toolfold.execution.api_keys import SecretProvider, resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.exposure.profiles import profile_names, select
from toolfold.extras import missing_extra
from toolfold.fuzzy import normalize
from toolfold.local_defaults import with_local_defaults
from toolfold.network.session import HttpClient, describe_proxy
from toolfold.network.sockets import ca_bundle
from toolfold.settings import Settings
from toolfold.settings.model import unknown_names
from toolfold.sources.base import AdapterContext
from toolfold.sources.http_api.request import SMALLER_RESPONSE_HINT, HttpRequest, exchange_for
from toolfold.text_safety import counted
from toolfold.version import __version__

_PLACEHOLDER = re.compile(
    r"\W*((your|my|the|insert|enter)[-_ ]?.*(key|token|secret)[-_ ]?(here)?|change[-_ ]?me|placeholder|todo|x{3,})\W*",
    re.IGNORECASE,
)
"""What documents and examples have in the place of a key."""


class Finding(NamedTuple):
    """The outcome of one check of ``toolfold doctor``.

    ``subject`` is a word, ``text`` a sentence, and ``next_step`` another one or empty.
    """

    status: Literal["ok", "note", "problem"]
    subject: str
    text: str
    next_step: str = ""


_ANSWER_S = 10.0


def _checked(subject: str, check: Callable[..., Finding], *arguments: Any) -> Finding:
    """Return what ``check`` finds; the error that it raises is a problem."""
    try:
        return check(*arguments)
    except SettingsError as error:
        return Finding("problem", subject, str(error))
    except CallError as error:
        return Finding("problem", subject, *for_person(error))
    except ModuleNotFoundError as error:
        return Finding("problem", subject, f"This needs {missing_extra(error) or error.name}")


def _diagnose(environment: Mapping[str, str], options: Options) -> Iterator[Finding]:
    """Run all checks, in the order in which one needs the other."""
    yield Finding("ok", "toolfold", f"{__version__} on Python {python_version()} ({sys.executable}).")
    unknown = unknown_names(environment)
    for sentence in filter(None, (options.mistake, *unknown.values())):
        yield Finding("problem", "settings", sentence)
    environment = {name: value for name, value in environment.items() if name not in unknown}
    try:
        settings = Settings.from_environment(environment)
    except SettingsError as error:
        yield Finding("problem", "settings", str(error))
        return
    if not options.mistake:
        names = sorted(name for name in environment if name.startswith("TOOLFOLD_"))
        yield Finding("ok", "settings", f"set here: {', '.join(names)}." if names else "all have their defaults.")
    if proxy := describe_proxy("https://example.com"):
        yield Finding("ok", "proxy", f"{proxy}.")
    variable, path = ca_bundle(environment)
    if variable and not os.path.exists(path):
        text = f"{variable} names {path}, which does not exist."
        yield Finding("problem", "certificates", text, f"Correct {variable}.")
    elif variable:
        yield Finding("ok", "certificates", f"those in {path} ({variable}).")
    yield _checked("cache", _cache, with_local_defaults(settings))
    opened: list[Catalog] = []
    yield _checked("catalog", _catalog, settings, opened)
    for source in opened[0].sources if opened else ():
        yield _key(source, settings, environment)
        if not options.offline:
            yield _checked("network", _reachable, source, settings)
    if options.directory and opened:
        yield from _directory()


def _cache(local: Settings) -> Finding:
    """Open the cache that the command line and stdio use."""
    if local.cache == "off":
        return Finding("note", "cache", "off, so every call is sent to its source.")
    store = create_shared_store(local, time.monotonic, AwsClients())
    if store is None or store.run(lambda opened: (opened.get("doctor"), True)) is not None:
        return Finding("ok", "cache", f"{'in memory' if store is None else local.cache}.")
    return Finding("problem", "cache", f"{local.cache} cannot be used; answers are cached in memory only.")


def _catalog(settings: Settings, opened: list[Catalog]) -> Finding:
    """Open the catalog, and add it to ``opened``."""
    store = open_store(settings)
    check_catalog(settings, store)
    opened.append(catalog := store())
    titles = ", ".join(source.title for source in catalog.sources)
    return Finding("ok", "catalog", f"{counted(len(catalog), 'tool')} of {titles}.")


def _key(source: Source, settings: Settings, environment: Mapping[str, str]) -> Finding:
    step, auth = "", source.auth
    if auth is not None:
        step = f"Set {auth.environment}.{f' A key: {auth.signup_url}' if auth.signup_url else ''}"
        names = [name for name, value in environment.items() if value.strip()]
        same = [name for name in names if normalize(name) == normalize(auth.environment)]
        if same and auth.environment not in same:
            step = f"{same[0]} is set, but {auth.environment} is what is read."
    try:
        key = resolve_api_key(source, NO_CREDENTIALS, SecretProvider(settings, AwsClients(), environment=environment))
    except CallError as error:
        return Finding("problem", "key", error.message, step)
    if _PLACEHOLDER.fullmatch(key):
        return Finding("problem", "key", f"{source.title} has {key} in the place of a key.", step)
    return Finding("ok", "key", f"{source.title} {'has a key; it was not sent' if key else 'needs no key'}.")


def _reachable(source: Source, settings: Settings) -> Finding:
    """Request the root of the source's host, without a key."""
    parts = urlsplit(settings.source_urls.get(source.id, source.base_url))
    with contextlib.closing(HttpClient()) as client:
        send = exchange_for(source, AdapterContext(settings, lambda: client), SMALLER_RESPONSE_HINT)
        started = time.monotonic()
        response = send(HttpRequest("GET", f"{parts.scheme}://{parts.netloc}/"), started + _ANSWER_S)
    elapsed_ms = round((time.monotonic() - started) * 1000)
    return Finding("ok", "network", f"{parts.hostname} answers in {elapsed_ms} ms (HTTP status {response.status}).")


MAX_NAME, MAX_DESCRIPTION = 64, 2_048
"""Characters that a tool may have: the APIs of models take no longer name either."""

_MAX_SHOWN = 3
_DIRECTORY_STEP = "Correct the texts in overlay.yaml or the YAML of the source, and compile the catalog."


def check_definitions(catalog: Catalog, definitions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what directories refuse, as ``NAME problem``.

    Args:
        catalog: Has the effects of the tools that a definition stands for.
        definitions: Those of ``tools/list``.
    """
    # A word without _ may be one of the subject: EMA and SMA are tools, and averages.
    names = {one["name"] for one in definitions if "_" in one["name"]}
    for one in definitions:
        name, description, hints = one["name"], one.get("description", ""), one.get("annotations", {})
        if not one.get("title"):
            yield f"{name} has no title"
        if not {"readOnlyHint", "destructiveHint"} & hints.keys():
            yield f"{name} has neither readOnlyHint nor destructiveHint"
        # What a tool stands for are the names of tools among its values.
        rules = one["inputSchema"].get("properties", {}).values()
        values = (value for rule in rules if isinstance(rule, dict) for value in rule.get("enum", ()))
        tools = (catalog.get(value) for value in values if isinstance(value, str))
        if len({tool.effect == "read" for tool in tools if tool is not None}) > 1:
            yield f"{name} reads and writes"
        if len(name) > MAX_NAME:
            yield f"{name} has a name of more than {MAX_NAME} characters"
        if not 0 < len(description) <= MAX_DESCRIPTION:
            yield f"{name} has a description of {len(description):,} characters, not 1 to {MAX_DESCRIPTION:,}"
        yield from (f"{name} {kind}: {excerpt}" for kind, excerpt in find_prompt_injection(description))
        if others := sorted(names.intersection(re.findall(r"\w+", description)) - {name}):
            yield f"{name} names another tool: {others[0]}"


def _directory() -> Iterator[Finding]:
    """Yield a finding for each profile and mode of the catalog."""
    tools = make_app().server.tools
    for name in profile_names(tools.catalog()):
        definitions = select(tools, name).every_definition()
        found = list(check_definitions(tools.catalog(), definitions))
        if not found:
            yield Finding("ok", "directory", f"{name}: {counted(len(definitions), 'tool')} as directories want them.")
            continue
        more = f"; and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
        text = f"{name}: {'; '.join(found[:_MAX_SHOWN])}{more}."
        yield Finding("problem", "directory", text, _DIRECTORY_STEP)


def run(options: Options) -> int:
    """Print the findings; return 1 if one is a problem."""
    findings = []
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the findings say what the log would
    try:
        for finding in _diagnose(os.environ, options):
            findings.append(finding)
            if not options.json:
                status = finding.status.upper() if finding.status == "problem" else finding.status
                text = f"{finding.text} {finding.next_step}".rstrip()
                terminal.print_fields([(f"{status:7} {finding.subject:12}", text)])
                sys.stdout.flush()
    finally:
        logging.disable(disabled)
    if options.json:
        print_json([finding._asdict() for finding in findings], indent=2)
    return 1 if any(finding.status == "problem" for finding in findings) else 0
