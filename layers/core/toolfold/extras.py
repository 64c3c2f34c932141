"""Say how a package that is missing here is added: an extra of pip, or a layer of the stack on Lambda."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec

__all__ = ["how_to_add", "on_lambda"]

_LAYERS: Mapping[str, tuple[str, str]] = {
    "mcp": ("sources", "pydantic_monty"),
    "sql": ("sources", "pydantic_monty"),
    "scripts": ("scripts", "mcp"),
}
"""Extra → value of the parameter ``Extras`` of template.yaml that adds it, and a package of its other layer."""


def on_lambda() -> bool:
    """Return whether this process is a Lambda function, which starts no programs of sources."""
    return bool(os.environ.get("AWS_LAMBDA_FUNCTION_NAME"))


def how_to_add(extra: str) -> str:
    """Return what adds the packages of an extra to this process.

    Args:
        extra: ``mcp``, ``sql`` or ``scripts``.

    Returns:
        ``run: pip install 'toolfold[mcp]'``, or on Lambda ``deploy the stack with the parameter Extras=sources``.
    """
    if not on_lambda():
        return f"run: pip install 'toolfold[{extra}]'"
    value, of_other = _LAYERS[extra]
    # A deployment that has the other layer keeps it.
    return f"deploy the stack with the parameter Extras={'all' if find_spec(of_other) else value}"
