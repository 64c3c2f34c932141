"""Publishing a compiled catalog to S3: the immutable object first, the pointer last.

Build side: boto3 is imported here and nowhere on the request path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from toolfold.catalog.block_cache import CachedBlockReader
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import parse_head
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import CatalogUnavailable, SettingsError


def publish(content: bytes, place: str, client: Any = None) -> str:
    """Make ``content``, a compiled catalog, the current one at ``place`` (``s3://bucket/prefix``).

    Safe to repeat, and at any moment a reader finds a whole catalog: the pointer is written only after its object.
    Every line and every hash is checked first: a reader checks what it reads, but only then.

    Returns:
        The catalog's SHA-256, in hexadecimal.

    Raises:
        SettingsError: ``place`` names no bucket, or ``content`` is no compiled catalog.
        botocore.exceptions.ClientError: S3 refuses.
    """
    parts = urlsplit(place)
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingsError(f"The place to publish to must be s3://bucket/prefix, not {place!r}.")
    line = content[: content.find(b"\n") + 1]
    tools = _checked(content, line)
    sha256 = hashlib.sha256(content).hexdigest()
    prefix = f"{parts.path.strip('/')}/".lstrip("/")
    if client is None:
        import boto3

        client = boto3.client("s3")
    put = {"Bucket": parts.netloc, "ContentType": "application/json"}
    client.put_object(**put, Key=prefix + object_name(sha256), Body=content)
    pointer = {
        "sha256": sha256,
        "bytes": len(content),
        "head": {"bytes": len(line), "sha256": hashlib.sha256(line).hexdigest()},
        "tools": tools,
    }
    body = (json.dumps(pointer) + "\n").encode()
    client.put_object(**put, Key=prefix + POINTER, Body=body, CacheControl="no-cache")
    return sha256


def _checked(content: bytes, line: bytes) -> int:
    """How many tools the catalog has."""

    def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        return [content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    try:
        head = parse_head(line)
        catalog = Catalog(head, CachedBlockReader(fetch, len(line)))
        if head.get("bytes") != len(content) - len(line):
            raise ValueError("it is not all there")
        catalog.verify()
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"This is no compiled catalog: {error}.") from None
    except CatalogUnavailable:
        raise SettingsError("This is no compiled catalog: parts of it are damaged.") from None
    return len(catalog)
