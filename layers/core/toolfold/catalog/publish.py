"""Publishing a compiled catalog to S3: the immutable object first, the pointer last.

Build side: boto3 is imported here and nowhere on the request path.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

from toolfold.catalog.model import Catalog
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import SettingsError


def publish(content: bytes, place: str, client: Any = None) -> str:
    """Make ``content``, a compiled catalog, the current one at ``place`` (``s3://bucket/prefix``).

    Safe to repeat, and at any moment a reader finds a whole catalog: the pointer is written only after its object.

    Returns:
        The catalog's SHA-256, in hexadecimal.

    Raises:
        SettingsError: ``place`` names no bucket, or ``content`` is no compiled catalog.
        botocore.exceptions.ClientError: S3 refuses.
    """
    parts = urlsplit(place)
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingsError(f"The place to publish to must be s3://bucket/prefix, not {place!r}.")
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        tools = len(Catalog(json.loads(content), sha256))
    except (ValueError, TypeError) as error:
        raise SettingsError(f"This is no compiled catalog: {error}.") from None
    prefix = f"{parts.path.strip('/')}/".lstrip("/")
    if client is None:
        import boto3

        client = boto3.client("s3")
    put = {"Bucket": parts.netloc, "ContentType": "application/json"}
    client.put_object(**put, Key=prefix + object_name(sha256), Body=content)
    pointer = json.dumps({"sha256": sha256, "bytes": len(content), "tools": tools}) + "\n"
    client.put_object(**put, Key=prefix + POINTER, Body=pointer.encode(), CacheControl="no-cache")
    return sha256
