"""Say how a package that is missing here is added: an extra of pip, or on Lambda an entry of ``settings.toml``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

_NAME = "toolfold"


def on_lambda() -> bool:
    """Return whether this process is a Lambda function, which starts no programs of sources."""
    return bool(os.environ.get("AWS_LAMBDA_FUNCTION_NAME"))


def how_to_add(extra: str) -> str:
    """Return what adds the packages of an extra to this process.

    Args:
        extra: ``mcp``, ``sql`` or ``scripts``.

    Returns:
        ``run:`` and the command, or on Lambda ``add "sources" to extras in settings.toml and deploy again``.
    """
    if not on_lambda():
        return f"run: {install_command(extra)}"
    return f'add "{"scripts" if extra == "scripts" else "sources"}" to extras in settings.toml and deploy again'


def install_command(extra: str) -> str:
    """Return the command that installs ``extra`` for the Python that runs, from where toolfold came from.

    https://packaging.python.org/en/latest/specifications/direct-url/ says how an installer records that.
    """
    import importlib.metadata  # 20 ms, and only a missing package needs it

    try:
        distribution = importlib.metadata.distribution(_NAME)
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError, OSError):
        distribution, origin = None, {}
    checkout = (Path(__file__).parent / "../../..").resolve()
    if distribution is None and (checkout / "pyproject.toml").is_file() and (checkout / "Makefile").is_file():
        return f"cd {checkout} && make .venv/.dev"
    url, package, options = str(origin.get("url", "")), f"{_NAME}[{extra}]", ""
    if found := origin.get("vcs_info"):
        commit = f"@{found['commit_id']}" if found.get("commit_id") else ""
        package += f" @ {found.get('vcs', 'git')}+{url}{commit}"
    elif "dir_info" in origin and url.startswith("file:"):
        package = f"{Path(unquote(urlsplit(url).path))}[{extra}]"
        options = "-e " if origin["dir_info"].get("editable") else ""
    elif url:  # a wheel
        package += f" @ {url}"
    # In an active virtual environment, pip in the path of a shell is that of this Python.
    is_active = bool(os.environ.get("VIRTUAL_ENV")) and Path(sys.prefix) == Path(os.environ["VIRTUAL_ENV"])
    return f"{'pip' if is_active else f'{sys.executable} -m pip'} install {options}'{package}'"
