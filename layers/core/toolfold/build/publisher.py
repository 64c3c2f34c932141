"""Publish a compiled catalog to S3: the immutable object first, the pointer to it last."""

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


def publish(content: bytes, location: str, client: Any = None) -> str:
    """Make ``content`` the current catalog at ``location``.

    Can be repeated. A reader finds a complete catalog at any moment, because the pointer is written after its object.
    Every line and every hash is checked first: a reader checks only what it reads, when it reads it.

    Args:
        content: A compiled catalog.
        location: ``s3://bucket/prefix``.
        client: A boto3 client of S3; None: one with the credentials of this machine.

    Returns:
        The SHA-256 of the catalog, in hexadecimal.

    Raises:
        SettingsError: ``location`` has no bucket, or ``content`` is not a compiled catalog.
        botocore.exceptions.BotoCoreError: S3 cannot be reached, or there are no credentials.
        botocore.exceptions.ClientError: S3 refuses.
    """
    parts = urlsplit(location)
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingsError(f"The location to publish to must be s3://bucket/prefix, not {location!r}.")
    head_line = content[: content.find(b"\n") + 1]
    tool_count = _verify(content, head_line)
    sha256 = hashlib.sha256(content).hexdigest()
    prefix = f"{parts.path.strip('/')}/".lstrip("/")
    if client is None:
        import boto3

        client = boto3.client("s3")
    common = {"Bucket": parts.netloc, "ContentType": "application/json"}
    client.put_object(**common, Key=prefix + object_name(sha256), Body=content)
    pointer = {
        "sha256": sha256,
        "bytes": len(content),
        "head": {"bytes": len(head_line), "sha256": hashlib.sha256(head_line).hexdigest()},
        "tools": tool_count,
    }
    body = (json.dumps(pointer) + "\n").encode()
    client.put_object(**common, Key=prefix + POINTER, Body=body, CacheControl="no-cache")
    return sha256


def _verify(content: bytes, head_line: bytes) -> int:
    """Check every line and hash of ``content``, and return the number of its tools.

    Raises:
        SettingsError: It is not a compiled catalog.
    """

    def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        return [content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    try:
        head = parse_head(head_line)
        catalog = Catalog(head, CachedBlockReader(fetch, len(head_line)))
        if head.get("bytes") != len(content) - len(head_line):
            raise ValueError("incomplete")
        catalog.verify()
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise SettingsError("The file is not a compiled catalog (not JSON).") from None
    except ValueError as error:
        raise SettingsError(f"The file is not a compiled catalog ({error}).") from None
    except CatalogUnavailable:
        raise SettingsError("The file is not a compiled catalog (parts of it are damaged).") from None
    return len(catalog)
