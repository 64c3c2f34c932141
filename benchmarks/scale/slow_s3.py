"""An S3 that serves one folder to readers, each request after a fixed delay.

moto copies an object for every range of it: at 166 MB that is what one would measure.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from tests.support.local_server import Handler, LocalServer


class SlowS3(LocalServer):
    """Server of ``folder/bucket/key`` as ``/bucket/key`` after ``delay_s``, with a count of the requested bytes."""

    def __init__(self, folder: Path, delay_s: float) -> None:
        super().__init__(_Handler)
        self.folder, self.delay_s = folder, delay_s
        self.requests = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class FolderClient:
    """As much of boto3's S3 client as publishing needs, over the folder that :class:`SlowS3` serves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_object(self, *, Bucket: str, Key: str, **_: Any) -> dict[str, Any]:  # noqa: N803 - boto3's names
        """Refuse: each catalog is published once, to a place without one."""
        raise ClientError({"Error": {"Code": "NoSuchKey", "Message": f"{Bucket}/{Key}"}}, "GetObject")

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **_: Any) -> None:  # noqa: N803 - boto3's names
        path = self._folder / Bucket / Key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(Body)


class _Handler(Handler):
    wbufsize = -1  # header and body in one go: two small packets would wait for each other
    server: SlowS3

    def do_GET(self) -> None:
        self.server.requests += 1
        time.sleep(self.server.delay_s)
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
