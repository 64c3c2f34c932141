"""Add a server to the configuration file of an MCP client, without losing anything of it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolfold.errors import ToolfoldError
from toolfold.mcp_clients import to_text


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


def with_server(configuration: Mapping[str, Any], section: str, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``configuration`` with the entry of one server; everything else stays."""
    servers = configuration.get(section, {})
    return {**configuration, section: {**servers, name: dict(entry)}}


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
