"""Fetch the document that a service publishes: ``toolfold source refresh``.

The URL is in ``source.yaml``, and what a catalog may reach is the operator's to say: the host must be allowed by
``TOOLFOLD_ALLOWED_HOSTS``, also that of each redirect, and its address must be public or, for this machine, loopback.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from toolfold.build.importers.base import RefreshReport
from toolfold.build.importers.openapi.document import MAX_BYTES, Findings, References
from toolfold.build.importers.openapi.operations import find_operations
from toolfold.build.yaml_loader import Document
from toolfold.catalog.text_checks import host_of
from toolfold.errors import SourceError
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import address_check

if TYPE_CHECKING:
    from toolfold.settings import Settings

MAX_REDIRECTS = 3
TIMEOUT_S = 60.0
"""Seconds for all requests. The largest documents have 20 MB, and some servers make theirs on request."""

_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "application/json, application/yaml;q=0.9, */*;q=0.5"


def fetch_document(url: str, source_id: str, process_settings: Settings, where: str) -> bytes:
    """Return the body of the response to a GET of ``url``, after redirects to hosts that are allowed.

    Raises:
        SourceError: The document cannot be fetched.
    """
    from toolfold.network.session import HttpClient

    client = HttpClient()
    deadline = time.monotonic() + TIMEOUT_S
    try:
        for _ in range(MAX_REDIRECTS + 1):
            _check_host(url, source_id, process_settings, where)
            try:
                response = client.request(
                    "GET",
                    url,
                    headers={"Accept": _ACCEPT, "User-Agent": "toolfold"},
                    deadline=deadline,
                    connect_timeout_s=process_settings.connect_timeout_s,
                    max_bytes=MAX_BYTES,
                    is_allowed=address_check(process_settings.private_hosts, source_id, url),
                )
            except TransportError as error:
                raise SourceError([f"{where}: the document cannot be fetched: {error}"]) from None
            location = response.headers.get("location", "")
            if response.status not in _REDIRECTS or not location:
                break
            url = urljoin(url, location)
        else:
            raise SourceError([f"{where}: the document cannot be fetched: more than {MAX_REDIRECTS} redirects"])
    finally:
        client.close()
    if response.status != 200:
        problem = f"{host_of(url)} answers with the status {response.status}"
        raise SourceError([f"{where}: the document cannot be fetched: {problem}"])
    return response.body


def _check_host(url: str, source_id: str, process_settings: Settings, where: str) -> None:
    host = host_of(url.partition("#")[0])
    if not host:
        raise SourceError([f"{where}: the document leads to {ascii(url)[:120]}, which is not an https URL"])
    allowed = {*process_settings.allowed_hosts, host_of(process_settings.source_urls.get(source_id, ""))}
    if host not in allowed and f"{source_id}={host}" not in allowed:
        raise SourceError(
            [f"{where}: the host of the document is not allowed here: {host}. Set TOOLFOLD_ALLOWED_HOSTS={host}"]
        )


def formatted(content: bytes, name: str) -> bytes:
    """Return JSON with one value a line, so that errors name useful lines, and changes can be read in a review."""
    if not name.endswith(".json"):
        return content
    try:
        data: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return content  # parse_document says what is wrong
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def compare(old: Document | None, new: Document) -> RefreshReport:
    """Return which operations differ; ``components`` where only definitions that they refer to do."""
    before, after = ({} if one is None else _operations(one) for one in (old, new))
    report = RefreshReport.between(before, after)
    if not report and old is not None and old.data != new.data:
        return RefreshReport(changed=("components",))
    return report


def _operations(document: Document) -> dict[str, Any]:
    return {one.name: (one.title, one.value) for one in find_operations(References(document.data), Findings())}
