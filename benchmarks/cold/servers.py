"""The measured servers, and their deployment packages.

The servers are toolfold in three set-ups, its peers with the same three tools, and an empty handler. Each package has a
folder of its own, compiled like the layers of toolfold:

    build/cold/packages/toolfold/{GatewayFunction,CoreLayer,DependenciesLayer}     made by `make build-e2e`
    build/cold/packages/<peer>/function                                            its libraries and its handler
    build/cold/packages/floor/function
    build/cold/managed                                                             packages of the managed runtime
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks import peers
from benchmarks.harness import ROOT
from tests.support import built_function
from tests.support.built_function import LAMBDA_PYTHON, LOCAL_BUILD
from tests.support.lambda_runtime import LambdaRuntime

FOLDER = ROOT / "build/cold"
MANAGED, PACKAGES = FOLDER / "managed", FOLDER / "packages"
BUCKET, TABLE = "catalog", "answers"

FLOOR = "floor"
EMBEDDED, IN_S3, AS_DEPLOYED = "embedded", "s3", "deployed"
AWSLABS, FASTMCP = "awslabs_handler", "fastmcp_mangum"

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
        kind: What it is.
        package: The name of its deployment package, which several set-ups may share.
        environment: Environment variables beside those of all servers.
        modules: Modules beside the file of a peer that it imports.
    """

    name: str
    title: str
    kind: Literal["toolfold", "peer", "floor"]
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()


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
        MeasuredServer(FLOOR, "an empty handler", "floor", FLOOR),
        _ours(EMBEDDED, "catalog in the package", memory),
        _ours(IN_S3, "catalog in S3", in_s3),
        _ours(AS_DEPLOYED, "as deployed: S3, DynamoDB", deployed),
        _peer(AWSLABS, "awslabs.mcp-lambda-handler", ("awslabs-mcp-lambda-handler",), memory),
        _peer(FASTMCP, "FastMCP", ("fastmcp", "mangum"), memory, "fastmcp_tools"),
    ]


def _ours(name: str, setup: str, environment: Mapping[str, str]) -> MeasuredServer:
    return MeasuredServer(name, f"toolfold, {setup}", "toolfold", "toolfold", environment)


def _peer(
    name: str, title: str, packages: tuple[str, ...], environment: Mapping[str, str], *modules: str
) -> MeasuredServer:
    """Return a peer; ``packages`` are the library and, if there is one, its adapter for Lambda events."""
    first, *others = [peers.version(name, package) for package in packages]
    title = f"{title} {first}" + "".join(f" + Mangum {version}" for version in others)
    return MeasuredServer(name, title, "peer", name, environment, ("meta_tools", *modules))


@dataclass(frozen=True, slots=True)
class Package:
    """A deployment package. ``layers`` follow the function on the path; ``own`` are the measured folders."""

    function: str
    layers: tuple[str, ...]
    handler: str
    own: tuple[str, ...]
    environment: Mapping[str, str]
    timeout_s: float
    memory_mb: int

    def runtime(self, environment: Mapping[str, str]) -> LambdaRuntime:
        """Return an execution environment with ``environment`` and the variables of the template."""
        return LambdaRuntime(
            function=PACKAGES / self.function,
            layers=[PACKAGES / layer for layer in self.layers],
            python=LAMBDA_PYTHON,
            handler=self.handler,
            environment={**self.environment, **environment},
            timeout_s=self.timeout_s,
            memory_mb=self.memory_mb,
            managed=[MANAGED],
        )

    def size(self) -> int:
        """Return the bytes that a deployment adds to the managed runtime; of a peer without the core of toolfold."""
        files = (file for name in self.own for file in (PACKAGES / name).rglob("*") if file.is_file())
        return sum(file.stat().st_size for file in files)


def build(servers: Sequence[MeasuredServer]) -> dict[str, Package]:
    """Build the packages that have changed; return all of them by name."""
    built = built_function.load_built_function(LOCAL_BUILD)
    _managed()
    layers = tuple(f"toolfold/{layer.name}" for layer in built.layers)
    function = f"toolfold/{built.function.name}"
    common = {"environment": built.environment, "timeout_s": built.timeout_s, "memory_mb": built.memory_mb}
    packages = {"toolfold": Package(function, layers, built.handler, (function, *layers), **common)}
    for folder in (built.function, *built.layers):
        _refill(PACKAGES / "toolfold" / folder.name, folder)
    for server in servers:
        path = f"{server.package}/function"
        if server.kind == "peer":
            _install_peer(server, path)
            packages[server.package] = Package(path, layers, f"{server.name}.handler", (path,), **common)
        elif server.kind == "floor":
            (PACKAGES / path).mkdir(parents=True, exist_ok=True)
            (PACKAGES / path / "app.py").write_text(EMPTY)
            _compile(PACKAGES / path)
            packages[server.package] = Package(path, (), "app.handler", (path,), **common)
    for file in FOLDER.rglob("*"):  # fill the page cache, so that no start waits for the disk
        if file.is_file():
            file.read_bytes()
    return packages


def _install_peer(server: MeasuredServer, path: str) -> None:
    """Write its pinned packages, its handler and the definitions of the three tools."""
    given = FOLDER / "meta_tools.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    peers.write_meta_tools(given)
    sources = [*(peers.FOLDER / f"{name}.py" for name in (server.name, *server.modules)), given]
    made_of = [peers.requirements(server.name), *sources, Path(__file__)]
    with peers.unless_done(FOLDER / f"{server.name}.done", made_of, server.title) as to_do:
        if to_do:
            target = PACKAGES / path
            shutil.rmtree(target, ignore_errors=True)
            peers.run(peers.UV, "pip", "install", "--quiet", "--python", LAMBDA_PYTHON, "--only-binary", ":all:",
                 "--require-hashes", "--no-deps", "--link-mode", "copy", "--target", target,
                 "-r", peers.requirements(server.name))  # fmt: skip
            peers.run("rm", "-rf", target / "bin", target / ".lock")
            for source in sources:
                shutil.copy(source, target / source.name)
            _compile(target)


def _managed() -> None:
    """Copy and compile the packages of the managed runtime; those of the stand-in are not compiled."""
    made_of = [ROOT / "requirements/runtime.txt", Path(__file__)]
    with peers.unless_done(FOLDER / "managed.done", made_of, "the packages of the managed runtime") as to_do:
        if to_do:
            minor = python_version().rpartition(".")[0]
            _refill(MANAGED, LAMBDA_PYTHON.parents[1] / f"lib/python{minor}/site-packages")
            _compile(MANAGED)


def _compile(folder: Path) -> None:
    peers.run(LAMBDA_PYTHON, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", folder)


def _refill(target: Path, source: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def runtime_client() -> str:
    """Return the version of awslambdaric."""
    found = [path.name for path in MANAGED.glob("awslambdaric-*.dist-info")]
    return found[0].removeprefix("awslambdaric-").removesuffix(".dist-info")


def python_version() -> str:
    """Return the version of the Python that runs all servers."""
    return peers.run(LAMBDA_PYTHON, "-V").split()[1]
