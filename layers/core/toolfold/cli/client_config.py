"""The configuration files of MCP clients: where they are, and how a server is added without losing anything.

Locations and forms from the clients' documentation: modelcontextprotocol.io/docs/develop/connect-local-servers (Claude
Desktop), code.claude.com/docs/en/mcp (Claude Code), cursor.com/docs/context/mcp, code.visualstudio.com/docs/copilot/
reference/mcp-configuration.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolfold.errors import ToolfoldError


def _application_data(*parts: str) -> Path:
    """Return a path in the folder in which applications of this system keep their settings."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base.joinpath(*parts)


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Attributes:
        title: its name.
        section: the member of the file that holds the servers.
        path: returns the file.
        has_type: whether an entry says that the server is started as a process.
    """

    title: str
    section: str
    path: Callable[[], Path]
    has_type: bool = False

    def entry(self, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry of a server that is started with ``command``."""
        return {
            **({"type": "stdio"} if self.has_type else {}),
            "command": command[0],
            "args": list(command[1:]),
            **({"env": dict(environment)} if environment else {}),
        }


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(
        "Claude Desktop", "mcpServers", lambda: _application_data("Claude", "claude_desktop_config.json")
    ),
    "claude-code": Client("Claude Code", "mcpServers", lambda: Path.home() / ".claude.json", has_type=True),
    "cursor": Client("Cursor", "mcpServers", lambda: Path.home() / ".cursor" / "mcp.json"),
    "vscode": Client("VS Code", "servers", lambda: _application_data("Code", "User", "mcp.json"), has_type=True),
}
"""Name on the command line → client."""


def read(path: Path) -> dict[str, Any]:
    """Return the configuration in a file, or ``{}`` where the file does not exist.

    Raises:
        ToolfoldError: the file cannot be read, or is not a JSON object.
    """
    if path.exists() and not path.is_file():
        raise ToolfoldError(f"{path} is not a file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ToolfoldError(f"{path} cannot be read: {reason}.") from None
    if not text.strip():
        return {}
    by_hand = "It was not changed; add the entry by hand: toolfold install CLIENT --print"
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        # Some clients allow comments. Writing the file again would lose them.
        raise ToolfoldError(f"{path}:{error.lineno} is not plain JSON ({error.msg}). {by_hand}") from None
    except (ValueError, RecursionError):
        raise ToolfoldError(f"{path} is not plain JSON. {by_hand}") from None
    if not isinstance(found, dict):
        raise ToolfoldError(f"{path} does not hold an object. {by_hand}")
    return found


def with_server(configuration: Mapping[str, Any], section: str, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``configuration`` with the entry of one server; everything else stays.

    Raises:
        ToolfoldError: the section is not an object.
    """
    servers = configuration.get(section, {})
    if not isinstance(servers, dict):
        raise ToolfoldError(f'"{section}" of the configuration is not an object, so nothing can be added to it.')
    return {**configuration, section: {**servers, name: dict(entry)}}


def to_text(configuration: Mapping[str, Any]) -> str:
    """Return a configuration as the text of a file."""
    return json.dumps(configuration, indent=2, ensure_ascii=False) + "\n"


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
