"""How toolfold was installed here, and the command that adds one of its extras."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "toolfold"

EXTRAS = {
    "yaml": "build",
    "pydantic": "build",
    "boto3": "aws",
    "botocore": "aws",
    "obstore": "aws",
    "aws_xray_sdk": "tracer",
    "uvicorn": "serve",
    "h11": "serve",
    "joserfc": "oauth",
}
"""Module that an extra installs → the extra; see pyproject.toml."""


def install_command(extra: str) -> str:
    """Return the command that installs ``extra`` for the Python that runs, from where toolfold came from.

    https://packaging.python.org/en/latest/specifications/direct-url/ says how an installer records that.
    """
    pip = f"{'pip' if _has_plain_pip() else f'{sys.executable} -m pip'} install"
    try:
        distribution = importlib.metadata.distribution(_NAME)
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError, OSError):
        distribution, origin = None, {}
    url = str(origin.get("url", ""))
    if origin.get("vcs_info"):
        commit = origin["vcs_info"].get("commit_id", "")
        return (
            f"{pip} '{_NAME}[{extra}] @ {origin['vcs_info'].get('vcs', 'git')}+{url}{f'@{commit}' if commit else ''}'"
        )
    if "dir_info" in origin and url.startswith("file:"):
        return _from_folder(pip, Path(unquote(urlsplit(url).path)), extra, origin["dir_info"])
    if url:  # a wheel
        return f"{pip} '{_NAME}[{extra}] @ {url}'"
    checkout = _checkout()
    if distribution is None and checkout is not None:
        return f"cd {checkout} && make .venv/.dev"
    return f"{pip} '{_NAME}[{extra}]'"


def _from_folder(pip: str, folder: Path, extra: str, info: Mapping[str, Any]) -> str:
    editable = "-e " if info.get("editable") else ""
    return f"{pip} {editable}'{folder}[{extra}]'"


def _checkout() -> Path | None:
    """Return the folder of the sources that run, where they are a checkout and not an installed package."""
    folder = Path(__file__).resolve().parents[4]
    return folder if (folder / "pyproject.toml").is_file() and (folder / "Makefile").is_file() else None


def _has_plain_pip() -> bool:
    """Return whether ``pip`` in the path of a shell is that of this Python: a virtual environment is active."""
    active = os.environ.get("VIRTUAL_ENV")
    return bool(active) and Path(sys.prefix) == Path(str(active))
