"""Clients built on the SDKs that agents are built on, over HTTP and stdio, in both protocol eras."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.helpers import CHECKS, FASTMCP_PYTHON, FOLDER, META_TOOLS, node, output

pytestmark = pytest.mark.clients

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"

# SDK, how it chooses the version, and the expected version. "auto" prefers the newest that both support.
CLIENTS = [
    ("v1", "legacy", HANDSHAKE),
    *(
        (sdk, mode, version)
        for sdk in ("v2", "mcp", "fastmcp")
        for mode, version in (("legacy", HANDSHAKE), ("auto", STATELESS), (STATELESS, STATELESS))
    ),
]


def script(sdk: str) -> list[str]:
    """Return the command that runs the three steps with an SDK: v1 and v2 are TypeScript's, the others Python's."""
    if sdk in ("v1", "v2"):
        return [node(), str(FOLDER / "three_steps.mjs"), sdk]
    python = FASTMCP_PYTHON if sdk == "fastmcp" else Path(sys.executable)
    assert python.exists(), f"{sdk} is not installed: make clients"
    return [str(python), str(FOLDER / "three_steps.py"), sdk]


@pytest.mark.parametrize(("sdk", "mode", "version"), CLIENTS)
def test_the_three_steps(
    sdk: str, mode: str, version: str, target: list[str], environment: Mapping[str, str], empty: Path
) -> None:
    answers = output([*script(sdk), mode, *target], env=environment, cwd=empty)

    # TypeScript's v1 does not report the negotiated version over stdio.
    assert answers["protocol"] == version or (sdk == "v1" and answers["protocol"] is None)
    assert answers["tools"] == META_TOOLS
    for step, check in zip(answers["steps"], CHECKS, strict=True):
        assert not step.get("isError")
        assert step["content"][0]["text"]
        check(step["structuredContent"])
