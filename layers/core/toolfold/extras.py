"""Say how a package that is missing here is added: an extra of pip, or on Lambda an entry of ``settings.toml``."""

from __future__ import annotations

import os
import sys

_NAME = "toolfold"

EXTRAS = {
    "yaml": "build",
    "pydantic": "build",
    "boto3": "aws",
    "botocore": "aws",
    "obstore": "aws",
    "aws_xray_sdk": "tracer",
    "opentelemetry": "otel",
    "uvicorn": "serve",
    "joserfc": "oauth",
    "mcp": "mcp",
    "psycopg": "sql",
    "pydantic_monty": "scripts",
}
"""Module that an extra installs → the extra; see pyproject.toml."""


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
    """Return the command that installs ``extra`` for the Python that runs.

    pip adds the packages of an extra to the toolfold that is installed, from wherever that came.
    """
    import importlib.metadata  # 20 ms, and only a missing package needs it
    import importlib.util
    from pathlib import Path

    try:
        importlib.metadata.distribution(_NAME)
    except importlib.metadata.PackageNotFoundError:
        checkout = (Path(__file__).parent / "../../..").resolve()
        if (checkout / "pyproject.toml").is_file() and (checkout / "Makefile").is_file():
            return f"cd {checkout} && make .venv/.dev"
    if importlib.util.find_spec("pip") is None:  # environments of uv and pipx have none
        return f"uv pip install --python {sys.executable} '{_NAME}[{extra}]'"
    # In an active virtual environment, pip in the path of a shell is that of this Python.
    is_active = bool(os.environ.get("VIRTUAL_ENV")) and Path(sys.prefix) == Path(os.environ["VIRTUAL_ENV"])
    return f"{'pip' if is_active else f'{sys.executable} -m pip'} install '{_NAME}[{extra}]'"


def missing_extra(error: ModuleNotFoundError) -> str:
    """Return which package is missing and the command that installs it; empty for a module of no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return ""
    command = install_command(EXTRAS[package])
    every = f"   ([all] in the place of [{EXTRAS[package]}] installs every extra)" if "[" in command else ""
    return f"{package}: {command}{every}"
