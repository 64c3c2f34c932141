"""Say how a package that is missing here is added: an extra of pip, or on Lambda an entry of ``settings.toml``."""

from __future__ import annotations

import os


def on_lambda() -> bool:
    """Return whether this process is a Lambda function, which starts no programs of sources."""
    return bool(os.environ.get("AWS_LAMBDA_FUNCTION_NAME"))


def how_to_add(extra: str) -> str:
    """Return what adds the packages of an extra to this process.

    Args:
        extra: ``mcp``, ``sql`` or ``scripts``.

    Returns:
        ``run: pip install 'toolfold[mcp]'``, or on Lambda ``add "sources" to extras in settings.toml and deploy
        again``.
    """
    if not on_lambda():
        return f"run: pip install 'toolfold[{extra}]'"
    return f'add "{"scripts" if extra == "scripts" else "sources"}" to extras in settings.toml and deploy again'
