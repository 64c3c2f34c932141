"""The servers beside what is measured, each in a process of its own or slowed down: mock API, gateway, S3."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from benchmarks.harness import ROOT
from tests.support import processes
from tests.support.catalogs import publish
from tests.support.local_server import Handler, LocalServer

_CORE = {"PYTHONPATH": str(ROOT / "layers/core")}
DELAY_S = 0.02


@contextmanager
def mock_api() -> Iterator[str]:
    """Run the mock API without latency; yield its URL."""
    with processes.serving("mock-api", **_CORE) as (_, url):
        yield url


@contextmanager
def gateway(upstream: str, **settings: str) -> Iterator[tuple[str, int]]:
    """Run ``toolfold serve`` over the mock API at ``upstream``; yield its URL and process id."""
    with tempfile.TemporaryDirectory() as home:
        variables = {**_CORE, "HOME": home, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream, **settings}
        with processes.serving("serve", **variables) as (process, url):
            yield url, process.pid
            process.terminate()
            assert process.stderr
            assert b"Traceback" not in process.stderr.read()


@contextmanager
def slow_s3(folder: Path, catalogs: Mapping[int, Path]) -> Iterator[tuple[str, Mapping[int, str]]]:
    """Serve published catalogs as an S3 that delays each response by :data:`DELAY_S`, about as long as S3 does.

    moto copies an object for every range of it: at 166 MB that is what one would measure.

    Args:
        folder: Gets what ``publish`` would put into the bucket; what it has is removed.
        catalogs: Size → compiled catalog.

    Yields:
        The endpoint, and the location of each catalog.
    """
    shutil.rmtree(folder, ignore_errors=True)
    places = {size: f"s3://catalogs/{size}" for size in catalogs}
    for size, path in catalogs.items():
        publish(path.read_bytes(), places[size], _FolderClient(folder))
    with _SlowS3(folder) as server:
        yield f"http://127.0.0.1:{server.server_port}", places


class _FolderClient:
    """As much of boto3's S3 client as publishing needs, over the folder that :class:`_SlowS3` serves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_object(self, *, Bucket: str, Key: str, **_: Any) -> dict[str, Any]:  # noqa: N803 - boto3's names
        """Refuse: each catalog is published once, to a place without one."""
        raise ClientError({"Error": {"Code": "NoSuchKey", "Message": f"{Bucket}/{Key}"}}, "GetObject")

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **_: Any) -> None:  # noqa: N803 - boto3's names
        path = self._folder / Bucket / Key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(Body)


class _SlowS3(LocalServer):
    """Server of ``folder/bucket/key`` as ``/bucket/key``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler)
        self.folder = folder


class _Handler(Handler):
    wbufsize = -1  # header and body in one go: two small packets would wait for each other
    server: _SlowS3

    def do_GET(self) -> None:
        time.sleep(DELAY_S)
        path = self.server.folder / self.path.partition("?")[0].lstrip("/")
        size = path.stat().st_size
        first, last, status = 0, size - 1, 200
        if asked := self.headers.get("Range"):
            first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
            status, last = 206, min(last, size - 1)
        with path.open("rb") as file:
            file.seek(first)
            body = file.read(last - first + 1)
        part = {"content-range": f"bytes {first}-{last}/{size}"} if status == 206 else {}
        self.reply(status, {"etag": '"one"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT", **part}, body)
