"""The measured servers: toolfold in three set-ups, its peers with the same three tools, and an empty handler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "scripts/peers"
BUCKET, TABLE = "catalog", "answers"

FLOOR = "floor"
EMBEDDED, IN_S3, AS_DEPLOYED = "embedded", "s3", "deployed"
AWSLABS, FASTMCP, SDK = "awslabs_handler", "fastmcp_mangum", "mcp_sdk"

EMPTY = """\
import json

ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})


def handler(event, context):
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": ANSWER}
"""


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """One measured server.

    Attributes:
        name: Its key in the results; also the name of the file of a peer in scripts/peers.
        title: Its name in tables.
        short: Its name in plots.
        kind: What it is.
        package: The name of its deployment package, which several set-ups may share.
        environment: Environment variables beside those of all servers.
        modules: Modules beside the file of a peer that it imports.
    """

    name: str
    title: str
    short: str
    kind: Literal["toolfold", "peer", "floor"]
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()

    @property
    def requirements(self) -> Path:
        """Return the file with the pinned packages of a peer."""
        return PEERS / "requirements" / f"{self.name}.txt"


def measured_servers() -> list[MeasuredServer]:
    """Return all of them, in the order of the tables."""
    memory = {"TOOLFOLD_CATALOG": "", "TOOLFOLD_CACHE": "memory"}
    in_s3 = {**memory, "TOOLFOLD_CATALOG": f"s3://{BUCKET}/catalog"}
    deployed = {
        **in_s3,
        "TOOLFOLD_CACHE": f"dynamodb://{TABLE}",
        "TOOLFOLD_CACHE_BUCKET": f"s3://{BUCKET}/cache",
        "TOOLFOLD_OFFLOAD": f"s3://{BUCKET}/offload",
        "TOOLFOLD_KEY_SALT": "benchmark",
    }
    return [
        MeasuredServer(FLOOR, "an empty handler", "empty handler", "floor", FLOOR),
        _ours(EMBEDDED, "catalog in the package", memory),
        _ours(IN_S3, "catalog in S3", in_s3),
        _ours(AS_DEPLOYED, "as deployed: S3, DynamoDB", deployed),
        _peer(AWSLABS, "awslabs.mcp-lambda-handler", ("awslabs-mcp-lambda-handler",), memory),
        _peer(FASTMCP, "FastMCP", ("fastmcp", "mangum"), memory, "fastmcp_tools"),
        _peer(SDK, "`mcp` SDK", ("mcp", "mangum"), memory, "sdk_tools"),
    ]


def _ours(name: str, setup: str, environment: Mapping[str, str]) -> MeasuredServer:
    return MeasuredServer(name, f"toolfold, {setup}", f"toolfold\n{setup}", "toolfold", "toolfold", environment)


def _peer(
    name: str, title: str, packages: tuple[str, ...], environment: Mapping[str, str], *modules: str
) -> MeasuredServer:
    """Return a peer; ``packages`` are the library and, if there is one, its adapter for Lambda events."""
    pinned = (PEERS / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    versions = [re.search(rf"^{package}==(\S+)", pinned, re.MULTILINE) for package in packages]
    assert all(versions), f"{packages} are not all pinned in {name}.txt"
    first, *others = [found[1] for found in versions if found]
    title = f"{title} {first}" + "".join(f" + Mangum {version}" for version in others)
    short = title.replace("`", "").replace(f" {first}", f"\n{first}", 1)
    return MeasuredServer(name, title, short, "peer", name, environment, ("meta_tools", *modules))
