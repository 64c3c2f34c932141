"""Fetch the document that a service publishes: ``toolfold source refresh``.

The URL is in ``source.yaml``, and what a catalog may reach is the operator's to say: the host must be allowed by
``TOOLFOLD_ALLOWED_HOSTS``, also that of each redirect, and its address must be public or, for this machine, loopback.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from toolfold.build.importers.base import RefreshReport
from toolfold.build.importers.openapi.document import (
    MAX_BYTES,
    Document,
    Findings,
    check_version,
    parse_document,
    read_document,
)
from toolfold.build.importers.openapi.operations import find_operations
from toolfold.build.importers.openapi.references import References
from toolfold.catalog.head_checks import host_of
from toolfold.errors import SourceError
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import address_check

if TYPE_CHECKING:
    from toolfold.build.importers.openapi.settings import OpenApiSettings
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

__all__ = ["refresh"]

MAX_REDIRECTS = 3
TIMEOUT_S = 60.0
"""Seconds for all requests. The largest documents have 20 MB, and some servers make theirs on request."""

_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "application/json, application/yaml;q=0.9, */*;q=0.5"


def refresh(
    folder: Path,
    settings: OpenApiSettings,
    process_settings: Settings,
    *,
    check: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> RefreshReport:
    """Fetch the document of a source, and write it in ``folder`` if it differs and is an OpenAPI document.

    Args:
        folder: The folder of the source.
        settings: Its ``source.yaml``.
        process_settings: The settings of this process, which state what may be reached.
        check: Whether only to compare.
        progress: Called with a sentence for each step.

    Returns:
        The operations that differ.

    Raises:
        SourceError: The document cannot be fetched, or is not an OpenAPI document; nothing was written then.
    """
    source_yaml = folder / "source.yaml"
    if settings.url is None:
        raise SourceError([f"{source_yaml}:1: has no url; the document is a file that you replace yourself"])
    path = folder / settings.document
    if path.is_symlink():
        raise SourceError([f"{path}:1: is a symbolic link, which is not replaced"])
    progress(f"Fetching {settings.url}")
    content = _fetch(settings.url, settings.id, process_settings, f"{source_yaml}:1")
    text = _formatted(content, settings.document)
    fetched = parse_document(text, f"{settings.url}")
    check_version(fetched)
    report = _compare(read_document(path) if path.is_file() else None, fetched)
    if not check and (not path.is_file() or path.read_bytes() != text):
        _write(path, text)
        progress(f"Wrote {path}: {len(text):,} bytes")
    return report


def _fetch(url: str, source_id: str, process_settings: Settings, where: str) -> bytes:
    """Return the body of the response to a GET of ``url``, after redirects to hosts that are allowed."""
    from toolfold.network.session import HttpClient

    client = HttpClient()
    deadline = time.monotonic() + TIMEOUT_S
    try:
        for _ in range(MAX_REDIRECTS + 1):
            _check_host(url, source_id, process_settings, where)
            try:
                status, location, body = _get(client, url, source_id, deadline, process_settings)
            except TransportError as error:
                raise SourceError([f"{where}: the document cannot be fetched: {error}"]) from None
            if status not in _REDIRECTS or not location:
                break
            url = urljoin(url, location)
        else:
            raise SourceError([f"{where}: the document cannot be fetched: more than {MAX_REDIRECTS} redirects"])
    finally:
        client.close()
    if status != 200:
        raise SourceError([f"{where}: the document cannot be fetched: {host_of(url)} answers with the status {status}"])
    return body


def _get(
    client: HttpClient, url: str, source_id: str, deadline: float, process_settings: Settings
) -> tuple[int, str, bytes]:
    response = client.request(
        "GET",
        url,
        headers={"Accept": _ACCEPT, "User-Agent": "toolfold"},
        deadline=deadline,
        connect_timeout_s=process_settings.connect_timeout_s,
        max_bytes=MAX_BYTES,
        idempotent=True,
        is_allowed=address_check(process_settings.private_hosts, source_id, url),
    )
    return response.status, response.headers.get("location", ""), response.body


def _check_host(url: str, source_id: str, process_settings: Settings, where: str) -> None:
    host = host_of(url.partition("#")[0])
    if not host:
        raise SourceError([f"{where}: the document leads to {ascii(url)[:120]}, which is not an https URL"])
    allowed = {*process_settings.allowed_hosts, host_of(process_settings.source_urls.get(source_id, ""))}
    if host not in allowed and f"{source_id}={host}" not in allowed:
        raise SourceError(
            [f"{where}: the host of the document is not allowed here: {host}. Set TOOLFOLD_ALLOWED_HOSTS={host}"]
        )


def _formatted(content: bytes, name: str) -> bytes:
    """Return JSON with one value a line, so that errors name useful lines, and changes can be read in a review."""
    if not name.endswith(".json"):
        return content
    try:
        data: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return content  # parse_document says what is wrong
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _compare(old: Document | None, new: Document) -> RefreshReport:
    before, after = ({} if one is None else _operations(one) for one in (old, new))
    is_same = old is not None and old.data == new.data
    changed = [name for name in after if name in before and before[name] != after[name]]
    if not is_same and old is not None and not changed and before.keys() == after.keys():
        changed = ["components"]  # definitions that operations refer to
    return RefreshReport(
        [name for name in after if name not in before], [name for name in before if name not in after], changed
    )


def _operations(document: Document) -> dict[str, Any]:
    references = References(document.data)
    return {one.name: (one.title, one.value) for one in find_operations(document.data, references, Findings())}


def _write(path: Path, text: bytes) -> None:
    """Replace the file at ``path`` in one step."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        try:
            temporary.write_bytes(text)
            os.replace(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except OSError as error:
        raise SourceError([f"{path}:1: cannot be written: {error.strerror}"]) from None
