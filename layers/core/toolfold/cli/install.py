"""``toolfold install`` and ``uninstall``: the entry of toolfold in the configuration of an MCP client."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolfold.catalog.store import open_store
from toolfold.cli.application import Options, fail, os_errors, secret_of
from toolfold.cli.config_files import Document, JsonDocument, TomlDocument, to_toml
from toolfold.cli.output import print_message
from toolfold.cli.settings import settings_path
from toolfold.cli.terminal import confirm
from toolfold.client.channels import find_access, region_of_address
from toolfold.errors import SettingsError, ToolfoldError
from toolfold.exposure.profiles import resolve_profile
from toolfold.mcp_clients import CLIENTS, Client, deployment_entry, own_command, to_text
from toolfold.private_folder import replace_file
from toolfold.settings import Settings
from toolfold.settings.model import unknown_names

_KEY_VARIABLE = "ALPHA_VANTAGE_API_KEY"
_PATHS = ("TOOLFOLD_CATALOG", "TOOLFOLD_CACHE", "TOOLFOLD_OFFLOAD", "TOOLFOLD_CALL_LOG", "TOOLFOLD_AUDIT_FILE")
"""Settings that may name a file or folder."""

_SECRET_NAME = re.compile(r".*(key|token|secret|password|passphrase|authorization|cookie|credentials?)", re.IGNORECASE)
_SECRETS = ("env", "headers")
"""Members of an entry whose values may be keys."""

_CACHES = frozenset((".cache", "cache", "Cache", "Caches"))
"""Names of folders whose content may be deleted at any time."""


def run(options: Options) -> int:
    """Add the entry, or print it."""
    client = CLIENTS[options.client]
    if options.access and not options.endpoint:
        raise fail("--access is for an endpoint: give --endpoint URL.")
    entry, key = _of_endpoint(options, client) if options.endpoint else (_of_this_machine(options, client), "")
    names = entry.get("env", {})
    keys = {name: value for name, value in names.items() if _SECRET_NAME.fullmatch(name)}
    if options.print:
        public = {**entry, **({"env": {**names, **dict.fromkeys(keys, "YOUR_KEY")}} if names else {})}
        print(_text(client, options.name, public), end="")
        if keys:
            print_message(f"Write the value of {', '.join(keys)} in the place of YOUR_KEY: it is not printed.")
        return 0
    before = _read(options, "to add the entry by hand, print it: the same command with --print")
    after = _edited(before, options, entry)
    if after.value == before.value:
        print(f"{client.title} has this entry already: {_path(options)}")
        return 0
    if (changed := _change(before, after, options)) is None:
        return 1
    shown = f"the tools of {options.profile}" if options.profile else "TOOL_LIST, TOOL_GET and TOOL_CALL"
    print(f"Added to {changed}\nRestart {client.title}; it then shows {shown}.")
    if not keys and not options.endpoint:
        print_message(
            f"The entry has no key: {_KEY_VARIABLE} is not set here, and --env names no other. If the server needs "
            "one, which `toolfold doctor` says, set it and run this command again."
        )
    elif key and client.variable:
        print(f"The API key was not written: {client.title} reads it from the variable {key} of where it starts.")
    return 0


def remove(options: Options) -> int:
    """Remove the entry."""
    client = CLIENTS[options.client]
    before = _read(options, f"to remove the entry by hand, edit {client.section}.{options.name}")
    if options.name not in before.value.get(client.section, {}):
        print(f"{client.title} has no entry {options.name}: {_path(options)}")
        return 0
    if (changed := _change(before, _edited(before, options, None), options)) is None:
        return 1
    print(f"Removed from {changed}\nRestart {client.title}.")
    return 0


def _path(options: Options) -> Path:
    path: Path = options.config or CLIENTS[options.client].path()
    return path.expanduser()


def _read(options: Options, by_hand: str) -> Document:
    """Return the configuration in the file of a client; an empty one where the file does not exist."""
    path, client = _path(options), CLIENTS[options.client]
    parse, form = (TomlDocument, "TOML") if client.is_toml else (JsonDocument, "plain JSON")
    if path.exists() and not path.is_file():
        raise ToolfoldError(f"{path} is not a file. Name one with --config.")
    step = f"It was not changed; {by_hand}"
    with os_errors(f"{path} cannot be read", step):
        content = path.read_bytes() if path.exists() else b""
    with os_errors(f"{path} is not {form}", step, ValueError, RecursionError):
        document: Document = parse(content.decode("utf-8-sig"))
    if not isinstance(document.value, dict):
        raise ToolfoldError(f"{path} does not hold an object. {step}")
    if not isinstance(document.value.get(client.section, {}), dict):
        raise ToolfoldError(f'"{client.section}" in {path} is not an object. {step}')
    return document


def _edited(before: Document, options: Options, entry: Mapping[str, Any] | None) -> Document:
    """Return the configuration with the entry, or without it; nothing else in it may change."""
    section, name = CLIENTS[options.client].section, options.name
    expected = {other: value for other, value in before.value.get(section, {}).items() if other != name}
    expected |= {} if entry is None else {name: entry}
    with os_errors(f"{_path(options)}, {section}.{name}", "Nothing was changed; edit it by hand.", ValueError):
        after = before.without_member([section, name]) if entry is None else before.with_member([section, name], entry)
        if {section: {}, **after.value} != {**before.value, section: expected}:
            raise ValueError("it is written in a form that cannot be changed")
    return after


def _change(before: Document, after: Document, options: Options) -> str | None:
    """Show the change, ask, and write it; return the file and where its copy is, as text, or None after a no."""
    path, client = _path(options), CLIENTS[options.client]
    entries = (document.value.get(client.section, {}).get(options.name) for document in (before, after))
    known, made = (json.dumps(entry, default=str) for entry in entries)  # TOML has dates
    old, new = (
        [] if entry == "null" else _text(client, options.name, _public(json.loads(entry), known)).splitlines()
        for entry in (known, made)
    )
    print(*difflib.unified_diff(old, new, str(path), str(path), lineterm=""), sep="\n")
    if not options.yes and not confirm("Change the file?", "Add --yes to change it."):
        print_message("Nothing was changed.")
        return None
    target = path.resolve()
    changed = f"{path}, a link to {target}." if path.is_symlink() else f"{path}."
    with os_errors(f"{path} cannot be written", "It is as it was."):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():  # a copy beside it; neither over another file nor through a link
            copy = target.with_name(f"{target.name}.{datetime.now().strftime('%Y%m%d-%H%M%S-%f')}.bak")
            replace_file(copy, target.read_bytes(), overwrite=False, mode=0o600)
            shutil.copystat(target, copy)
            changed += f" The file as it was: {copy}"
        replace_file(target, after.text.encode(), mode=0o600)
    return changed


def _public(value: Any, known: str, name: str = "") -> Any:
    """Return a part of an entry without texts that may be keys; those that ``known`` lacks are marked."""
    inner = "key" if name in _SECRETS else name
    if isinstance(value, dict):
        return {key: _public(one, known, inner if name in _SECRETS else key) for key, one in value.items()}
    if isinstance(value, list):
        return [_public(one, known, inner) for one in value]
    if not isinstance(value, str) or not _SECRET_NAME.fullmatch(name):
        return value
    return "(hidden)" if json.dumps(value) in known else "(hidden, new value)"


def _text(client: Client, name: str, entry: Any) -> str:
    """Return an entry as the text of a file."""
    if client.is_toml and isinstance(entry, dict):
        return to_toml([client.section, name], entry)
    return to_text({client.section: {name: entry}})


def _of_this_machine(options: Options, client: Client) -> dict[str, Any]:
    key = os.environ.get(_KEY_VARIABLE, "").strip()
    environment = {**({_KEY_VARIABLE: key} if key else {}), **_pairs(options.env)}
    if options.profile:
        settings = Settings.from_environment({**os.environ, **environment})
        if not settings.catalog.startswith("s3://"):  # that one is read by the server
            resolve_profile(open_store(settings)(), options.profile, settings)
    # With another URL of a source, a key would be misused. The server reads the user's own settings file itself.
    known = {*environment, *(name for name, file in options.from_file.items() if file == str(settings_path(None)))}
    missing = sorted(name for name in os.environ if name.startswith("TOOLFOLD_") and name not in known)
    if missing:
        print_message(f"Set here, but not for the server: {', '.join(missing)}. To pass one on, add --env NAME.")
    program, *arguments = own_command()
    if _CACHES.intersection(Path(program).parts):
        print_message(
            f"{program} is in a cache, as programs of uvx and `pipx run` are, and the client fails once it is cleared. "
            "Install toolfold by `uv tool install` or `pipx install`, and run this command with that one."
        )
    return client.entry(
        [program, *arguments, *(["--profile", options.profile] if options.profile else [])], environment
    )


def _of_endpoint(options: Options, client: Client) -> tuple[dict[str, Any], str]:
    """Return the entry of a deployment, and the name of the variable with the key that the client sends."""
    if options.token_env:
        raise fail("--token-env is not for install: a client gets access tokens of its own.")
    parts = urlsplit(options.endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in parts.netloc:
        raise ToolfoldError("--endpoint takes a URL without a query, such as https://mcp.example.com/mcp.")
    access = options.access or ("iam" if options.sign else find_access(options.endpoint))
    if options.sign and access != "iam":
        raise fail(f"--sign is for Access=iam, not {access}.")
    region = options.sign or region_of_address(options.endpoint)
    if access == "iam" and not region:
        raise ToolfoldError(f"{options.endpoint} does not name its region: add --sign REGION.")
    key = options.key_env or (_KEY_VARIABLE if access == "open" and os.environ.get(_KEY_VARIABLE, "").strip() else "")
    environment = {}
    if access == "iam" and (profile := os.environ.get("AWS_PROFILE")):  # clients start without the user's variables
        environment["AWS_PROFILE"] = profile
    if key and access == "iam" and not client.replaces_variables:
        raise ToolfoldError(f"{client.title} passes no key to the proxy that signs: store it in the deployment.")
    if key and not client.variable:
        environment[key] = secret_of(key)
    if access == "open" and not key:
        print_message(f"No API key is sent: {_KEY_VARIABLE} is not set here, and --key-env names no other.")
    url = f"{options.endpoint.rstrip('/')}/{options.profile}" if options.profile else options.endpoint
    entry = deployment_entry(client, url, access, {**environment, **_pairs(options.env)}, region, key)
    if "command" in entry:
        program = entry["command"]
        entry["command"] = shutil.which(program) or program  # clients start without the user's PATH
        if entry["command"] == program:
            print_message(f"The client starts {program}, which is not installed here (uvx: uv, npx: Node.js).")
    elif options.env:
        raise fail(f"--env is for a program, and {client.title} connects to the endpoint itself.")
    return entry, key


def _pairs(pairs: Sequence[str]) -> dict[str, str]:
    """Return the variables of ``--env``; a name alone stands for the variable of this terminal."""
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name.isidentifier() or not (equals or name in os.environ):
            raise ToolfoldError(f"--env takes NAME=VALUE, or the NAME of a variable that is set here, not {name!r}.")
        value = value if equals else os.environ[name]
        # A client starts its servers in another folder.
        is_path = name in _PATHS and not os.path.isabs(value) and "://" not in value
        if is_path and (os.sep in value or os.path.exists(value) or os.path.splitext(value)[1]):
            value = os.path.abspath(os.path.expanduser(value))
        environment[name] = value
    if unknown := unknown_names(environment):
        raise SettingsError("\n".join(unknown.values()))
    Settings.from_environment(environment)
    return environment
