"""``toolfold install``: add toolfold to the configuration of an MCP client on this machine."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolfold.cli import client_config
from toolfold.errors import ToolfoldError
from toolfold.mcp_clients import CLIENTS, Client, own_command, to_text

_KEY_VARIABLE = "ALPHA_VANTAGE_API_KEY"

_EXAMPLES = """examples:
  toolfold install claude-desktop             show the change, confirm, keep a copy, write
  toolfold install cursor --print             print the entry, change nothing
  toolfold install vscode --yes               without a confirmation
  toolfold install claude-code --env TOOLFOLD_CACHE=off
  toolfold install cursor --profile grouped   other tools in tools/list; `toolfold profiles list` names them

The API key is taken from ALPHA_VANTAGE_API_KEY, if it is set, and written into the client's configuration, where the
client reads it. It is not shown.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "install",
        help="add toolfold to Claude Desktop, Claude Code, Cursor or VS Code",
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Change the configuration, or print the entry."""
    client = CLIENTS[options.client]
    environment = _environment(options.env)
    _check_profile(options.profile, environment)
    profile = ["--profile", options.profile] if options.profile else []
    entry = client.entry([*own_command(), *profile], environment)
    _warn_about_settings(environment)
    if options.print:
        print(to_text({client.section: {options.name: entry}}), end="")
        return 0
    path = (options.config or client.path()).expanduser()
    before = client_config.read(path, client.section, _print_command(options))
    after = client_config.with_server(before, client.section, options.name, entry)
    if after == before:
        print(f"{client.title} has this entry already: {path}")
        return 0
    print(_diff(path, client.section, options.name, before, after))
    if not options.yes and not _confirmed():
        print("Nothing was changed.", file=sys.stderr)
        return 1
    backup = client_config.write(path, after)
    kept = f" The file as it was: {backup}" if backup else ""
    link = f", a link to {path.resolve()}" if path.is_symlink() else ""
    shown = f"the tools of {options.profile}" if options.profile else "TOOL_LIST, TOOL_GET and TOOL_CALL"
    print(f"Added to {path}{link}.{kept}\nRestart {client.title}; it then shows {shown}.")
    _warn_about_key(client, environment)
    return 0


def _print_command(options: argparse.Namespace) -> str:
    """Return the command that prints the same entry, without ``--env``, whose values may be keys."""
    name = ["--name", options.name] if options.name != "toolfold" else []
    profile = ["--profile", options.profile] if options.profile else []
    return shlex.join(["toolfold", "install", options.client, *name, *profile, "--print"])


def _check_profile(name: str, environment: Mapping[str, str]) -> None:
    """Check that the catalog of the server has the profile; one in S3 is not read.

    Raises:
        ProfileNotFound: it has none of that name.
    """
    if not name:
        return
    from toolfold.catalog.store import open_store
    from toolfold.settings import Settings

    settings = Settings.from_environment({**os.environ, **environment})
    if not settings.catalog.startswith("s3://"):
        from toolfold.exposure.profiles import find_profile

        find_profile(open_store(settings)(), name)


def _environment(pairs: list[str]) -> dict[str, str]:
    """Return the variables for the server: the API key, where this process has one, and those of ``--env``."""
    environment = {}
    if key := os.environ.get(_KEY_VARIABLE, "").strip():
        environment[_KEY_VARIABLE] = key
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ToolfoldError(f"--env takes NAME=VALUE, not {name!r}.")
        environment[name] = value
    return environment


def _diff(path: Path, section: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the change of the one entry that changes, without the values of its environment, which may be keys."""
    old, new = before.get(section, {}).get(name), after[section][name]
    old_lines = [] if old is None else to_text({name: _masked(old, {})}).splitlines()
    new_lines = to_text({name: _masked(new, old)}).splitlines()
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


def _warn_about_key(client: Client, environment: dict[str, str]) -> None:
    if _KEY_VARIABLE not in environment and not any(name.startswith("TOOLFOLD_SOURCE_") for name in environment):
        print(
            f"No API key was written, because {_KEY_VARIABLE} is not set here. Set it and run this command again, or "
            f'add it to "env" in the file. A free key: https://www.alphavantage.co/support/#api-key',
            file=sys.stderr,
        )
