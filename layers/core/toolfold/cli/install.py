"""``toolfold install``: add toolfold to the configuration of an MCP client on this machine.

Add a server to the configuration file of an MCP client, without losing anything of it.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolfold.catalog.store import open_store
from toolfold.cli.remote import secret_of
from toolfold.errors import ToolfoldError
from toolfold.exposure.profiles import find_profile
from toolfold.mcp_clients import CLIENTS, Client, deployment_entry, own_command, to_text
from toolfold.settings import Settings


def read(path: Path, section: str, by_hand: str) -> dict[str, Any]:
    """Return the configuration in a file, or ``{}`` where the file does not exist.

    Args:
        path: the file.
        section: its member that holds the servers.
        by_hand: the command that prints the entry, which an error names.

    Raises:
        ToolfoldError: the file cannot be read, or neither it nor its section is a JSON object.
    """
    unchanged = f"It was not changed; to add the entry by hand: {by_hand}"
    if path.exists() and not path.is_file():
        raise ToolfoldError(f"{path} is not a file. Name one with --config.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ToolfoldError(f"{path} cannot be read: {reason}. {unchanged}") from None
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        # Some clients allow comments. Writing the file again would lose them.
        raise ToolfoldError(f"{path}:{error.lineno} is not plain JSON ({error.msg}). {unchanged}") from None
    except (ValueError, RecursionError):
        raise ToolfoldError(f"{path} is not plain JSON. {unchanged}") from None
    if not isinstance(found, dict):
        raise ToolfoldError(f"{path} does not hold an object. {unchanged}")
    if not isinstance(found.get(section, {}), dict):
        raise ToolfoldError(f'"{section}" in {path} is not an object. {unchanged}')
    return found


def with_server(
    configuration: Mapping[str, Any],
    section: str,
    name: str,
    entry: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return ``configuration`` with the entry of one server, and the inputs that it names; everything else stays.

    Raises:
        ToolfoldError: there are inputs, and those of the configuration are no list.
    """
    added = {**configuration, section: {**configuration.get(section, {}), name: dict(entry)}}
    if inputs:
        known = configuration.get("inputs", [])
        if not isinstance(known, list):
            raise ToolfoldError('"inputs" in the configuration is not a list. Correct it; nothing was changed.')
        ids = [one.get("id") for one in known if isinstance(one, dict)]
        added["inputs"] = [*known, *(one for one in inputs if one["id"] not in ids)]
    return added


def write(path: Path, configuration: Mapping[str, Any]) -> Path | None:
    """Replace a file in one step. Where it is a symbolic link, the file that it leads to is replaced.

    Returns:
        The copy of the file as it was, or None where there was none.

    Raises:
        ToolfoldError: the file cannot be written. It is then as it was.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(target)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")  # readable by its owner
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(to_text(configuration))
            if backup is not None:
                shutil.copymode(target, temporary)
            Path(temporary).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be written: {error.strerror}. It is as it was.") from None
    return backup


def _backup(target: Path) -> Path | None:
    """Copy a file beside itself, under a name with the time."""
    if not target.exists():
        return None
    moment = time.strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        backup = target.with_name(f"{target.name}.{moment}{'' if number == 1 else f'-{number}'}.bak")
        try:  # neither over another file nor through a link
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(target.read_bytes())
            shutil.copystat(target, backup)
        except OSError:
            backup.unlink()
            raise
        return backup
    raise AssertionError


_KEY_VARIABLE = "ALPHA_VANTAGE_API_KEY"
_ORIGINS = {"uvx": "install uv (https://docs.astral.sh/uv)", "npx": "install Node.js (https://nodejs.org)"}

_EXAMPLES = """examples:
  toolfold install claude-desktop             show the change, confirm, keep a copy, write
  toolfold install cursor --print             print the entry, change nothing
  toolfold install vscode --yes               without a confirmation
  toolfold install claude-code --env TOOLFOLD_CACHE=off
  toolfold install cursor --profile grouped   other tools in tools/list; `toolfold profiles list` names them
  toolfold install cursor --endpoint https://mcp.example.com/mcp    a deployment instead of this machine

The API key is taken from ALPHA_VANTAGE_API_KEY, if it is set, and written into the client's configuration, where the
client reads it. It is not shown. For a deployment, clients that can do so read it from the variable or ask for it.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "install",
        description="Add toolfold to the configuration of an MCP client. Shows the change first, and keeps a copy of "
        "the file that it changes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("client", choices=sorted(CLIENTS), help="the client")
    parser.add_argument("--name", default="toolfold", help="name of the server in the client (default toolfold)")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="another variable for the server; repeatable"
    )
    parser.add_argument("--profile", metavar="NAME", default="", help="the profile whose tools the client gets")
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file, if it is not the usual one")
    parser.add_argument("--print", action="store_true", help="print the entry for the configuration; change nothing")
    parser.add_argument("--yes", action="store_true", help="change the file without a confirmation")
    parser.add_argument(
        "--access", choices=("iam", "oauth", "open"), help="of the endpoint (default: found by a request)"
    )
    parser.set_defaults(run=run, takes_endpoint=True)


def run(options: argparse.Namespace) -> int:
    """Change the configuration, or print the entry."""
    client = CLIENTS[options.client]
    key = ""
    if options.access and not options.endpoint:
        options.parser.error("--access is for an endpoint: add --endpoint URL.")
    if options.endpoint:
        entry, key = _of_endpoint(options, client)
    else:
        entry = _of_this_machine(options, client)
    inputs = client.inputs(key)
    if options.print:
        print(to_text({client.section: {options.name: entry}, **({"inputs": inputs} if inputs else {})}), end="")
        return 0
    path = (options.config or client.path()).expanduser()
    before = read(path, client.section, _print_command(options))
    after = with_server(before, client.section, options.name, entry, inputs)
    if after == before:
        print(f"{client.title} has this entry already: {path}")
        return 0
    print(_diff(path, client.section, options.name, before, after))
    if not options.yes and not _confirmed():
        print("Nothing was changed.", file=sys.stderr)
        return 1
    backup = write(path, after)
    kept = f" The file as it was: {backup}" if backup else ""
    link = f", a link to {path.resolve()}" if path.is_symlink() else ""
    shown = f"the tools of {options.profile}" if options.profile else "TOOL_LIST, TOOL_GET and TOOL_CALL"
    print(f"Added to {path}{link}.{kept}\nRestart {client.title}; it then shows {shown}.")
    if not options.endpoint:
        _warn_about_key(client, entry.get("env", {}))
    elif key and client.variable:
        how = "asks for it" if inputs else f"reads it from the variable {key}, which must be set where it starts"
        print(f"The API key was not written: {client.title} {how}.")
    return 0


def _of_this_machine(options: argparse.Namespace, client: Client) -> dict[str, Any]:
    """Return the entry that starts this toolfold."""
    environment = _environment(options.env)
    _check_profile(options.profile, environment)
    _warn_about_settings(environment)
    return client.entry([*own_command(), *(["--profile", options.profile] if options.profile else [])], environment)


def _of_endpoint(options: argparse.Namespace, client: Client) -> tuple[dict[str, Any], str]:
    """Return the entry of a deployment, and the name of the variable with the key that the client sends.

    Raises:
        ToolfoldError: An option does not fit the deployment or the client, or the deployment is not reached.
    """
    from toolfold.client import find_access, signing  # and the HTTP client, which an entry of this machine needs not

    if options.token_env:
        options.parser.error("--token-env is not for install: a client gets access tokens of its own.")
    parts = urlsplit(options.endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in parts.netloc:
        raise ToolfoldError("--endpoint takes a URL without a query, such as https://mcp.example.com/mcp.")
    access = options.access or ("iam" if options.sign else find_access(options.endpoint))
    if options.sign and access != "iam":
        options.parser.error(f"--sign is for Access=iam, not {access}.")
    region = options.sign or signing.region_of_address(options.endpoint)
    if access == "iam" and not region:
        raise ToolfoldError(f"{options.endpoint} does not name its region: add --sign REGION.")
    key = options.key_env or (_KEY_VARIABLE if access == "open" and os.environ.get(_KEY_VARIABLE, "").strip() else "")
    environment = {}
    if access == "iam" and (profile := os.environ.get("AWS_PROFILE")):  # clients start without the user's variables
        environment["AWS_PROFILE"] = profile
    if key and not client.variable:
        if access == "iam":
            raise ToolfoldError(f"{client.title} passes no key to the proxy that signs: store it in the deployment.")
        environment[key] = secret_of(key)
    if access == "open" and not key:
        print(f"No API key is sent: {_KEY_VARIABLE} is not set here, and --key-env names no other.", file=sys.stderr)
    url = f"{options.endpoint.rstrip('/')}/{options.profile}" if options.profile else options.endpoint
    entry = deployment_entry(client, url, access, {**environment, **_pairs(options.env)}, region, key)
    if "command" in entry:
        entry["command"] = _full_path(entry["command"])
    elif options.env:
        options.parser.error(f"--env is for a program, and {client.title} connects to the endpoint itself.")
    return entry, key


def _full_path(program: str) -> str:
    """Return the path of a program of this machine; clients are started without the user's PATH."""
    found = shutil.which(program)
    if found is None:
        print(f"The client starts {program}, which is not installed here: {_ORIGINS[program]}.", file=sys.stderr)
    return found or program


def _print_command(options: argparse.Namespace) -> str:
    """Return the command that prints the same entry, without ``--env``, whose values may be keys."""
    name = ["--name", options.name] if options.name != "toolfold" else []
    words = [word for option in ("profile", "endpoint", "access", "sign", "key_env") if getattr(options, option)
             for word in (f"--{option.replace('_', '-')}", getattr(options, option))]  # fmt: skip
    return shlex.join(["toolfold", "install", options.client, *name, *words, "--print"])


def _check_profile(name: str, environment: Mapping[str, str]) -> None:
    """Check that the catalog of the server has the profile; one in S3 is not read.

    Raises:
        ProfileNotFound: it has none of that name.
    """
    if not name:
        return
    settings = Settings.from_environment({**os.environ, **environment})
    if not settings.catalog.startswith("s3://"):
        find_profile(open_store(settings)(), name)


def _environment(pairs: list[str]) -> dict[str, str]:
    """Return the variables for the server: the API key, where this process has one, and those of ``--env``."""
    key = os.environ.get(_KEY_VARIABLE, "").strip()
    return {**({_KEY_VARIABLE: key} if key else {}), **_pairs(pairs)}


def _pairs(pairs: list[str]) -> dict[str, str]:
    """Return the variables of ``--env``."""
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ToolfoldError(f"--env takes NAME=VALUE, not {name!r}.")
        environment[name] = value
    return environment


def _diff(path: Path, section: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the change of the one entry that changes, without the values of its environment, which may be keys."""
    old, new = before.get(section, {}).get(name), after[section][name]
    added = [one for one in after.get("inputs", ()) if one not in before.get("inputs", ())]
    old_lines = [] if old is None else to_text({name: _masked(old, {})}).splitlines()
    new_lines = to_text({name: _masked(new, old), **({"inputs": added} if added else {})}).splitlines()
    return "\n".join(difflib.unified_diff(old_lines, new_lines, str(path), str(path), lineterm=""))


def _masked(entry: Any, previous: Any) -> Any:
    """Return an entry with the values of its environment replaced; changed ones are marked."""
    environment = entry.get("env") if isinstance(entry, dict) else None
    if not isinstance(environment, dict):
        return entry
    known = previous.get("env") if isinstance(previous, dict) else None
    known = known if isinstance(known, dict) else {}
    shown = {
        name: "(hidden, new value)" if name in known and known[name] != value else "(hidden)"
        for name, value in environment.items()
    }
    return {**entry, "env": shown}


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise ToolfoldError("There is no terminal for a confirmation. Add --yes to change the file.")
    print("Change the file? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _warn_about_settings(environment: Mapping[str, str]) -> None:
    """Name settings of this terminal that the server will not have: with another URL of a source, a key is misused."""
    missing = sorted(name for name in os.environ if name.startswith("TOOLFOLD_") and name not in environment)
    if missing:
        print(
            f"Set here, but not for the server: {', '.join(missing)}. To pass one on, add --env NAME=VALUE.",
            file=sys.stderr,
        )


def _warn_about_key(client: Client, environment: Mapping[str, str]) -> None:
    if _KEY_VARIABLE not in environment and not any(name.startswith("TOOLFOLD_SOURCE_") for name in environment):
        print(
            f"No API key was written, because {_KEY_VARIABLE} is not set here. Set it and run this command again, or "
            f'add it to "env" in the file. A free key: https://www.alphavantage.co/support/#api-key',
            file=sys.stderr,
        )
