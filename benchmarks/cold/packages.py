"""Deployment packages, each in a folder of its own: once compiled like the layers of toolfold, once without compiled
files.

    build/cold/compiled/toolfold/{GatewayFunction,CoreLayer,DependenciesLayer}     made by `make build-e2e`
    build/cold/compiled/<peer>/function                                            its libraries and its handler
    build/cold/compiled/floor/function
    build/cold/plain/…                                                             the same without __pycache__
    build/cold/managed                                                             packages of the managed runtime
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cold.measured_servers import EMPTY, PEERS, ROOT, MeasuredServer
from scripts.peers.hosting import write_meta_tools
from tests.support import built_function
from tests.support.built_function import LAMBDA_PYTHON, LOCAL_BUILD
from tests.support.lambda_runtime import LambdaRuntime

FOLDER = ROOT / "build/cold"
MANAGED = FOLDER / "managed"
UV = ROOT / ".venv/bin/uv"
COMPILED, PLAIN = "compiled", "plain"


@dataclass(frozen=True, slots=True)
class Size:
    """What a server adds to the managed runtime, in bytes; for a peer without the core of toolfold."""

    files: int
    unzipped: int
    zipped: int


@dataclass(frozen=True, slots=True)
class Package:
    """A deployment package, in the variants :data:`COMPILED` and :data:`PLAIN`.

    ``layers`` are on the path after the function. ``own`` are the folders whose size is measured, below the folder of
    the variant.
    """

    function: str
    layers: tuple[str, ...]
    handler: str
    own: tuple[str, ...]
    environment: Mapping[str, str]
    timeout_s: float
    memory_mb: int

    def runtime(self, variant: str, environment: Mapping[str, str]) -> LambdaRuntime:
        """Return an execution environment with ``environment`` and the variables of the template."""
        folder = FOLDER / variant
        return LambdaRuntime(
            function=folder / self.function,
            layers=[folder / layer for layer in self.layers],
            python=LAMBDA_PYTHON,
            handler=self.handler,
            environment={**self.environment, **environment},
            timeout_s=self.timeout_s,
            memory_mb=self.memory_mb,
            managed=[MANAGED],
        )

    def size(self) -> Size:
        """Return the size of the compiled package, which is what users deploy."""
        return _size(FOLDER / COMPILED / folder for folder in self.own)


def build(servers: Sequence[MeasuredServer]) -> dict[str, Package]:
    """Build the packages that have changed; return all of them by name."""
    built = built_function.load_built_function(LOCAL_BUILD)
    _managed()
    layers = tuple(f"toolfold/{layer.name}" for layer in built.layers)
    function = f"toolfold/{built.function.name}"
    common = {"environment": built.environment, "timeout_s": built.timeout_s, "memory_mb": built.memory_mb}
    packages = {"toolfold": Package(function, layers, built.handler, (function, *layers), **common)}
    for folder in (built.function, *built.layers):
        for variant in (COMPILED, PLAIN):
            _refill(FOLDER / variant / "toolfold" / folder.name, folder, without_compiled=variant == PLAIN)
    for server in servers:
        path = f"{server.package}/function"
        if server.kind == "peer":
            _peer(server, path)
            packages[server.package] = Package(path, layers, f"{server.name}.handler", (path,), **common)
        elif server.kind == "floor":
            _floor(path)
            packages[server.package] = Package(path, (), "app.handler", (path,), **common)
    for file in FOLDER.rglob("*"):  # fill the page cache, so that no start waits for the disk
        if file.is_file():
            file.read_bytes()
    return packages


def _peer(server: MeasuredServer, path: str) -> None:
    """Write its pinned packages, its handler and the definitions of the three tools."""
    given = FOLDER / "meta_tools.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_meta_tools(given)
    sources = [*(PEERS / f"{name}.py" for name in (server.name, *server.modules)), given]
    with _unless_done(FOLDER / f"{server.name}.done", [server.requirements, *sources]) as to_do:
        if to_do:
            print(f"installing {server.title}", file=sys.stderr)
            target = FOLDER / COMPILED / path
            shutil.rmtree(target, ignore_errors=True)
            _run(UV, "pip", "install", "--quiet", "--python", LAMBDA_PYTHON, "--only-binary", ":all:",
                 "--require-hashes", "--no-deps", "--link-mode", "copy", "--target", target,
                 "-r", server.requirements)  # fmt: skip
            _run("rm", "-rf", target / "bin", target / ".lock")
            for source in sources:
                shutil.copy(source, target / source.name)
            _compile(target)
            _refill(FOLDER / PLAIN / path, target, without_compiled=True)


def _floor(path: str) -> None:
    for variant in (COMPILED, PLAIN):
        target = FOLDER / variant / path
        target.mkdir(parents=True, exist_ok=True)
        (target / "app.py").write_text(EMPTY)
    _compile(FOLDER / COMPILED / path)


def _managed() -> None:
    """Copy and compile the packages of the managed runtime; those of the stand-in are not compiled."""
    with _unless_done(FOLDER / "managed.done", [ROOT / "requirements/runtime.txt"]) as to_do:
        if to_do:
            minor = python_version().rpartition(".")[0]
            _refill(MANAGED, LAMBDA_PYTHON.parents[1] / f"lib/python{minor}/site-packages")
            _compile(MANAGED)


@contextmanager
def _unless_done(mark: Path, sources: Sequence[Path]) -> Iterator[bool]:
    """Yield whether ``sources`` or this file have changed since ``mark`` was written; write ``mark`` afterwards."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    state = hashlib.sha256(b"".join(source.read_bytes() for source in (*sources, Path(__file__)))).hexdigest()
    to_do = not mark.exists() or mark.read_text() != state
    if to_do:
        mark.unlink(missing_ok=True)
    yield to_do
    mark.write_text(state)


def _compile(folder: Path) -> None:
    _run(LAMBDA_PYTHON, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", folder)


def _run(*command: str | Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPYCACHEPREFIX", "VIRTUAL_ENV")}
    subprocess.run(command, env=environment, check=True)


def _refill(target: Path, source: Path, *, without_compiled: bool = False) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__") if without_compiled else None)


def _size(folders: Iterable[Path]) -> Size:
    files = [(file, folder) for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, folder in files:
            archive.write(file, file.relative_to(folder))
    return Size(len(files), sum(file.stat().st_size for file, _ in files), len(packed.getvalue()))


def runtime_client() -> str:
    """Return the version of awslambdaric."""
    found = [path.name for path in MANAGED.glob("awslambdaric-*.dist-info")]
    return found[0].removeprefix("awslambdaric-").removesuffix(".dist-info")


def python_version() -> str:
    """Return the version of the Python that runs all servers."""
    return subprocess.run([LAMBDA_PYTHON, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
