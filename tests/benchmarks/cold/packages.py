"""Deployment packages, each in a folder of its own: compiled the way toolfold's layers are, and once more without any
compiled file.

    build/cold/compiled/toolfold/{GatewayFunction,CoreLayer,DependenciesLayer}     as `make build-e2e` left them
    build/cold/compiled/<peer>/function                                            its libraries and its handler
    build/cold/compiled/floor/function
    build/cold/plain/…                                                             the same without __pycache__
    build/cold/managed                                                             what the managed runtime brings
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

from scripts.peers.hosting import write_meta_tools
from tests.benchmarks.cold.contenders import EMPTY, PEERS, ROOT, Contender
from tests.support import built_function
from tests.support.built_function import LAMBDA_PYTHON, LOCAL_BUILD
from tests.support.lambda_runtime import LambdaRuntime

FOLDER = ROOT / "build/cold"
MANAGED = FOLDER / "managed"
UV = ROOT / ".venv/bin/uv"
COMPILED, PLAIN = "compiled", "plain"


@dataclass(frozen=True, slots=True)
class Size:
    """Of what a contender adds to the managed runtime, in bytes; for a peer without toolfold's core."""

    files: int
    unzipped: int
    zipped: int


@dataclass(frozen=True, slots=True)
class Package:
    """One deployable thing, in the variants :data:`COMPILED` and :data:`PLAIN`. ``own`` are the folders, below that of
    the variant, whose size counts; ``layers`` lie on the path after the function."""

    function: str
    layers: tuple[str, ...]
    handler: str
    own: tuple[str, ...]
    environment: Mapping[str, str]
    timeout_s: float
    memory_mb: int

    def runtime(self, variant: str, environment: Mapping[str, str]) -> LambdaRuntime:
        """An environment that runs it with ``environment`` and what the template sets."""
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
        """What is uploaded: compiled, as it would be deployed."""
        return _size(FOLDER / COMPILED / folder for folder in self.own)


def build(contenders: Sequence[Contender]) -> dict[str, Package]:
    """Package by its name. What has not changed since the last time is left as it is."""
    built = built_function.load_built_function(LOCAL_BUILD)
    _managed()
    layers = tuple(f"toolfold/{layer.name}" for layer in built.layers)
    function = f"toolfold/{built.function.name}"
    common = {"environment": built.environment, "timeout_s": built.timeout_s, "memory_mb": built.memory_mb}
    packages = {"toolfold": Package(function, layers, built.handler, (function, *layers), **common)}
    for folder in (built.function, *built.layers):
        for variant in (COMPILED, PLAIN):
            _refill(FOLDER / variant / "toolfold" / folder.name, folder, without_compiled=variant == PLAIN)
    for contender in contenders:
        path = f"{contender.package}/function"
        if contender.kind == "peer":
            _peer(contender, path)
            packages[contender.package] = Package(path, layers, f"{contender.name}.handler", (path,), **common)
        elif contender.kind == "floor":
            _floor(path)
            packages[contender.package] = Package(path, (), "app.handler", (path,), **common)
    for file in FOLDER.rglob("*"):  # into the machine's memory: no start is to wait for the disk
        if file.is_file():
            file.read_bytes()
    return packages


def _peer(contender: Contender, path: str) -> None:
    """Its pinned packages, its handler, and the definitions of the three tools."""
    given = FOLDER / "meta_tools.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_meta_tools(given)
    sources = [*(PEERS / f"{name}.py" for name in (contender.name, *contender.modules)), given]
    with _unless_done(FOLDER / f"{contender.name}.done", [contender.requirements, *sources]) as to_do:
        if to_do:
            print(f"installing {contender.title}", file=sys.stderr)
            target = FOLDER / COMPILED / path
            shutil.rmtree(target, ignore_errors=True)
            _run(UV, "pip", "install", "--quiet", "--python", LAMBDA_PYTHON, "--only-binary", ":all:", "--require-hashes",
                 "--no-deps", "--link-mode", "copy", "--target", target, "-r", contender.requirements)  # fmt: skip
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
    """What AWS brings, compiled as it is there; the environment that it is copied from is not."""
    with _unless_done(FOLDER / "managed.done", [ROOT / "requirements/runtime.txt"]) as to_do:
        if to_do:
            minor = python_version().rpartition(".")[0]
            _refill(MANAGED, LAMBDA_PYTHON.parents[1] / f"lib/python{minor}/site-packages")
            _compile(MANAGED)


@contextmanager
def _unless_done(mark: Path, sources: Sequence[Path]) -> Iterator[bool]:
    """Whether something is to be made out of ``sources``, this file being one; once made, ``mark`` remembers it."""
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
    """The version of awslambdaric."""
    found = [path.name for path in MANAGED.glob("awslambdaric-*.dist-info")]
    return found[0].removeprefix("awslambdaric-").removesuffix(".dist-info")


def python_version() -> str:
    """Of the Python that runs everybody."""
    return subprocess.run([LAMBDA_PYTHON, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
