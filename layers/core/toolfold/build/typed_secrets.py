"""Find keys that were typed into ``source.yaml``: all that can read the catalog can read them.

A value counts by its name (``--api-key``, ``X-Auth-Token``, ``DB_PASSWORD``), or by its own form where issuers of keys
give them one (``ghp_…``). What is found are names: a value is in no message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from toolfold.build import yaml_loader
from toolfold.catalog.allow_list import own_variable

PROBLEM = "its value looks like a secret, and the catalog shows it to all who read it"

SECRET_NAME = re.compile(
    r"((x-)?(access|api|app|application|auth|client|consumer|developer|private|rapidapi|secret|service|session"
    r"|subscription|user)[-_]?)?(key|token|secret|password|pwd|sig|signature)|\w*api[-_]?key|app[-_]?id|auth"
    r"|authorization|jwt",
    re.IGNORECASE,
)
"""Names of parameters of a URL that hold a key, which is never written into the catalog."""

_LAST_WORD = re.compile(
    r"keys?|apikey|token|secret|pass(word|wd|phrase)?|pwd|pat|jwt|authorization|bearer|cookie|credentials?",
    re.IGNORECASE,
)
"""The last word of the name of an option, a header or a variable whose value is a secret."""

_HARMLESS = re.compile(
    r"(public|primary|foreign|partition|sort|cache|idempotency|group|map|max|page|next|stop|no)[-_]\w+", re.IGNORECASE
)
"""Names with such a word that are not of secrets."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_ISSUED = re.compile(
    r"\b(sk|pk|rk)[-_](?=[a-z_-]*[A-Z0-9])[A-Za-z0-9_-]{16,}|\b(ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|hf|npm)[-_][A-Za-z0-9_-]{10,}"
    r"|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."
)
"""Keys whose issuers give them a form of their own."""

_REFERENCE = re.compile(r"""(?:(?:Bearer|Basic|Token)\s+)?["']?(\$|%\w+%|<|\{\{)|arn:|ssm:""", re.IGNORECASE)
"""How a value begins that only names a secret: ``$NAME``, ``${NAME}``, ``<your key>``, a reference of AWS."""

_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)")
_ASSIGNED = re.compile(r"-{0,2}([A-Za-z][\w.-]*)\s*[=:]\s*(?!//)(\S.*)", re.DOTALL)
"""``--token=VALUE``, ``KEY=VALUE`` and ``Authorization: VALUE``, each one argument."""


def find_typed_secrets(settings: Mapping[str, Any]) -> list[tuple[yaml_loader.Location, str, str]]:
    """Return what looks like a secret in the content of ``source.yaml``.

    Returns:
        For each: where it is, its name, and how the key is given instead.

    Example:
        >>> settings = {"id": "w", "args": ["--api-key", "abc123"]}
        >>> [(at, name) for at, name, _ in find_typed_secrets(settings)]
        [(('args', 1), '--api-key')]
    """
    variable = own_variable(str(settings.get("id", "")))
    program = f"leave it out, add key_variable: NAME_THAT_THE_PROGRAM_READS and auth: {{}}, and set {variable}"
    found: list[tuple[yaml_loader.Location, str, str]] = []
    arguments = settings.get("args")
    for number, name in _in_arguments(arguments if isinstance(arguments, list) else ()):
        found.append((("args", number), name, program))
    for key in ("env", "headers"):
        given = settings.get(key)
        for name, value in given.items() if isinstance(given, dict) else ():
            if _is_secret(str(name), str(value)):
                advice = program.replace("NAME_THAT_THE_PROGRAM_READS", str(name))
                if key == "headers":
                    scheme, form = str(value).split(maxsplit=1)[0].lower(), f"header: {name}"
                    if str(name).lower() == "authorization" and scheme in ("bearer", "basic"):
                        form = f"{scheme}: true"
                    advice = f"leave it out, add auth: {{{form}}}, and set {variable}"
                found.append(((key, name), str(name), advice))
    for key in ("url", "base_url"):
        if name := _in_url(str(settings.get(key) or "")):
            found.append(((key,), name, f"leave it out, add auth: {{query_key: {name}}}, and set {variable}"))
    return found


def _in_arguments(arguments: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield the position of each secret, and the name of its option."""
    words = [str(argument) for argument in arguments]
    for number, word in enumerate(words):
        before = _OPTION.fullmatch(words[number - 1]) if number else None
        assigned = _ASSIGNED.fullmatch(word)
        if assigned and _is_secret(assigned[1], assigned[2]):
            yield number, word[: assigned.end(1)]
        elif before and not word.startswith("-") and _is_secret(before[1], word):
            yield number, words[number - 1]
        elif name := _in_url(word.partition("=")[2] if assigned else word):
            yield number, name
        elif _ISSUED.search(word):
            yield number, f"argument {number + 1}"


def _is_secret(name: str, value: str) -> bool:
    if not value.strip() or _REFERENCE.match(value.strip()):
        return False
    if _ISSUED.search(value):
        return True
    words = _WORD.findall(name)
    return bool(words and _LAST_WORD.fullmatch(words[-1])) and not _HARMLESS.fullmatch(name)


def _in_url(text: str) -> str:
    """Return the name of what is secret in a URL; empty: nothing is, or it is not a URL."""
    if "://" not in text:
        return ""
    try:
        parts = urlsplit(text)
        if parts.password and not _REFERENCE.match(parts.password):
            return "the password in the URL"
    except ValueError:
        return ""
    pairs = parse_qsl(parts.query)
    return next((name for name, value in pairs if SECRET_NAME.fullmatch(name) and not _REFERENCE.match(value)), "")
